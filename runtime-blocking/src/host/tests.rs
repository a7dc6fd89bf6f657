//! The host, driven by a toy machine over a store that can be held up.
use super::lanes::{Job, Lane, Lanes};
use super::pool::{Driven, Permit};
use super::{Help, Host, HostId, Limits, News, Pool, Role, WaiterId, Waiters};
use crate::clock::Clock;
use crate::store::Store;
use bucketlog_core::boundary::{
    Command, Completion, Create, CreateReply, Delete, Fault, Get, GetReply, Key, List, ListReply, Machine, MonoTime,
    Now, Op, OpId, Stat, StatReply, Swap, SwapReply,
};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

const LATER: MonoTime = MonoTime(u64::MAX);

/// Issues what it is asked for, counts the answers, and tells of each and of its deadline.
struct Toy {
    next: u64,
    todo: VecDeque<Command>,
    /// Keys of creates to be issued one after the other, each when an answer comes.
    chain: VecDeque<&'static str>,
    deadline: Option<MonoTime>,
    events: VecDeque<Result<(), Fault>>,
    alarm: Result<(), Fault>,
}

impl Toy {
    fn new() -> Self {
        let (chain, events) = (VecDeque::new(), VecDeque::new());
        Self { next: 0, todo: VecDeque::new(), chain, deadline: None, events, alarm: Ok(()) }
    }

    fn create_by(&mut self, key: &str, deadline: MonoTime) -> OpId {
        let op = Op::scripted(self.next, deadline, Create { key: key.into(), body: Vec::new() });
        self.next += 1;
        let id = op.id();
        self.todo.push_back(Command::Create(op));
        id
    }

    fn create(&mut self, key: &str) -> OpId {
        self.create_by(key, LATER)
    }

    fn delete(&mut self, key: &str) -> OpId {
        let op = Op::scripted(self.next, LATER, Delete { key: key.into() });
        self.next += 1;
        let id = op.id();
        self.todo.push_back(Command::Delete(op));
        id
    }
}

impl Machine for Toy {
    type Event = Result<(), Fault>;

    fn complete(&mut self, _: Now, completion: Completion) {
        let created = completion.clone().answer::<Create>().map(|result| result.map(drop));
        self.events.extend(created.or_else(|| completion.answer::<Delete>()));
        if let Some(key) = self.chain.pop_front() {
            self.create(key);
        }
    }

    fn poll_command(&mut self, now: Now) -> Option<Command> {
        if self.deadline.is_some_and(|deadline| deadline <= now.mono) {
            self.deadline = None;
            self.events.push_back(self.alarm.clone());
        }
        self.todo.pop_front()
    }

    fn poll_event(&mut self) -> Option<Self::Event> {
        self.events.pop_front()
    }

    fn deadline(&self) -> Option<MonoTime> {
        self.deadline
    }
}

struct Counter {
    told: usize,
    waiters: Waiters<usize>,
    log: Sender<Result<(), Fault>>,
}

impl Role for Counter {
    type Machine = Toy;
    const HELP: Help = Help::WhenAlone;

    fn on_event(&mut self, event: Result<(), Fault>, news: &mut News) {
        self.told += 1;
        self.waiters.release(self.told, &mut news.wakers);
        let _ = self.log.send(event);
    }

    fn end(&mut self, _: &mut Toy, news: &mut News) {
        self.waiters.release_all(&mut news.wakers);
    }
}

/// Remembers who stored and deleted what. Keys: `gate` waits until the gate is opened, `panic` panics.
#[derive(Debug, Default)]
struct Probe {
    calls: Mutex<Vec<(ThreadId, String)>>,
    called: Condvar,
    open: Mutex<bool>,
    opened: Condvar,
}

impl Probe {
    fn call(&self, key: &Key) {
        self.calls.lock().unwrap().push((thread::current().id(), key.to_string()));
        self.called.notify_all();
        match key.as_str() {
            "gate" => drop(self.opened.wait_while(self.open.lock().unwrap(), |open| !*open).unwrap()),
            "panic" => panic!("as asked"),
            _ => {}
        }
    }

    fn open_gate(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn wait_for(&self, key: &str) {
        let seen = |calls: &Vec<(ThreadId, String)>| calls.iter().any(|(_, called)| called == key);
        drop(self.called.wait_while(self.calls.lock().unwrap(), |calls| !seen(calls)).unwrap());
    }

    fn threads(&self) -> Vec<ThreadId> {
        self.calls.lock().unwrap().iter().map(|(thread, _)| *thread).collect()
    }

    fn keys(&self) -> Vec<String> {
        self.calls.lock().unwrap().iter().map(|(_, key)| key.clone()).collect()
    }
}

fn unused<T>() -> Result<T, Fault> {
    Err(Fault::not_sent("not part of the toy"))
}

impl Store for Probe {
    fn get(&self, _: &Get, _: std::time::Instant) -> Result<GetReply, Fault> {
        unused()
    }
    fn stat(&self, _: &Stat, _: std::time::Instant) -> Result<StatReply, Fault> {
        unused()
    }
    fn list(&self, _: &List, _: std::time::Instant) -> Result<ListReply, Fault> {
        unused()
    }
    fn delete(&self, request: &Delete, _: std::time::Instant) -> Result<(), Fault> {
        self.call(&request.key);
        Ok(())
    }
    fn create(&self, request: &Create, _: std::time::Instant) -> Result<CreateReply, Fault> {
        self.call(&request.key);
        Ok(CreateReply { version: None })
    }
    fn swap(&self, _: &Swap, _: std::time::Instant) -> Result<SwapReply, Fault> {
        unused()
    }
}

struct World {
    store: Arc<Probe>,
    pool: Pool,
}

impl World {
    fn new(threads: usize) -> Self {
        let store = Arc::new(Probe::default());
        let limits = Limits { threads, computations: 2, uploads: 4 };
        let pool = Pool::new(Arc::clone(&store) as Arc<dyn Store>, Clock::system(), limits, None);
        Self { store, pool }
    }

    fn host(&self) -> (Arc<Host<Counter>>, Receiver<Result<(), Fault>>) {
        let (log, told) = channel();
        let role = Counter { told: 0, waiters: Waiters::new(), log };
        (Host::new(&self.pool, Toy::new(), role), told)
    }

    fn soon(&self) -> MonoTime {
        self.pool.clock().mono().after(Duration::from_millis(1))
    }
}

fn told(role: &mut Counter, count: usize, id: &mut Option<WaiterId>, waker: Option<&Waker>) -> Poll<()> {
    if role.told >= count {
        return Poll::Ready(());
    }
    if let Some(waker) = waker {
        role.waiters.register(count, id, waker);
    }
    Poll::Pending
}

/// Waits, as a blocking caller, until `count` things were told; `start` is called under the first lock.
fn wait_told(host: &Host<Counter>, count: usize, start: impl FnOnce(&mut Toy)) {
    let (mut start, mut id) = (Some(start), None);
    host.wait(|toy, role, _, waker| {
        if let Some(start) = start.take() {
            start(toy);
        }
        told(role, count, &mut id, waker)
    });
}

/// Waits, as a task, until `count` things were told.
fn await_told(host: &Host<Counter>, count: usize) {
    let mut id = None;
    pollster::block_on(poll_fn(|context| host.poll(context, |_, role, _, waker| told(role, count, &mut id, waker))));
}

#[test]
fn a_lone_caller_never_leaves_its_thread() {
    let world = World::new(8);
    let (host, _told) = world.host();
    wait_told(&host, 3, |toy| {
        toy.chain = VecDeque::from(["b", "c"]);
        toy.create("a");
    });
    assert_eq!(world.store.threads(), vec![thread::current().id(); 3]);
    assert_eq!(world.pool.threads(), 0);
}

#[test]
fn a_caller_does_everything_where_no_thread_can_be_started() {
    let world = World::new(0);
    let (host, _told) = world.host();
    wait_told(&host, 5, |toy| {
        for key in ["a", "b", "c", "d", "e"] {
            toy.create(key);
        }
    });
    assert_eq!(world.store.threads(), vec![thread::current().id(); 5]);
}

#[test]
fn a_caller_leaves_its_machine_to_the_worker_that_drives_it() {
    let world = World::new(1);
    let (host, _told) = world.host();
    host.call(|toy, _, _| toy.create("gate"));
    world.store.wait_for("gate");
    thread::scope(|scope| {
        let caller = scope.spawn(|| {
            wait_told(&host, 2, |toy| {
                toy.create("b");
            });
            thread::current().id()
        });
        while host.look(|_, role| role.waiters.len()) == 0 {
            thread::yield_now();
        }
        world.store.open_gate();
        let caller = caller.join().unwrap();
        assert!(!world.store.threads().contains(&caller));
    });
}

#[test]
fn a_future_executes_nothing_when_it_is_polled() {
    let world = World::new(8);
    let (host, _told) = world.host();
    host.call(|toy, _, _| toy.create("a"));
    await_told(&host, 1);
    assert!(!world.store.threads().contains(&thread::current().id()));
}

#[test]
fn one_worker_follows_a_chain_of_commands() {
    let world = World::new(8);
    let (host, _told) = world.host();
    host.call(|toy, _, _| {
        toy.chain = VecDeque::from(["b", "c", "d"]);
        toy.create("a")
    });
    await_told(&host, 4);
    assert_eq!(world.store.keys(), ["a", "b", "c", "d"]);
    assert_eq!(world.pool.threads(), 1);
}

#[test]
fn a_thousand_idle_machines_need_no_thread() {
    let world = World::new(8);
    let hosts: Vec<_> = (0..1000).map(|_| world.host()).collect();
    for (host, _) in &hosts {
        host.call(|_, _, _| ());
    }
    assert_eq!(world.pool.threads(), 0);
}

#[test]
fn deadlines_of_a_thousand_machines_need_one_thread() {
    let world = World::new(8);
    let hosts: Vec<_> = (0..1000).map(|_| world.host()).collect();
    for (host, _) in &hosts {
        host.call(|toy, _, _| toy.deadline = Some(LATER));
    }
    let due = world.soon();
    hosts[500].0.call(|toy, _, _| toy.deadline = Some(due));
    assert_eq!(hosts[500].1.recv(), Ok(Ok(())));
    assert_eq!(world.pool.threads(), 1);
}

#[test]
fn a_deadline_in_the_past_is_polled_at_once() {
    let world = World::new(8);
    let (host, told) = world.host();
    host.call(|toy, _, _| toy.deadline = Some(MonoTime(0)));
    assert_eq!(told.recv(), Ok(Ok(())));
}

#[test]
fn an_earlier_deadline_overtakes_a_later_one() {
    let world = World::new(1);
    let (host, told) = world.host();
    host.call(|toy, _, _| toy.deadline = Some(LATER));
    let due = world.soon();
    host.call(|toy, _, _| toy.deadline = Some(due));
    assert_eq!(told.recv(), Ok(Ok(())));
}

#[test]
fn deadlines_are_kept_while_workers_are_held_up() {
    let world = World::new(2);
    let (slow, _told) = world.host();
    slow.call(|toy, _, _| toy.create("gate"));
    world.store.wait_for("gate");
    let (host, told) = world.host();
    let due = world.soon();
    host.call(|toy, _, _| toy.deadline = Some(due));
    assert_eq!(told.recv(), Ok(Ok(())));
    world.store.open_gate();
    await_told(&slow, 1);
}

#[test]
fn a_waiting_caller_keeps_the_deadlines_of_its_machine() {
    let world = World::new(0);
    let (host, _told) = world.host();
    let due = world.soon();
    wait_told(&host, 1, |toy| toy.deadline = Some(due));
    assert!(world.pool.clock().mono() >= due);
}

#[test]
fn a_command_past_its_deadline_is_not_attempted() {
    let world = World::new(1);
    let (host, told) = world.host();
    host.call(|toy, _, _| toy.create_by("late", MonoTime(0)));
    assert!(matches!(told.recv(), Ok(Err(Fault::NotSent(_)))));
    assert!(world.store.keys().is_empty());
}

#[test]
fn a_cancelled_command_does_not_start() {
    let world = World::new(1);
    let (slow, _) = world.host();
    slow.call(|toy, _, _| toy.create("gate"));
    world.store.wait_for("gate");
    let (host, told) = world.host();
    let op = host.call(|toy, _, _| toy.create("unwanted"));
    host.call(|toy, _, _| toy.todo.push_back(Command::Cancel(op)));
    assert!(matches!(told.recv(), Ok(Err(Fault::NotSent(_)))));
    world.store.open_gate();
    await_told(&slow, 1);
    assert_eq!(world.store.keys(), ["gate"]);
}

#[test]
fn cancelling_a_running_command_changes_nothing() {
    let world = World::new(1);
    let (host, told) = world.host();
    let op = host.call(|toy, _, _| toy.create("gate"));
    world.store.wait_for("gate");
    host.call(|toy, _, _| toy.todo.push_back(Command::Cancel(op)));
    world.store.open_gate();
    assert_eq!(told.recv(), Ok(Ok(())));
}

#[test]
fn a_panic_in_the_store_is_an_indeterminate_answer() {
    let world = World::new(1);
    let (host, told) = world.host();
    host.call(|toy, _, _| toy.create("panic"));
    match told.recv() {
        Ok(Err(Fault::Indeterminate(cause))) => assert!(cause.to_string().contains("as asked"), "{cause}"),
        other => panic!("{other:?}"),
    }
    host.call(|toy, _, _| toy.create("after"));
    assert_eq!(told.recv(), Ok(Ok(())));
}

#[test]
fn a_waker_that_panics_costs_no_answer() {
    struct Bad;
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            panic!("as asked");
        }
    }
    let world = World::new(1);
    let (host, told) = world.host();
    host.call(|toy, role, _| {
        role.waiters.register(1, &mut None, &Waker::from(Arc::new(Bad)));
        toy.chain = VecDeque::from(["b"]);
        toy.create("a")
    });
    assert_eq!(told.iter().take(2).collect::<Vec<_>>(), [Ok(()), Ok(())]);
}

#[test]
fn queued_commands_are_answered_though_every_handle_is_gone() {
    let world = World::new(1);
    let (host, told) = world.host();
    let store = Arc::clone(&world.store);
    host.call(|toy, _, _| toy.create("gate"));
    host.call(|toy, _, _| {
        for _ in 0..10 {
            toy.delete("queued");
        }
    });
    drop((host, world));
    store.open_gate();
    // Ends because the machine goes when nobody needs it any more.
    assert_eq!(told.iter().flatten().count(), 11);
}

#[test]
fn threads_end_with_the_last_handle() {
    let world = World::new(2);
    let (host, _told) = world.host();
    host.call(|toy, _, _| toy.create("a"));
    await_told(&host, 1);
    let World { store, pool } = world;
    drop((host, pool));
    while Arc::strong_count(&store) > 1 {
        thread::yield_now();
    }
}

struct Nobody(HostId);

impl Driven for Nobody {
    fn id(&self) -> HostId {
        self.0
    }
    fn drive(&self, _: Option<(Command, Permit<'_>)>) {}
}

fn job(host: u64, command: Command) -> Job {
    Job { host: Arc::new(Nobody(HostId(host))), command }
}

fn create(id: u64) -> Command {
    Command::Create(Op::scripted(id, LATER, Create { key: "k".into(), body: Vec::new() }))
}

fn delete(id: u64) -> Command {
    Command::Delete(Op::scripted(id, LATER, Delete { key: "k".into() }))
}

#[test]
fn uploads_wait_for_one_another_across_machines() {
    let mut lanes = Lanes::new(2, 1);
    for host in 0..3 {
        lanes.push(job(host, create(0)));
    }
    assert_eq!(lanes.runnable(), 2);
    assert!(lanes.take().is_some() && lanes.take().is_some());
    assert!(lanes.take().is_none() && !lanes.admit(Lane::Upload));
    assert!(lanes.leave(Lane::Upload));
    assert!(lanes.take().is_some());
}

#[test]
fn requests_overtake_uploads() {
    let mut lanes = Lanes::new(1, 1);
    lanes.push(job(0, create(0)));
    lanes.push(job(0, delete(1)));
    assert!(matches!(lanes.take(), Some((Lane::Request, _))));
}

#[test]
fn a_caller_gets_a_command_back_only_while_none_of_its_machine_runs() {
    let mut lanes = Lanes::new(1, 1);
    lanes.push(job(1, delete(0)));
    lanes.push(job(2, delete(0)));
    assert!(lanes.take_of(HostId(2), 2).is_none());
    let (_, job) = lanes.take_of(HostId(2), 1).unwrap();
    assert_eq!(job.host.id(), HostId(2));
}

struct Flag(Mutex<bool>);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() = true;
    }
}

#[test]
fn news_takes_out_only_those_that_are_done() {
    let flags: Vec<_> = (0..4).map(|_| Arc::new(Flag(Mutex::new(false)))).collect();
    let mut waiters = Waiters::new();
    for (flag, key) in flags.iter().zip([7, 3, 5, 5]) {
        waiters.register(key, &mut None, &Waker::from(Arc::clone(flag)));
    }
    let mut woken = Vec::new();
    waiters.release(5, &mut woken);
    woken.into_iter().for_each(Waker::wake);
    assert_eq!(flags.iter().map(|flag| *flag.0.lock().unwrap()).collect::<Vec<_>>(), [false, true, true, true]);
    assert_eq!(waiters.len(), 1);
}

#[test]
fn a_waiter_that_registers_again_is_still_one() {
    let mut waiters = Waiters::new();
    let mut id = None;
    waiters.register(1, &mut id, Waker::noop());
    waiters.register(1, &mut id, Waker::noop());
    assert_eq!(waiters.len(), 1);
    waiters.forget(1, id.unwrap());
    assert_eq!(waiters.len(), 0);
}
