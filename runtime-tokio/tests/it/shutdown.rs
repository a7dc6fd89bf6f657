//! Ends: of a log, and of the runtime beneath one.
use crate::world::{Held, PARTITION, current_thread, log_on, multi_thread, on_both, options, record, writer};
use bucketlog_tokio::error::HaltCause;
use bucketlog_tokio::initialize::InitializeOptions;
use bucketlog_tokio::store::Memory;
use bucketlog_tokio::writer::Status;
use bucketlog_tokio::{Lsn, ReaderOptions};
use std::sync::Arc;

#[test]
fn a_shutdown_waits_for_requests_under_way_and_answers_everybody() {
    on_both(|| async {
        let store = Held::new();
        let log = log_on(store.clone());
        let mut writer = writer(&log).await;
        store.hold();
        let appended = writer.append(record(0)).await.unwrap();
        writer.cut();
        store.until_held(1).await;
        let release = async {
            tokio::task::yield_now().await;
            store.release();
        };
        tokio::join!(log.shutdown(), release);
        assert!(appended.durability.await.is_err());
        assert!(matches!(writer.status(), Status::Halted(halted) if halted.cause == HaltCause::Aborted));
    });
}

#[test]
fn after_a_shutdown_every_call_is_answered() {
    on_both(|| async {
        let log = log_on(Arc::new(Memory::new()));
        let mut writer = writer(&log).await;
        let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
        log.shutdown().await;
        assert!(writer.append(record(0)).await.is_err());
        assert!(reader.fetch(Lsn(0)).await.is_err());
        assert!(log.writer(PARTITION, options()).await.is_err());
        assert!(log.initialize_partition(PARTITION, Lsn(1), &InitializeOptions::default()).await.is_err());
    });
}

#[test]
fn handles_are_answered_after_their_runtime_is_gone() {
    for runtime in [current_thread(), multi_thread()] {
        let store = Held::new();
        let (log, mut writer, appended) = runtime.block_on(async {
            let log = log_on(store.clone());
            let mut writer = writer(&log).await;
            store.hold();
            let appended = writer.append(record(0)).await.unwrap();
            writer.cut();
            store.until_held(1).await;
            (log, writer, appended)
        });
        runtime.shutdown_background();
        current_thread().block_on(async {
            assert!(appended.durability.await.is_err());
            assert!(writer.append_durable(record(1)).await.is_err());
            let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
            assert!(reader.fetch(Lsn(0)).await.is_err());
            assert!(log.writer(PARTITION, options()).await.is_err());
        });
    }
}

#[test]
fn handles_are_dropped_anywhere_in_any_order() {
    let runtime = multi_thread();
    for order in 0..6 {
        let (log, writer, reader) = runtime.block_on(async {
            let log = log_on(Arc::new(Memory::new()));
            let mut writer = writer(&log).await;
            writer.append(record(0)).await.unwrap();
            let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
            (log, writer, reader)
        });
        match order {
            0 => drop((log, writer, reader)),
            1 => drop((writer, log, reader)),
            2 => drop((reader, writer, log)),
            3 => drop((log, reader, writer)),
            4 => runtime.block_on(async move { drop((log, writer, reader)) }),
            _ => drop(std::thread::spawn(move || drop((writer, reader, log))).join()),
        }
    }
}

#[test]
fn nothing_is_left_of_a_log_whose_handles_are_gone() {
    on_both(|| async {
        let store = Held::new();
        let log = log_on(store.clone());
        writer(&log).await.append_durable(record(0)).await.unwrap();
        drop(log);
        // The task that keeps the time finds that out when it is woken, in a moment.
        let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        for _ in 0..1_000_000 {
            if alive() == 0 {
                break;
            }
            tokio::task::yield_now().await;
        }
        assert_eq!((alive(), Arc::strong_count(&store)), (0, 1));
    });
}
