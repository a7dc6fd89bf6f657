//! What a machine tells of its work, under objlog's event names (objlog protocol 12).
use crate::ids::{Lsn, Partition};
use std::time::Duration;

/// One finished piece of work. Emitted only where a machine's options ask for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Metric {
    /// Event name, for example `writer.segment_publish`.
    pub name: &'static str,
    /// The partition it concerns.
    pub partition: Partition,
    /// First LSN concerned.
    pub start_lsn: Lsn,
    /// End (exclusive) of the LSNs concerned.
    pub next_lsn: Lsn,
    /// Records concerned.
    pub records: u64,
    /// Bytes concerned, as stored; for `writer.append` as accepted.
    pub bytes: u64,
    /// Segments concerned.
    pub segments: u64,
    /// How long it took, where that is meaningful.
    pub duration: Duration,
    /// Whether it failed.
    pub failed: bool,
}

impl Metric {
    /// An event of `name` with nothing counted yet.
    #[must_use]
    pub fn new(name: &'static str, partition: Partition) -> Self {
        Self {
            name,
            partition,
            start_lsn: Lsn(0),
            next_lsn: Lsn(0),
            records: 0,
            bytes: 0,
            segments: 0,
            duration: Duration::ZERO,
            failed: false,
        }
    }
}
