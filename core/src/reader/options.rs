//! What a reader may spend.
use crate::backoff::Backoff;
use crate::pace::HedgePolicy;
use std::time::Duration;

/// Limits of one [`Reader`](super::Reader). Sizes are bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReaderOptions {
    /// Catalog pages kept, decoded. Default 8 MiB.
    pub page_cache_bytes: usize,
    /// Parsed block indexes kept, together with the small segments that came whole. Default 16 MiB.
    pub index_cache_bytes: usize,
    /// Decoded blocks kept. Default 64 MiB.
    pub block_cache_bytes: usize,
    /// Segments up to this size are read by one request for the whole object. Default 1 MiB: about what a connection
    /// carries in the time of the round trip it saves.
    pub whole_segment_max: u64,
    /// Check the hash over the whole segment when it is read whole, beside the hashes of index and blocks. Default off.
    pub verify_segment_hash: bool,
    /// How far ahead of delivery one read loads, in raw bytes; at least one block is always loaded. Default 16 MiB.
    pub prefetch_bytes: u64,
    /// How many blocks or segments one read loads ahead; at least 1 counts. Default 64.
    pub prefetch_count: usize,
    /// Neighbouring blocks are read by one request up to this size; a larger block comes alone. Default 4 MiB.
    pub merge_bytes: u64,
    /// Commands in flight; at least 1 counts. Throttles halve the number of requests among them for a while. Default 16.
    pub max_in_flight: usize,
    /// Requests in flight for what is loaded ahead; at least 1 counts. The rest of `max_in_flight` is kept for what calls
    /// wait for now, so that a reader that catches up does not starve one that looks a record up. Default 12.
    pub max_ahead: usize,
    /// Second requests for what takes unusually long. Default none.
    pub hedge: Option<HedgePolicy>,
    /// Time after which a single request counts as lost. Default 15 s.
    pub request_timeout: Duration,
    /// Time that one call may take, repeated requests included. Default 60 s.
    pub budget: Duration,
    /// Pauses before repeated requests; a store that asks for a longer one gets it.
    pub backoff: Backoff,
    /// Report [`Metric`](crate::metric::Metric) events. Default off.
    pub metrics: bool,
}

const MIB: usize = 1 << 20;

impl Default for ReaderOptions {
    fn default() -> Self {
        Self {
            page_cache_bytes: 8 * MIB,
            index_cache_bytes: 16 * MIB,
            block_cache_bytes: 64 * MIB,
            whole_segment_max: 1 << 20,
            verify_segment_hash: false,
            prefetch_bytes: 16 << 20,
            prefetch_count: 64,
            merge_bytes: 4 << 20,
            max_in_flight: 16,
            max_ahead: 12,
            hedge: None,
            request_timeout: Duration::from_secs(15),
            budget: Duration::from_secs(60),
            backoff: Backoff::default(),
            metrics: false,
        }
    }
}
