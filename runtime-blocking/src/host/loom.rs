//! Every order of events for what the host is made of, up to a few preemptions: no wake-up is lost, every command is
//! executed once, every permit comes back.
use super::park::{park, waker};
use super::{Help, Host, Limits, News, Pool, Role, Waiters};
use crate::clock::Clock;
use crate::store::{Memory, Store};
use crate::sync::{Arc, Mutex, lock};
use ::loom::thread;
use bucketlog_core::boundary::{Command, Completion, Create, Machine, MonoTime, Now, Op, Stat};
use std::task::{Poll, Waker};

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// Creates what it is asked to, once each: a second attempt would be refused.
#[derive(Default)]
struct Toy {
    next: u64,
    todo: Vec<Command>,
    answers: Vec<Answer>,
}

enum Answer {
    Created,
    Refused,
}

impl Toy {
    fn create(&mut self, key: &'static str) {
        self.next += 1;
        let create = Create { key: key.into(), body: Vec::new() };
        self.todo.push(Command::Create(Op::scripted(self.next, MonoTime(u64::MAX), create)));
    }
}

impl Machine for Toy {
    type Event = Answer;

    fn complete(&mut self, _: Now, completion: Completion) {
        let created = completion.answer::<Create>().is_some_and(|result| result.is_ok());
        self.answers.push(if created { Answer::Created } else { Answer::Refused });
    }
    fn poll_command(&mut self, _: Now) -> Option<Command> {
        self.todo.pop()
    }
    fn poll_event(&mut self) -> Option<Answer> {
        self.answers.pop()
    }
    fn deadline(&self) -> Option<MonoTime> {
        None
    }
}

struct Count {
    created: usize,
    waiters: Waiters<usize>,
}

impl Role for Count {
    type Machine = Toy;
    const HELP: Help = Help::WhenAlone;

    fn on_event(&mut self, answer: Answer, news: &mut News) {
        assert!(matches!(answer, Answer::Created), "a command was executed twice");
        self.created += 1;
        self.waiters.release(self.created, &mut news.wakers);
    }

    fn end(&mut self, _: &mut Toy, _: &mut News) {}
}

fn pool(threads: usize) -> (Arc<Memory>, Pool) {
    let store = Arc::new(Memory::new());
    let limits = Limits { threads, computations: 1, uploads: 1 };
    let pool = Pool::new(Arc::clone(&store) as Arc<dyn Store>, Clock::system(), limits, None);
    (store, pool)
}

fn host(pool: &Pool) -> Arc<Host<Count>> {
    Host::new(pool, Toy::default(), Count { created: 0, waiters: Waiters::new() })
}

fn wait_created(host: &Host<Count>, count: usize, start: impl FnOnce(&mut Toy)) {
    let (mut start, mut id) = (Some(start), None);
    host.wait(|toy, role, _, waker: Option<&Waker>| {
        if let Some(start) = start.take() {
            start(toy);
        }
        if role.created >= count {
            return Poll::Ready(());
        }
        if let Some(waker) = waker {
            role.waiters.register(count, &mut id, waker);
        }
        Poll::Pending
    });
}

#[test]
fn loom_a_wake_up_before_or_after_the_park_ends_it() {
    check(|| {
        let state = Arc::new(Mutex::new((false, None::<Waker>)));
        let shared = Arc::clone(&state);
        let other = thread::spawn(move || {
            let mut state = lock(&shared);
            state.0 = true;
            let waiting = state.1.take();
            drop(state);
            waiting.into_iter().for_each(Waker::wake);
        });
        loop {
            let mut state = lock(&state);
            if state.0 {
                break;
            }
            state.1 = Some(waker());
            drop(state);
            park(None);
        }
        other.join().unwrap();
    });
}

// J08
#[test]
fn loom_one_answer_wakes_both_who_wait_for_it() {
    check(|| {
        let (_, pool) = pool(1);
        let host = host(&pool);
        host.call(|toy, _, _| toy.create("a"));
        let other = {
            let host = Arc::clone(&host);
            thread::spawn(move || wait_created(&host, 1, |_| ()))
        };
        wait_created(&host, 1, |_| ());
        other.join().unwrap();
    });
}

#[test]
fn loom_callers_and_a_worker_share_a_permit_and_execute_everything_once() {
    check(|| {
        let (store, pool) = pool(1);
        let (mine, others) = (host(&pool), host(&pool));
        let other = thread::spawn(move || wait_created(&others, 1, |toy| toy.create("b")));
        wait_created(&mine, 1, |toy| toy.create("a"));
        other.join().unwrap();
        // It waits for ever if a permit was lost.
        wait_created(&mine, 2, |toy| toy.create("c"));
        let until = std::time::Instant::now();
        assert!(["a", "b", "c"].iter().all(|key| store.stat(&Stat { key: (*key).into() }, until).is_ok()));
    });
}
