//! E18: however a writer ends, everyone who waits for it is answered. J08: one event answers all whom it concerns.
use crate::world::{Conduct, PARTITION, Unruly, crowded, options, record, world, writer};
use bucketlog_blocking::writer::WriterOptions;
use bucketlog_blocking::{Log, Writer};
use bucketlog_core::boundary::{Fault, RefusalKind};
use bucketlog_core::ids::Lsn;
use pollster::block_on;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

/// Waits, and says what came of it.
type Wait = Box<dyn FnOnce() -> Result<(), String> + Send>;

fn told<T, E: Debug>(result: Result<T, E>) -> Result<(), String> {
    result.map(drop).map_err(|error| format!("{error:?}"))
}

/// A future that has begun to wait.
fn begun<T: 'static, E: Debug + 'static>(future: impl Future<Output = Result<T, E>> + Send + 'static) -> Wait {
    let mut future: Pin<Box<dyn Future<Output = Result<T, E>> + Send>> = Box::pin(future);
    assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    Box::new(|| told(block_on(future)))
}

/// Every way to wait for a writer that has no room: none of them can end before the writer moves on.
fn every_wait(writer: &mut Writer) -> Vec<(&'static str, Wait)> {
    let (flush, append, committed) = (writer.flush_async(), writer.append_durable_async(record(7)), writer.committed());
    let last = Lsn(writer.watermarks().accepted.0 - 1);
    let past = committed.past(last);
    vec![
        ("a flush", begun(flush)),
        ("an append without room", begun(append)),
        ("a future watch", begun(past)),
        ("a watch", Box::new(move || told(committed.wait_past(last)))),
    ]
}

/// Lets everyone wait, ends the writer, and checks that nobody is left waiting or told a success.
#[track_caller]
fn check(end: impl FnOnce(&Unruly, &Log, Writer)) {
    let (store, log) = world();
    let mut writer = crowded(&store, &log);
    store.wait_held(1);
    let waits = every_wait(&mut writer);
    thread::scope(|scope| {
        let waiting: Vec<_> = waits.into_iter().map(|(name, wait)| (name, scope.spawn(wait))).collect();
        end(&store, &log, writer);
        for (name, thread) in waiting {
            assert!(thread.join().unwrap().is_err(), "{name} succeeded");
        }
    });
    store.creates(Conduct::Execute);
}

#[test]
fn e18_a_drop_answers_everyone() {
    check(|_, _, writer| drop(writer));
}

#[test]
fn e18_an_abort_answers_everyone() {
    check(|_, _, writer| writer.abort());
}

#[test]
fn e18_unwinding_answers_everyone() {
    check(|_, _, writer| {
        let unwound = catch_unwind(AssertUnwindSafe(move || {
            let _writer = writer;
            panic!("as asked");
        }));
        assert!(unwound.is_err());
    });
}

#[test]
fn e18_a_fence_answers_everyone_and_a_blocked_flush() {
    check(|store, log, mut old| {
        let _new = writer(log);
        thread::scope(|scope| {
            let blocked = scope.spawn(|| old.flush());
            store.creates(Conduct::Execute);
            assert!(blocked.join().unwrap().is_err());
        });
    });
}

#[test]
fn e18_a_refusal_answers_everyone_and_a_blocked_append_and_flush() {
    check(|store, _, mut writer| {
        thread::scope(|scope| {
            let blocked = scope.spawn(|| (writer.append(record(8)).is_err(), writer.flush().is_err()));
            store.creates(Conduct::Fail(Fault::refused(RefusalKind::Denied, "no")));
            assert_eq!(blocked.join().unwrap(), (true, true));
        });
    });
}

#[test]
fn e18_a_crash_inside_the_store_costs_an_attempt_and_no_waiter() {
    let (store, log) = world();
    let mut writer = writer(&log);
    store.creates(Conduct::PanicOnce);
    let appended = writer.append(record(1)).unwrap();
    let task = begun(appended.durability.clone().into_future());
    assert_eq!(writer.flush(), Ok(Lsn(1)));
    assert_eq!((task(), appended.durability.wait()), (Ok(()), Ok(())));
    store.swaps(Conduct::PanicOnce);
    assert_eq!(writer.append_durable(record(2)).unwrap(), Lsn(1));
    writer.close().unwrap();
}

#[test]
fn j08_the_age_cut_and_a_flush_answer_each_other_s_waiters() {
    let (store, log) = world();
    let mut options = WriterOptions { ..options() };
    options.batch.max_age = Some(Duration::from_millis(1));
    let mut writer = log.writer(PARTITION, options).unwrap();
    store.swaps(Conduct::Hold);
    let appended = writer.append(record(1)).unwrap();
    let (flush, committed) = (begun(writer.flush_async()), writer.committed());
    let durable = begun(appended.durability.into_future());
    thread::scope(|scope| {
        let watch = scope.spawn(|| committed.wait_past(Lsn(0)));
        let waits = [scope.spawn(flush), scope.spawn(durable)];
        store.wait_held(1);
        store.swaps(Conduct::Execute);
        assert_eq!(watch.join().unwrap(), Ok(Lsn(1)));
        assert_eq!(waits.map(|wait| wait.join().unwrap()), [Ok(()), Ok(())]);
    });
}
