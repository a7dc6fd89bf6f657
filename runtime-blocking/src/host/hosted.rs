//! One machine and everybody who waits for it.
use super::HostId;
use super::backend::Backend;
use super::park::{park, waker};
use super::pool::{Driven, Permit};
use crate::driver;
use crate::metrics::{Metric, MetricsSink};
use crate::sync::{Arc, Mutex, Weak, lock};
use crate::trace;
use bucketlog_core::boundary::{Command, Completion, Fault, Machine, MonoTime, Now, OpId};
use bucketlog_core::writer::Halted;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};

/// When a waiting caller executes commands itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Help {
    /// While no other thread works for the machine, so that it never misses its own answer for another's command.
    WhenAlone,
    /// At once: the commands that come up are its own.
    Always,
}

/// What a kind of handle keeps beside its machine, under the same lock.
pub(crate) trait Role: Send + 'static {
    type Machine: Machine + Send + 'static;

    const HELP: Help;

    /// Takes note of an event; everything that runs foreign code goes to `news`.
    fn on_event(&mut self, event: <Self::Machine as Machine>::Event, news: &mut News);

    /// Brings the machine to an end, as far as it has one, and answers whoever waits: nothing is executed any more.
    fn end(&mut self, machine: &mut Self::Machine, news: &mut News);
}

/// What to tell others once the lock is released.
#[derive(Debug, Default)]
pub(crate) struct News {
    pub(crate) wakers: Vec<Waker>,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) halted: Option<Halted>,
    /// Records that are not durable and no longer will be.
    pub(crate) given_up: u64,
}

impl News {
    /// Tells them. Foreign code that panics harms nobody else.
    fn tell(self, sink: Option<&dyn MetricsSink>) {
        if let Some(halted) = &self.halted {
            trace::halted(halted);
        }
        if self.given_up > 0 {
            trace::given_up(self.given_up);
        }
        for metric in &self.metrics {
            let _ = catch_unwind(AssertUnwindSafe(|| sink.map(|sink| sink.record(metric))));
        }
        for waker in self.wakers {
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }
}

/// A machine and its backend.
pub(crate) struct Host<R: Role> {
    id: HostId,
    me: Weak<Self>,
    backend: Backend,
    state: Mutex<State<R>>,
}

struct State<R: Role> {
    machine: R::Machine,
    role: R,
    /// Commands without an answer so far.
    in_flight: usize,
    /// The deadline that the backend knows of.
    timer: Option<MonoTime>,
    /// When the machine was polled last.
    polled: Now,
}

/// What one poll of the machine brought up, to be acted on without the lock.
#[derive(Default)]
struct Round {
    commands: VecDeque<Command>,
    cancelled: Vec<OpId>,
    news: News,
    /// A new deadline, and the one it replaces.
    timer: Option<(MonoTime, Option<MonoTime>)>,
    eventful: bool,
}

impl<R: Role> State<R> {
    fn poll(&mut self, now: Now) -> Round {
        let mut round = Round::default();
        self.poll_into(&mut round, now);
        round
    }

    fn poll_into(&mut self, round: &mut Round, now: Now) {
        self.polled = now;
        while let Some(command) = self.machine.poll_command(now) {
            match command {
                Command::Cancel(op) => round.cancelled.push(op),
                command => round.commands.push_back(command),
            }
        }
        self.in_flight += round.commands.len();
        while let Some(event) = self.machine.poll_event() {
            round.eventful = true;
            self.role.on_event(event, &mut round.news);
        }
    }

    fn answer(&mut self, now: Now, answer: Option<Completion>) {
        if let Some(completion) = answer {
            self.in_flight -= 1;
            self.machine.complete(now, completion);
        }
    }

    /// A timer that has come is no longer set.
    fn expire_timer(&mut self, now: Now) {
        self.timer = self.timer.filter(|timer| *timer > now.mono);
    }

    /// Makes sure that the backend polls in time; `unless_by` is when the calling thread will do so itself.
    fn set_timer(&mut self, round: &mut Round, unless_by: Option<MonoTime>) {
        let due = self.machine.deadline().filter(|due| unless_by.is_none_or(|by| *due < by));
        if let Some(due) = due.filter(|due| self.timer.is_none_or(|timer| *due < timer)) {
            round.timer = Some((due, self.timer.replace(due)));
        }
    }
}

impl<R: Role> Host<R> {
    pub(crate) fn new(backend: impl Into<Backend>, machine: R::Machine, role: R) -> Arc<Self> {
        let backend = backend.into();
        let state = State { machine, role, in_flight: 0, timer: None, polled: Now::default() };
        Arc::new_cyclic(|me| Self { id: backend.add(me), me: me.clone(), backend, state: Mutex::new(state) })
    }

    /// Looks at the machine; what is called must leave it as it is.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&R::Machine, &mut R) -> T) -> T {
        let mut state = lock(&self.state);
        let State { machine, role, .. } = &mut *state;
        look(machine, role)
    }

    /// Calls the machine; what follows is left to the backend.
    pub(crate) fn call<T>(&self, call: impl FnOnce(&mut R::Machine, &mut R, Now) -> T) -> T {
        self.call_unless(|_| false, call)
    }

    /// [`Host::call`] that neither reads the clock nor polls where `is_quiet` says that neither is needed.
    pub(crate) fn call_unless<T>(
        &self,
        is_quiet: impl FnOnce(&R::Machine) -> bool,
        call: impl FnOnce(&mut R::Machine, &mut R, Now) -> T,
    ) -> T {
        let mut state = lock(&self.state);
        let State { machine, role, polled, .. } = &mut *state;
        if is_quiet(machine) {
            return call(machine, role, *polled);
        }
        let now = self.backend.now();
        let result = call(machine, role, now);
        let mut round = state.poll(now);
        state.set_timer(&mut round, None);
        drop(state);
        self.dispatch(round);
        result
    }

    /// Asks `check`, and registers the task's waker with it if it is pending; executes nothing.
    pub(crate) fn poll<T>(
        &self,
        context: &Context<'_>,
        check: impl FnMut(&mut R::Machine, &mut R, Now, Option<&Waker>) -> Poll<T>,
    ) -> Poll<T> {
        self.poll_unless(|_| None, context, check)
    }

    /// [`Host::poll`] that spares the machine a poll where the answer is `known`.
    pub(crate) fn poll_unless<T>(
        &self,
        known: impl FnOnce(&R) -> Option<T>,
        context: &Context<'_>,
        mut check: impl FnMut(&mut R::Machine, &mut R, Now, Option<&Waker>) -> Poll<T>,
    ) -> Poll<T> {
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        if let Some(answer) = known(&state.role) {
            return Poll::Ready(answer);
        }
        let waker = Some(context.waker());
        let now = self.backend.now();
        let mut answer = check(&mut state.machine, &mut state.role, now, waker);
        let mut round = state.poll(now);
        if answer.is_pending() && round.eventful {
            answer = check(&mut state.machine, &mut state.role, now, waker);
        }
        state.set_timer(&mut round, None);
        drop(guard);
        self.dispatch(round);
        answer
    }

    /// Asks `check` until it is ready. Meanwhile this thread drives the machine, or sleeps while others do; it is
    /// woken through the waker that `check` is given before each sleep.
    pub(crate) fn wait<T>(&self, mut check: impl FnMut(&mut R::Machine, &mut R, Now, Option<&Waker>) -> Poll<T>) -> T {
        let mut answer = None;
        loop {
            let now = self.backend.now();
            let mut guard = lock(&self.state);
            guard.answer(now, answer.take());
            let state = &mut *guard;
            let mut result = check(&mut state.machine, &mut state.role, now, None);
            let mut round = state.poll(now);
            if result.is_pending() && round.eventful {
                result = check(&mut state.machine, &mut state.role, now, None);
            }
            let own = if result.is_pending() { self.take_own(state, &mut round) } else { None };
            if result.is_pending() && own.is_none() {
                result = check(&mut state.machine, &mut state.role, now, Some(&waker()));
            }
            if let Poll::Ready(result) = result {
                state.set_timer(&mut round, None);
                drop(guard);
                self.dispatch(round);
                return result;
            }
            if let Some((command, _)) = &own {
                state.set_timer(&mut round, command.deadline());
            }
            let (in_flight, deadline) = (state.in_flight, state.machine.deadline());
            drop(guard);
            self.dispatch(round);
            match own.or_else(|| self.backend.reclaim(self.id, in_flight)) {
                Some((command, permit)) => answer = permit.execute(command),
                None => park(deadline.map(|due| due.since(now.mono))),
            }
        }
    }

    /// The command that a waiting caller executes itself.
    fn take_own(&self, state: &State<R>, round: &mut Round) -> Option<(Command, Permit<'_>)> {
        let alone = state.in_flight == round.commands.len();
        if R::HELP == Help::WhenAlone && !alone {
            return None;
        }
        let permit = self.backend.admit_caller(round.commands.front()?)?;
        round.commands.pop_front().map(|command| (command, permit))
    }

    /// Acts on what a poll brought up: commands go to the backend.
    fn dispatch(&self, mut round: Round) {
        loop {
            if let Some((due, instead_of)) = round.timer {
                self.backend.set_timer(self.id, due, instead_of, &self.me);
            }
            if !round.commands.is_empty() {
                // The caller holds the host, so this never fails.
                if let Some(me) = self.me.upgrade() {
                    self.backend.submit(me, round.commands);
                }
            }
            let withdrawn: Vec<Command> =
                round.cancelled.into_iter().filter_map(|op| self.backend.withdraw(self.id, op)).collect();
            round.news.tell(self.backend.sink());
            if withdrawn.is_empty() {
                return;
            }
            round = self.refuse(withdrawn);
        }
    }

    /// Records an answer, or that a deadline has come, and acts on what follows.
    fn advance(&self, answer: Option<Completion>) {
        let now = self.backend.now();
        let mut state = lock(&self.state);
        state.expire_timer(now);
        state.answer(now, answer);
        let mut round = state.poll(now);
        state.set_timer(&mut round, None);
        drop(state);
        self.dispatch(round);
    }

    /// Answers commands that were taken back before they started.
    fn refuse(&self, commands: Vec<Command>) -> Round {
        let now = self.backend.now();
        let mut state = lock(&self.state);
        for command in commands {
            state.answer(now, command.fail(Fault::not_sent("cancelled before it started")));
        }
        let mut round = state.poll(now);
        state.set_timer(&mut round, None);
        round
    }
}

impl<R: Role> Driven for Host<R> {
    fn id(&self) -> HostId {
        self.id
    }

    fn drive(&self, first: Option<(Command, Permit<'_>)>) {
        let mut answer = first.and_then(|(command, permit)| permit.execute(command));
        loop {
            let now = self.backend.now();
            let mut state = lock(&self.state);
            state.expire_timer(now);
            state.answer(now, answer.take());
            let mut round = state.poll(now);
            let own = round
                .commands
                .front()
                .and_then(|command| self.backend.admit_worker(command))
                .and_then(|permit| round.commands.pop_front().map(|command| (command, permit)));
            state.set_timer(&mut round, own.as_ref().and_then(|(command, _)| command.deadline()));
            drop(state);
            self.dispatch(round);
            let Some((command, permit)) = own else { return };
            answer = permit.execute(command);
        }
    }
}

impl<R: Role> driver::sealed::Sealed for Host<R> {}

impl<R: Role> driver::Driven for Host<R> {
    fn id(&self) -> HostId {
        self.id
    }

    fn complete(&self, answer: Completion) {
        self.advance(Some(answer));
    }

    fn poll(&self) {
        self.advance(None);
    }

    fn end(&self) {
        let now = self.backend.now();
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        let mut round = Round::default();
        state.role.end(&mut state.machine, &mut round.news);
        state.poll_into(&mut round, now);
        drop(guard);
        self.dispatch(round);
    }
}

impl<R: Role> Drop for Host<R> {
    fn drop(&mut self) {
        self.backend.remove(self.id);
    }
}

impl<R: Role> std::fmt::Debug for Host<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("id", &self.id).finish_non_exhaustive()
    }
}
