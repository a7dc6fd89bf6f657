//! What can be chosen about a writer.
use crate::backoff::Backoff;
use crate::format::HashAlgo;
use crate::format::catalog::CatalogLayout;
use crate::format::segment::Codec;
use crate::pace::HedgePolicy;
use std::time::Duration;

/// Options of one writer; the defaults suit a remote store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WriterOptions {
    /// Compression of the blocks. Default zstd.
    pub codec: Codec,
    /// zstd level, 1 to 19. Default [`WriterOptions::DEFAULT_LEVEL`].
    pub level: i32,
    /// Hash inside the segments. Default XXH64.
    pub hash: HashAlgo,
    /// Raw size at which a block is closed, bytes; 1 to 16 MiB. Default [`WriterOptions::DEFAULT_BLOCK_BYTES`].
    pub block_bytes: u32,
    /// When the active segment is cut by itself.
    pub batch: BatchPolicy,
    /// How much may be accepted before it is stored.
    pub pending: PendingLimits,
    /// What becomes of a record whose timestamp lies before the last one's.
    pub timestamps: TimestampPolicy,
    /// Fan-out and hash of the catalog, used only where the partition has no head yet.
    pub layout: CatalogLayout,
    /// How large segments are stored in parts, while their later blocks are still being sealed; `None`: every segment is
    /// one object of one request. A store that takes no parts is told by its answer. Default [`PartPolicy::default`].
    pub parts: Option<PartPolicy>,
    /// Whole segments uploaded at the same time; at least 1. Throttles halve it for a while. Default 2.
    pub parallel_uploads: u32,
    /// Blocks encoded at the same time; at least 1. Default 4.
    pub parallel_encodes: u32,
    /// Least time between the starts of two head swaps; default 0. A store that throttles writes to one object is paced
    /// beyond that by itself, up to 2 s.
    pub commit_interval: Duration,
    /// Segments folded into one head swap at most; at least 1. Default 1,024.
    pub max_group: u32,
    /// How long one attempt may take before its fate counts as unknown. Default 30 s.
    pub patience: Duration,
    /// How long one step (a claim, an upload, a commit) may fail before the writer gives up. Default 5 min.
    pub budget: Duration,
    /// Waits between attempts.
    pub backoff: Backoff,
    /// Lost races of a claim before `open` gives up. Default 32.
    pub claim_attempts: u32,
    /// Unknown outcomes of one swap before the writer takes over from itself, which kills every older request that
    /// might still land. Default 4.
    pub self_takeover_after: u32,
    /// Second requests for creates of segments that take unusually long. Default none.
    pub hedge: Option<HedgePolicy>,
    /// Whether a claim that won is followed by two swaps of the same bytes whose conditions are false, which the store
    /// must refuse: one that takes them would let a fenced writer overwrite its successor. Two requests more per open.
    /// Default off.
    pub prove_store: bool,
    /// Whether [`super::WriterEvent::Metric`] is emitted. Default off.
    pub metrics: bool,
}

impl WriterOptions {
    /// The fastest level; its output stays within the size budget of `docs/decisions/0004-defaults.md`.
    pub const DEFAULT_LEVEL: i32 = 1;
    /// Chosen by the table of `docs/decisions/0004-defaults.md`.
    pub const DEFAULT_BLOCK_BYTES: u32 = 512 << 10;

    /// Checks every range.
    ///
    /// # Errors
    /// The first option outside its range.
    pub fn validate(&self) -> Result<(), OptionsError> {
        let rules: [(bool, &'static str); 14] = [
            ((1..=19).contains(&self.level), "level must be 1 to 19"),
            ((1..=16 << 20).contains(&self.block_bytes), "block_bytes must be 1 to 16 MiB"),
            (self.batch.max_records > 0, "batch.max_records must be positive"),
            (self.batch.max_bytes > 0, "batch.max_bytes must be positive"),
            (self.pending.max_batches > 0, "pending.max_batches must be positive"),
            (
                self.pending.max_bytes >= self.batch.max_bytes,
                "pending.max_bytes must hold at least one batch of batch.max_bytes",
            ),
            (self.parallel_uploads > 0 && self.parallel_encodes > 0, "parallel_* must be positive"),
            (self.max_group > 0, "max_group must be positive"),
            (
                (1..=1024).contains(&self.layout.leaf_limit) && (2..=1024).contains(&self.layout.index_limit),
                "layout.leaf_limit must be 1 to 1024 and layout.index_limit 2 to 1024",
            ),
            (!self.patience.is_zero(), "patience must be positive"),
            (
                self.parts.is_none_or(|parts| parts.part_bytes >= PartPolicy::MIN_PART_BYTES),
                "parts.part_bytes must be at least 5 MiB",
            ),
            (
                self.parts.is_none_or(|parts| parts.threshold_bytes >= parts.part_bytes),
                "parts.threshold_bytes must be at least parts.part_bytes",
            ),
            (self.parts.is_none_or(|parts| parts.parallel > 0), "parts.parallel must be positive"),
            (
                self.parts.is_none_or(|parts| parts.part_bytes.saturating_mul(5_000) >= self.batch.max_bytes),
                "parts.part_bytes must be at least batch.max_bytes / 5000",
            ),
        ];
        match rules.into_iter().find(|(holds, _)| !holds) {
            Some((_, rule)) => Err(OptionsError { rule }),
            None => Ok(()),
        }
    }
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            codec: Codec::Zstd,
            level: Self::DEFAULT_LEVEL,
            hash: HashAlgo::Xxh64,
            block_bytes: Self::DEFAULT_BLOCK_BYTES,
            batch: BatchPolicy::default(),
            pending: PendingLimits::default(),
            timestamps: TimestampPolicy::default(),
            layout: CatalogLayout::default(),
            parts: Some(PartPolicy::default()),
            parallel_uploads: 2,
            parallel_encodes: 4,
            commit_interval: Duration::ZERO,
            max_group: 1024,
            patience: Duration::from_secs(30),
            budget: Duration::from_secs(300),
            backoff: Backoff::default(),
            claim_attempts: 32,
            self_takeover_after: 4,
            hedge: None,
            prove_store: false,
            metrics: false,
        }
    }
}

/// When and how a segment is stored in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PartPolicy {
    /// A segment with more stored bytes goes up in parts, a smaller one in one request; at least `part_bytes`. Default
    /// 8 MiB.
    pub threshold_bytes: u64,
    /// Length of every part but the last, bytes; at least 5 MiB (S3's limit) and 1/5,000 of
    /// [`BatchPolicy::max_bytes`], so that no segment has more than 10,000 parts (S3's limit). Default 8 MiB.
    pub part_bytes: u64,
    /// Parts under way at once, over all segments of the writer; at least 1. Throttled parts halve it, stored ones bring
    /// it back one by one. Default 4.
    pub parallel: u32,
}

impl PartPolicy {
    /// Least length of a part that is not the last, bytes (S3's limit). Models make do with tiny ones.
    pub const MIN_PART_BYTES: u64 = if cfg!(feature = "model") { 1 } else { 5 << 20 };
}

impl Default for PartPolicy {
    fn default() -> Self {
        Self { threshold_bytes: 8 << 20, part_bytes: 8 << 20, parallel: 4 }
    }
}

/// The first limit that is reached cuts the active segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BatchPolicy {
    /// Records; default 16,384 (objlog protocol 4).
    pub max_records: u32,
    /// Raw bytes (16 + headers + value of each record); default 64 MiB (objlog protocol 4).
    pub max_bytes: u64,
    /// Age of the batch's first record; default none. While a commit is under way an aged batch may wait for it.
    pub max_age: Option<Duration>,
    /// How long records that somebody waits for may wait for those of other callers; default 500 µs. A caller who is
    /// alone never waits for it.
    pub max_linger: Duration,
}

impl Default for BatchPolicy {
    fn default() -> Self {
        Self { max_records: 16_384, max_bytes: 64 << 20, max_age: None, max_linger: Duration::from_micros(500) }
    }
}

/// Bounds of what is accepted but not yet safe.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PendingLimits {
    /// Cut segments that are not yet stored; default 4 (objlog protocol 4).
    pub max_batches: u32,
    /// Bytes in memory of everything not yet committed; default 256 MiB (objlog protocol 4).
    pub max_bytes: u64,
}

impl Default for PendingLimits {
    fn default() -> Self {
        Self { max_batches: 4, max_bytes: 256 << 20 }
    }
}

/// What becomes of a record whose timestamp lies before the last one's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimestampPolicy {
    /// That record is refused; the writer goes on.
    #[default]
    Reject,
    /// It is stored with the last record's timestamp.
    Clamp,
}

/// An option outside its range.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("invalid writer option: {rule}")]
pub struct OptionsError {
    rule: &'static str,
}
