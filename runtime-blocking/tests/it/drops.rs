//! I02: handles are dropped in any order, also while unwinding, and nothing blocks or panics.
use crate::world::{Conduct, PARTITION, options, record, world, writer};
use bucketlog_blocking::reader::ReaderOptions;
use bucketlog_blocking::{Log, Reader, Writer};
use bucketlog_core::ids::Lsn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

#[test]
fn a_writer_outlives_its_log() {
    let (_, log) = world();
    let mut writer = writer(&log);
    let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
    drop(log);
    let lsn = writer.append_durable(record(1)).unwrap();
    drop(writer);
    assert_eq!(reader.fetch(lsn), Ok(record(1)));
}

#[test]
fn a_durability_handle_outlives_everything() {
    let (_, log) = world();
    let mut writer = writer(&log);
    let appended = writer.append(record(1)).unwrap();
    drop((log, writer));
    assert!(appended.durability.wait().is_err());
}

#[test]
fn unwinding_aborts_like_a_drop() {
    let (_, log) = world();
    let mut writer = writer(&log);
    let appended = writer.append(record(1)).unwrap();
    let outcome = catch_unwind(AssertUnwindSafe(move || {
        let _unwound = (writer, log);
        panic!("as asked");
    }));
    assert!(outcome.is_err());
    assert!(appended.durability.wait().is_err());
}

#[test]
fn a_drop_does_not_wait_for_a_request_under_way() {
    let (store, log) = world();
    let mut writer = writer(&log);
    store.swaps(Conduct::Hold);
    writer.append(record(1)).unwrap();
    writer.cut();
    store.wait_held(1);
    drop((writer, log));
    store.swaps(Conduct::Execute);
}

#[test]
fn threads_end_with_the_last_handle() {
    let (store, log) = world();
    let mut writer = writer(&log);
    let appended = writer.append(record(1)).unwrap();
    pollster::block_on(appended.durability.into_future()).unwrap();
    drop(log);
    writer.close().unwrap();
    while Arc::strong_count(&store) > 1 {
        thread::yield_now();
    }
}

#[test]
fn a_dropped_claim_leaves_the_log_usable() {
    let (store, log) = world();
    store.swaps(Conduct::Hold);
    {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let claim = std::pin::pin!(log.writer_async(PARTITION, options()));
        assert!(claim.poll(&mut context).is_pending());
        store.wait_held(1);
    }
    store.swaps(Conduct::Execute);
    assert_eq!(writer(&log).append_durable(record(1)).unwrap(), Lsn(0));
}

#[test]
fn handles_go_where_they_may() {
    fn sent<T: Send>() {}
    fn shared<T: Send + Sync + Clone>() {}
    sent::<Writer>();
    shared::<Reader>();
    shared::<Log>();
}
