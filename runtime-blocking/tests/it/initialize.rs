use crate::world::{Conduct, PARTITION, options, record, world, writer};
use bucketlog_blocking::error::{InitializeError, InitializePartitionError};
use bucketlog_blocking::initialize::InitializeOptions;
use bucketlog_core::boundary::{Fault, RefusalKind};
use bucketlog_core::ids::Lsn;
use pollster::block_on;

#[test]
fn a_partition_begins_where_it_was_told() {
    let (_, log) = world();
    let initialized = log.initialize_partition(PARTITION, Lsn(1000), &InitializeOptions::default()).unwrap();
    assert!(initialized.created);
    assert_eq!(writer(&log).append_durable(record(1)).unwrap(), Lsn(1000));
}

#[test]
fn a_partition_that_exists_is_left_alone() {
    let (_, log) = world();
    writer(&log).append_durable(record(1)).unwrap();
    let later = block_on(log.initialize_partition_async(PARTITION, Lsn(1000), &InitializeOptions::default()));
    let found = later.unwrap();
    assert_eq!((found.created, found.head.next_lsn), (false, Lsn(1)));
}

#[test]
fn a_refusal_is_an_error() {
    let (store, log) = world();
    store.swaps(Conduct::Fail(Fault::refused(RefusalKind::Denied, "no")));
    let error = log.initialize_partition(PARTITION, Lsn(5), &InitializeOptions::default()).unwrap_err();
    assert!(matches!(error, InitializePartitionError::Initialize(InitializeError::Store { maybe: false, .. })));
    store.swaps(Conduct::Execute);
    assert!(log.writer(PARTITION, options()).is_ok());
}
