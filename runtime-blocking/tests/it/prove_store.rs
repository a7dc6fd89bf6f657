//! A log makes sure that its store refuses what it must, before the first record.
use crate::flawed::{Flaw, Flawed};
use crate::world::{PARTITION, log_on, options, stream, writer};
use bucketlog_blocking::error::{HaltCause, OpenError};
use bucketlog_blocking::store::{Counted, Memory, Store};
use bucketlog_blocking::{Log, LogOptions};
use std::sync::Arc;

fn careful(store: Arc<dyn Store>) -> Log {
    Log::open(store, stream(), LogOptions::default())
}

#[test]
fn the_first_writer_of_a_log_asks_and_the_others_do_not() {
    let store = Arc::new(Counted::new(Memory::new()));
    let swaps = || store.counts().swap;
    let log = careful(store.clone());
    drop(log.writer(PARTITION, options()).unwrap());
    assert_eq!(swaps(), 2, "the claim of a new partition, and one with a false condition");
    drop(log.clone().writer(PARTITION, options()).unwrap());
    assert_eq!(swaps(), 3, "the claim alone");
    drop(careful(store.clone()).writer(PARTITION, options()).unwrap());
    assert_eq!(swaps(), 6, "the claim, and two with false conditions");
    drop(writer(&log_on(store.clone())));
    assert_eq!(swaps(), 7, "it can be turned off");
}

/// B09
#[test]
fn a_store_that_ignores_conditions_is_not_written_to() {
    for flaw in [Flaw::SwapAbsentOverwrites, Flaw::SwapIgnoresVersion] {
        let store = Arc::new(Flawed::new(flaw));
        // Once the head exists there is a version that can be stale.
        drop(writer(&log_on(store.clone())));
        let opened = careful(store).writer(PARTITION, options());
        let Err(OpenError::Claim(HaltCause::ConditionsIgnored { .. })) = opened else { panic!("{flaw:?}: {opened:?}") };
    }
}
