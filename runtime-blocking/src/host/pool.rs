//! Worker threads, and what they share.
use super::HostId;
use super::execute::Executor;
use super::lanes::{Job, Lane, Lanes};
use super::timers::Timers;
use crate::clock::Clock;
use crate::metrics::MetricsSink;
use crate::store::Store;
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, Weak, lock, thread, wait};
use bucketlog_core::boundary::{Command, Completion, MonoTime, OpId};
use bucketlog_core::format::segment::BlockCodec;
use std::fmt;

/// A machine as the pool sees it.
pub(super) trait Driven: Send + Sync {
    fn id(&self) -> HostId;

    /// Executes a command, or polls at a deadline if there is none; then whatever follows, as long as no other work
    /// waits.
    fn drive(&self, first: Option<(Command, Permit<'_>)>);
}

/// Bounds of a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Worker threads.
    pub(crate) threads: usize,
    /// Blocks compressed or decompressed at once, waiting callers included; at least 1.
    pub(crate) computations: usize,
    /// Segments and pages stored at once, waiting callers included; at least 1.
    pub(crate) uploads: usize,
}

/// Shared by all machines of a log. The threads end when the last machine is gone; queued commands keep theirs alive,
/// so every one of them is answered.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Owner>);

struct Owner(Arc<Shared>);

impl Drop for Owner {
    fn drop(&mut self) {
        lock(&self.0.state).closed = true;
        self.0.work.notify_all();
    }
}

impl Pool {
    pub(crate) fn new(store: Arc<dyn Store>, clock: Clock, limits: Limits, sink: Option<Arc<dyn MetricsSink>>) -> Self {
        let state = State {
            lanes: Lanes::new(limits.uploads, limits.computations),
            timers: Timers::default(),
            codecs: Vec::new(),
            hosts: 0,
            staff: Staff { max: limits.threads, hired: 0, idle: 0, called: 0, watch: None },
            closed: false,
        };
        let executor = Executor { store, clock };
        Self(Arc::new(Owner(Arc::new(Shared { executor, sink, state: Mutex::new(state), work: Condvar::new() }))))
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.shared().executor.clock
    }

    pub(super) fn sink(&self) -> Option<&dyn MetricsSink> {
        self.shared().sink.as_deref()
    }

    /// A name for a new machine.
    pub(super) fn name(&self) -> HostId {
        let mut state = lock(&self.shared().state);
        state.hosts += 1;
        HostId(state.hosts)
    }

    /// Hands commands to the workers.
    pub(super) fn submit(&self, host: &Arc<dyn Driven>, commands: impl IntoIterator<Item = Command>) {
        let mut state = lock(&self.shared().state);
        for command in commands {
            state.lanes.push(Job { host: Arc::clone(host), command });
        }
        self.shared().call_workers(&mut state);
    }

    /// Takes a command back that no thread has started.
    pub(super) fn withdraw(&self, host: HostId, op: OpId) -> Option<Command> {
        let job = lock(&self.shared().state).lanes.remove(host, op);
        job.map(|job| job.command)
    }

    /// Has `host` polled when `due`, in place of the deadline it had.
    pub(super) fn set_timer(
        &self,
        host: HostId,
        due: MonoTime,
        instead_of: Option<MonoTime>,
        driven: Weak<dyn Driven>,
    ) {
        let mut state = lock(&self.shared().state);
        state.timers.set(host, due, instead_of, driven);
        self.shared().call_workers(&mut state);
    }

    /// Lets a waiting caller execute `command` on its own thread, if the limits allow.
    pub(super) fn admit_caller(&self, command: &Command) -> Option<Permit<'_>> {
        let lane = Lane::of(command);
        let mut state = lock(&self.shared().state);
        if state.lanes.admit(lane) { Some(self.shared().permit(&mut state, lane)) } else { None }
    }

    /// Lets a worker go straight on with `command`, if the limits allow and nobody else's work waits.
    pub(super) fn admit_worker(&self, command: &Command) -> Option<Permit<'_>> {
        let lane = Lane::of(command);
        let now = self.clock().mono();
        let mut state = lock(&self.shared().state);
        let others_wait = state.lanes.runnable() > 0 || state.timers.earliest().is_some_and(|due| due <= now);
        if others_wait || !state.lanes.admit(lane) {
            return None;
        }
        // While this worker is busy another one has to watch the deadlines.
        self.shared().call_workers(&mut state);
        Some(self.shared().permit(&mut state, lane))
    }

    /// Gives a waiting caller a queued command of its machine, unless another thread works for that machine.
    pub(super) fn reclaim(&self, host: HostId, in_flight: usize) -> Option<(Command, Permit<'_>)> {
        let mut state = lock(&self.shared().state);
        let (lane, job) = state.lanes.take_of(host, in_flight)?;
        let permit = self.shared().permit(&mut state, lane);
        drop(state);
        Some((job.command, permit))
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.0.0
    }

    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn threads(&self) -> usize {
        lock(&self.shared().state).staff.hired
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("executor", &self.shared().executor).finish_non_exhaustive()
    }
}

/// A running command's place in its lane, and the codec that goes with it.
pub(super) struct Permit<'p> {
    shared: &'p Arc<Shared>,
    lane: Lane,
    codec: Option<BlockCodec>,
}

impl Permit<'_> {
    /// Executes the command that the permit was given for.
    pub(super) fn execute(mut self, command: Command) -> Option<Completion> {
        self.shared.executor.execute(command, &mut self.codec)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.shared.state);
        state.codecs.extend(self.codec.take());
        if state.lanes.leave(self.lane) {
            self.shared.call_workers(&mut state);
        }
    }
}

struct Shared {
    executor: Executor,
    sink: Option<Arc<dyn MetricsSink>>,
    state: Mutex<State>,
    work: Condvar,
}

struct State {
    lanes: Lanes,
    timers: Timers,
    /// Not in use; never more than computations ran at once.
    codecs: Vec<BlockCodec>,
    hosts: u64,
    staff: Staff,
    closed: bool,
}

/// The worker threads.
struct Staff {
    max: usize,
    hired: usize,
    /// Asleep, called ones included.
    idle: usize,
    /// Started or notified, but not awake yet.
    called: usize,
    /// The deadline that one of the idle waits for.
    watch: Option<MonoTime>,
}

/// A machine to drive, from a command or from its deadline.
type Task<'p> = (Arc<dyn Driven>, Option<(Command, Permit<'p>)>);

impl Shared {
    fn permit<'p>(self: &'p Arc<Self>, state: &mut State, lane: Lane) -> Permit<'p> {
        let codec = if lane == Lane::Compute { state.codecs.pop() } else { None };
        Permit { shared: self, lane, codec }
    }

    /// Wakes or starts as many workers as there is work for and nobody on the way to it.
    fn call_workers(self: &Arc<Self>, state: &mut State) {
        let unwatched = state.timers.earliest().is_some_and(|due| state.staff.watch.is_none_or(|watch| due < watch));
        let wanted = state.lanes.runnable() + usize::from(unwatched);
        let staff = &mut state.staff;
        while staff.called < wanted {
            if staff.called < staff.idle {
                self.work.notify_one();
            } else if staff.hired < staff.max && self.hire() {
                staff.hired += 1;
                staff.idle += 1;
            } else {
                return;
            }
            staff.called += 1;
        }
    }

    /// Starts a thread. Where the system refuses, queued work waits for the next call or a waiting caller.
    fn hire(self: &Arc<Self>) -> bool {
        let shared = Arc::clone(self);
        thread::Builder::new().name("bucketlog".into()).spawn(move || shared.work()).is_ok()
    }

    fn work(self: Arc<Self>) {
        let mut state = lock(&self.state);
        state.staff.awake();
        while let Some((host, first)) = self.next_task(state) {
            host.drive(first);
            // Before the lock: the pool's last holder takes it.
            drop(host);
            state = lock(&self.state);
        }
    }

    /// Waits for something to do; `None` at the end of the pool.
    fn next_task<'p>(self: &'p Arc<Self>, mut state: MutexGuard<'p, State>) -> Option<Task<'p>> {
        loop {
            let now = self.executor.clock.mono();
            if let Some(host) = state.timers.take_due(now) {
                return Some((host, None));
            }
            if let Some((lane, job)) = state.lanes.take() {
                let permit = self.permit(&mut state, lane);
                self.call_workers(&mut state);
                return Some((job.host, Some((job.command, permit))));
            }
            if state.closed {
                return None;
            }
            state = self.sleep(state, now);
        }
    }

    /// Sleeps until called; until the earliest deadline, if no other worker watches it.
    fn sleep<'a>(&'a self, mut state: MutexGuard<'a, State>, now: MonoTime) -> MutexGuard<'a, State> {
        let staff = &state.staff;
        let watch = state.timers.earliest().filter(|due| staff.watch.is_none_or(|watch| *due < watch));
        state.staff.watch = watch.or(state.staff.watch);
        state.staff.idle += 1;
        state = wait(&self.work, &self.state, state, watch.map(|due| due.since(now)));
        state.staff.awake();
        if watch.is_some() && state.staff.watch == watch {
            state.staff.watch = None;
        }
        state
    }
}

impl Staff {
    fn awake(&mut self) {
        self.idle -= 1;
        self.called = self.called.saturating_sub(1);
    }
}
