//! Commands as tasks.
use crate::codecs::Codecs;
use crate::store::{Store, each_request};
use bucketlog_blocking::driver::{Driven, Driver, MachineId};
use bucketlog_blocking::now;
use bucketlog_core::boundary::{
    Command, DecodeBlock, EncodeBlock, Fault, MonoTime, Now, Op, OpId, RefusalKind, Request, Ticket,
};
use bucketlog_core::format::segment::BlockCodec;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::timeout_at;

/// How many commands of each kind run at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) requests: usize,
    pub(crate) uploads: usize,
    pub(crate) computations: usize,
}

/// Each request by the store's method of its kind.
macro_rules! start_request { (
    $driver:tt $machine:tt $lane:tt $command:tt
    $($(#[$doc:meta])* $method:ident($request:ident) -> $reply:ty;)*
) => {
    match $command {
        $(Command::$request(op) => $driver.attempt($machine, op, $lane, |driver, request, until| {
            let store = Arc::clone(&driver.store);
            async move { store.$method(&request, until).await }
        }),)*
        Command::EncodeBlock(op) => $driver.compute($machine, op, EncodeBlock::run),
        Command::DecodeBlock(op) => $driver.compute($machine, op, DecodeBlock::run),
        other => {
            let unknown = Fault::refused(RefusalKind::Unsupported, "this driver doesn't know the command");
            other.fail(unknown).into_iter().for_each(|answer| $machine.complete(answer));
        }
    }
} }

/// Executes the commands of a log's machines as tasks of a runtime: one task for each command under way, one that keeps
/// the time.
#[derive(Debug)]
pub(crate) struct Tokio {
    me: Weak<Self>,
    runtime: Handle,
    store: Arc<dyn Store>,
    codecs: Arc<Codecs>,
    origin: Instant,
    requests: Semaphore,
    uploads: Semaphore,
    computations: Semaphore,
    state: Mutex<State>,
    /// An earlier deadline was set, or there is no driver any more.
    timers_changed: Arc<Notify>,
    /// Commands without an answer so far.
    under_way: watch::Sender<usize>,
    ended: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    machines: BTreeMap<MachineId, Weak<dyn Driven>>,
    timers: BTreeSet<(MonoTime, MachineId)>,
    /// Told when a command that has not started is to be given up.
    waiting: BTreeMap<(MachineId, OpId), Arc<Notify>>,
}

impl Tokio {
    /// # Panics
    /// The runtime has no timers.
    pub(crate) fn new(runtime: Handle, store: Arc<dyn Store>, limits: Limits) -> Arc<Self> {
        let driver = Arc::new_cyclic(|me| Self {
            me: me.clone(),
            runtime,
            store,
            codecs: Arc::default(),
            origin: Instant::now(),
            requests: Semaphore::new(limits.requests),
            uploads: Semaphore::new(limits.uploads),
            computations: Semaphore::new(limits.computations),
            state: Mutex::default(),
            timers_changed: Arc::default(),
            under_way: watch::Sender::new(0),
            ended: AtomicBool::new(false),
        });
        {
            // A runtime without timers is found here, not at the first deadline.
            let _entered = driver.runtime.enter();
            drop(tokio::time::sleep(Duration::ZERO));
        }
        let timekeeper = Timekeeper(Arc::downgrade(&driver));
        driver.runtime.spawn(timekeeper.run(Arc::clone(&driver.timers_changed)));
        driver
    }

    /// Ends every machine, and waits until no command is under way. Cancelling it and calling it again goes on.
    pub(crate) async fn shutdown(&self) {
        self.end();
        // The sender is a field of `self`, so the channel is open.
        let _ = self.under_way.subscribe().wait_for(|under_way| *under_way == 0).await;
    }

    fn end(&self) {
        self.ended.store(true, SeqCst);
        let machines: Vec<_> = self.state().machines.values().filter_map(Weak::upgrade).collect();
        for machine in machines {
            machine.end();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code that runs under the lock can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn instant(&self, moment: MonoTime) -> Instant {
        const FAR: Duration = Duration::from_secs(365 * 24 * 3600);
        self.origin.checked_add(Duration::from_nanos(moment.0)).unwrap_or_else(|| Instant::now() + FAR)
    }

    fn mono(&self) -> MonoTime {
        MonoTime::default().after(self.origin.elapsed())
    }

    /// Has every machine polled whose deadline has come. Gives the next deadline.
    fn poll_due(&self) -> Option<Instant> {
        loop {
            let (now, mut due) = (self.mono(), Vec::new());
            let mut state = self.state();
            while let Some(timer) = state.timers.first().copied().filter(|(at, _)| *at <= now) {
                state.timers.remove(&timer);
                due.extend(state.machines.get(&timer.1).and_then(Weak::upgrade));
            }
            let next = state.timers.first().map(|(at, _)| self.instant(*at));
            drop(state);
            if due.is_empty() {
                return next;
            }
            for machine in due {
                machine.poll();
            }
        }
    }

    /// One attempt, for as long as the command may take.
    fn start(&self, machine: &Arc<dyn Driven>, command: Command) {
        let lane = Self::lane(&command);
        each_request!(start_request self machine lane command);
    }

    /// What the command needs most, as in the blocking driver.
    fn lane(command: &Command) -> fn(&Self) -> &Semaphore {
        match command {
            Command::Create(_) | Command::UploadPart(_) => |driver| &driver.uploads,
            Command::EncodeBlock(_) | Command::DecodeBlock(_) => |driver| &driver.computations,
            _ => |driver| &driver.requests,
        }
    }

    /// Work without IO, on a thread that runs no tasks.
    fn compute<R>(
        &self,
        machine: &Arc<dyn Driven>,
        op: Op<R>,
        run: impl FnOnce(&R, &mut BlockCodec) -> R::Reply + Send + 'static,
    ) where
        R: Request + Send + 'static,
        R::Reply: Send,
    {
        let work = |driver: &Self, request: R, _| {
            let (codecs, runtime) = (Arc::clone(&driver.codecs), driver.runtime.clone());
            let work = move || codecs.with(|codec| run(&request, codec));
            async move { runtime.spawn_blocking(work).await.map_err(|error| broken(&error)) }
        };
        self.attempt(machine, op, |driver| &driver.computations, work);
    }

    fn attempt<R, F>(
        &self,
        machine: &Arc<dyn Driven>,
        op: Op<R>,
        lane: fn(&Self) -> &Semaphore,
        run: impl FnOnce(&Self, R, Instant) -> F,
    ) where
        R: Request + Send + 'static,
        F: Future<Output = Result<R::Reply, Fault>> + Send + 'static,
        R::Reply: Send,
    {
        let Some(driver) = self.me.upgrade() else { return };
        let (id, until) = (op.id(), self.instant(op.deadline()));
        let (request, ticket) = op.split();
        let running = run(self, request, until);
        let given_up = Arc::new(Notify::new());
        self.state().waiting.insert((machine.id(), id), Arc::clone(&given_up));
        self.under_way.send_modify(|under_way| *under_way += 1);
        let mut unanswered = Unanswered::new(driver, Arc::clone(machine), id, ticket);
        self.runtime.spawn(async move {
            let driver = Arc::clone(&unanswered.driver);
            let admitted = tokio::select! {
                biased;
                () = given_up.notified() => Err("cancelled before it started"),
                permit = timeout_at(until.into(), lane(&driver).acquire()) => {
                    permit.map_err(|_| "the deadline passed before the attempt could start")
                }
            };
            let permit = match admitted {
                Ok(permit) => permit,
                Err(why) => return unanswered.answer(Err(Fault::not_sent(why))),
            };
            unanswered.start();
            // A task of its own, so that a panic in a store is an answer as well.
            let mut attempt = driver.runtime.spawn(running);
            let result = match timeout_at(until.into(), &mut attempt).await {
                Ok(Ok(result)) => result,
                Ok(Err(error)) => Err(broken(&error)),
                Err(_) => {
                    attempt.abort();
                    Err(Fault::indeterminate("no answer by the deadline"))
                }
            };
            drop(permit);
            unanswered.answer(result);
        });
    }
}

fn broken(error: &tokio::task::JoinError) -> Fault {
    Fault::indeterminate(format!("the attempt ended early: {error}"))
}

impl Driver for Tokio {
    fn now(&self) -> Now {
        Now { mono: self.mono(), wall: now() }
    }

    fn add(&self, machine: MachineId, driven: Weak<dyn Driven>) {
        self.state().machines.insert(machine, driven);
    }

    fn remove(&self, machine: MachineId) {
        let mut state = self.state();
        state.machines.remove(&machine);
        state.timers.retain(|(_, of)| *of != machine);
    }

    fn submit(&self, machine: &Arc<dyn Driven>, commands: Vec<Command>) {
        if self.ended.load(SeqCst) {
            machine.end();
            for answer in commands.into_iter().filter_map(|c| c.fail(Fault::not_sent("the log was shut down"))) {
                machine.complete(answer);
            }
            return;
        }
        for command in commands {
            self.start(machine, command);
        }
    }

    fn cancel(&self, machine: MachineId, op: OpId) {
        if let Some(given_up) = self.state().waiting.remove(&(machine, op)) {
            given_up.notify_one();
        }
    }

    fn set_timer(&self, machine: MachineId, due: MonoTime, instead_of: Option<MonoTime>) {
        let mut state = self.state();
        if let Some(old) = instead_of {
            state.timers.remove(&(old, machine));
        }
        state.timers.insert((due, machine));
        if state.timers.first() == Some(&(due, machine)) {
            self.timers_changed.notify_one();
        }
    }
}

impl Drop for Tokio {
    fn drop(&mut self) {
        self.timers_changed.notify_one();
    }
}

/// The task that polls machines at their deadlines. When the runtime drops it, every machine ends.
struct Timekeeper(Weak<Tokio>);

impl Timekeeper {
    async fn run(self, changed: Arc<Notify>) {
        while let Some(driver) = self.0.upgrade() {
            let next = driver.poll_due();
            drop(driver);
            match next {
                Some(at) => drop(timeout_at(at.into(), changed.notified()).await),
                None => changed.notified().await,
            }
        }
    }
}

impl Drop for Timekeeper {
    fn drop(&mut self) {
        if let Some(driver) = self.0.upgrade() {
            driver.end();
        }
    }
}

/// A command that will be answered whatever becomes of its task.
struct Unanswered<R: Request> {
    driver: Arc<Tokio>,
    machine: Arc<dyn Driven>,
    id: OpId,
    ticket: Option<Ticket<R>>,
    started: bool,
}

impl<R: Request> Unanswered<R> {
    fn new(driver: Arc<Tokio>, machine: Arc<dyn Driven>, id: OpId, ticket: Ticket<R>) -> Self {
        Self { driver, machine, id, ticket: Some(ticket), started: false }
    }

    fn start(&mut self) {
        self.started = true;
        self.driver.state().waiting.remove(&(self.machine.id(), self.id));
    }

    fn answer(mut self, result: Result<R::Reply, Fault>) {
        if let Some(ticket) = self.ticket.take() {
            self.machine.complete(ticket.done(result));
        }
    }
}

impl<R: Request> Drop for Unanswered<R> {
    fn drop(&mut self) {
        self.driver.state().waiting.remove(&(self.machine.id(), self.id));
        // The runtime has dropped the task: it executes nothing any more.
        if let Some(ticket) = self.ticket.take() {
            self.driver.ended.store(true, SeqCst);
            self.machine.end();
            let why = "the runtime was shut down";
            let fault = if self.started { Fault::indeterminate(why) } else { Fault::not_sent(why) };
            self.machine.complete(ticket.done(Err(fault)));
        }
        self.driver.under_way.send_modify(|under_way| *under_way -= 1);
    }
}
