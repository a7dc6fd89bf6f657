//! Measurements that machines report as events.
use crate::ids::{Lsn, Partition};
use std::time::Duration;

/// One finished activity, under the event names of objlog (objlog protocols, section 12). Fields that an activity has
/// no value for keep their default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Metric {
    /// What was done, such as `reader.fetch`.
    pub name: &'static str,
    /// On which partition.
    pub partition: Partition,
    /// The one record concerned.
    pub lsn: Option<Lsn>,
    /// First position asked for.
    pub start_lsn: Option<Lsn>,
    /// Position after the last record concerned.
    pub next_lsn: Option<Lsn>,
    /// Largest number of records asked for.
    pub limit: u32,
    /// Records concerned.
    pub records: u64,
    /// Bytes moved or delivered.
    pub bytes: u64,
    /// Segments concerned.
    pub segments: u64,
    /// Time it took, by the monotonic clock.
    pub duration: Duration,
    /// Whether it failed.
    pub error: bool,
}
