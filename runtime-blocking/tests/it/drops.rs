//! I02: handles are dropped in any order, also while unwinding, and nothing blocks or panics.
use crate::world::{Conduct, PARTITION, options, record, world, writer};
use bucketlog_blocking::reader::ReaderOptions;
use bucketlog_blocking::{Log, Reader, Writer};
use bucketlog_core::ids::Lsn;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
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
        let mut context = Context::from_waker(Waker::noop());
        let claim = std::pin::pin!(log.writer_async(PARTITION, options()));
        assert!(claim.poll(&mut context).is_pending());
        store.wait_held(1);
    }
    store.swaps(Conduct::Execute);
    assert_eq!(writer(&log).append_durable(record(1)).unwrap(), Lsn(0));
}

/// Every order of `n` things.
fn orders(n: usize) -> Vec<Vec<usize>> {
    match n {
        0 => vec![Vec::new()],
        _ => orders(n - 1)
            .into_iter()
            .flat_map(|order| {
                (0..n).map(move |at| {
                    let mut order = order.clone();
                    order.insert(at, n - 1);
                    order
                })
            })
            .collect(),
    }
}

/// One handle of each kind on a log with a record under way.
fn handles() -> Vec<Option<Box<dyn Any + Send>>> {
    let (_, log) = world();
    let mut writer = writer(&log);
    let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
    let appended = writer.append(record(1)).unwrap();
    writer.cut();
    let committed = writer.committed();
    let waiting = appended.durability.clone().into_future();
    vec![
        Some(Box::new(log)),
        Some(Box::new(writer)),
        Some(Box::new(reader)),
        Some(Box::new(appended.durability)),
        Some(Box::new(waiting)),
        Some(Box::new(committed)),
    ]
}

#[test]
fn every_order_of_drops_is_fine() {
    let orders = orders(6);
    assert_eq!(orders.len(), 720);
    for order in orders {
        let mut handles = handles();
        for handle in order {
            drop(handles[handle].take());
        }
    }
}

/// Drops its handles where a runtime calls it: on the thread that has the news.
struct DropsWhenWoken(Mutex<Vec<Option<Box<dyn Any + Send>>>>, mpsc::Sender<()>);

impl Wake for DropsWhenWoken {
    fn wake(self: Arc<Self>) {
        self.0.lock().unwrap().clear();
        self.1.send(()).unwrap();
    }
}

#[test]
fn the_last_handles_may_go_inside_a_task_s_wake_up_on_a_thread_of_the_log() {
    let (store, log) = world();
    let mut writer = writer(&log);
    store.swaps(Conduct::Hold);
    let appended = writer.append(record(1)).unwrap();
    let mut waiting = Box::pin(appended.durability.into_future());
    let (woken, news) = mpsc::channel();
    let handles: Vec<Option<Box<dyn Any + Send>>> = vec![Some(Box::new(log)), Some(Box::new(writer))];
    let waker = Arc::new(DropsWhenWoken(Mutex::new(handles), woken)).into();
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    store.wait_held(1);
    store.swaps(Conduct::Execute);
    news.recv().unwrap();
    assert_eq!(pollster::block_on(waiting), Ok(()));
}

#[test]
fn handles_may_be_used_and_dropped_inside_an_executor() {
    pollster::block_on(async {
        let (_, log) = world();
        let mut writer = log.writer_async(PARTITION, options()).await.unwrap();
        let pending = writer.append_async(record(1)).await.unwrap();
        assert_eq!(writer.append_durable(record(2)).unwrap(), Lsn(1), "blocking calls need no other thread");
        drop((writer, log));
        assert!(pending.durability.await.is_ok());
    });
}

#[test]
fn handles_go_where_they_may() {
    fn sent<T: Send>() {}
    fn shared<T: Send + Sync + Clone>() {}
    sent::<Writer>();
    shared::<Reader>();
    shared::<Log>();
}
