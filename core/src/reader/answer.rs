//! What callers ask a reader, and what they are told.
use super::ReadError;
use crate::format::catalog::Head;
use crate::format::segment::Record;
use crate::ids::Lsn;
use crate::metric::Metric;
use std::sync::Arc;

/// Names one call of one reader; never used again by that reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub(super) u64);

/// How new the head must be that a call works on (objlog protocols, section 8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Freshness {
    /// Any head that this reader has; it asks the store only if it has none.
    Cached,
    /// The head that this reader has if the position asked for lies in it, else one read after the call.
    #[default]
    OnTail,
    /// A head read after the call. An answer to a request that was sent before the call does not count, so that a
    /// caller always sees what it knows to be committed.
    Latest,
}

/// Where a batch ends at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReadLimit {
    /// Records; 0 stands for the default, 1,024.
    pub records: u32,
    /// Encoded bytes of the records (16 + headers + value each); the first record is delivered whatever its size.
    /// 0 stands for the default, 16 MiB.
    pub bytes: u64,
}

impl Default for ReadLimit {
    fn default() -> Self {
        Self { records: 1024, bytes: 16 << 20 }
    }
}

impl ReadLimit {
    /// At most this many records, and the default number of bytes.
    #[must_use]
    pub fn records(records: u32) -> Self {
        Self { records, ..Self::default() }.or_default()
    }

    pub(super) fn or_default(self) -> Self {
        let default = Self::default();
        Self {
            records: if self.records == 0 { default.records } else { self.records },
            bytes: if self.bytes == 0 { default.bytes } else { self.bytes },
        }
    }
}

/// Records that follow each other without a gap.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Batch {
    /// In order of LSN; values share the memory of the blocks they come from.
    pub records: Vec<(Lsn, Record)>,
    /// Where to read on: the LSN after the last record, or where the read began if there is none.
    pub next_lsn: Lsn,
    /// The head that the batch was read under.
    pub head: Arc<Head>,
}

/// Positive answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Answer {
    /// To [`Reader::head`](super::Reader::head).
    Head(Arc<Head>),
    /// To [`Reader::read`](super::Reader::read) and
    /// [`Reader::read_from_timestamp`](super::Reader::read_from_timestamp).
    Batch(Batch),
    /// To [`Reader::fetch`](super::Reader::fetch).
    Record(Record),
    /// To [`Reader::find_timestamp`](super::Reader::find_timestamp): the first record at or after the timestamp.
    Position(Option<Lsn>),
}

/// News of a reader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReaderEvent {
    /// A call has its answer.
    Done {
        /// Which call.
        call: CallId,
        /// Its answer.
        result: Result<Answer, ReadError>,
    },
    /// A measurement, if [`ReaderOptions::metrics`](super::ReaderOptions::metrics) is on.
    Metric(Metric),
}
