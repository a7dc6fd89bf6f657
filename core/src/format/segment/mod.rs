//! segformat v2: one immutable object of compressed, hashed blocks with an index and a trailer.
use crate::format::{FormatError, HashAlgo};
use crate::ids::{Lsn, Partition, SegmentId, TimestampMs, WriterId};
use bytes::Bytes;

/// Compression of a segment's blocks (objlog formats, "Codec ids").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Codec {
    /// Stored as they are; id 0.
    None,
    /// One zstd frame per block; id 1, and the default.
    #[default]
    Zstd,
}

impl Codec {
    /// The id stored in objects.
    #[must_use]
    pub const fn id(self) -> u16 {
        match self {
            Self::None => 0,
            Self::Zstd => 1,
        }
    }

    /// The codec with this id.
    #[must_use]
    pub const fn from_id(id: u16) -> Option<Self> {
        match id {
            0 => Some(Self::None),
            1 => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Stable lower-case name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zstd => "zstd",
        }
    }
}

/// One key-value pair beside a record's value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// 1 to 1,024 bytes.
    pub key: Bytes,
    /// 0 to 65,535 bytes.
    pub value: Bytes,
}

/// One record: what the application appends and gets back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Record {
    /// Milliseconds since the Unix epoch; never lower than the record's before it.
    pub timestamp: TimestampMs,
    /// At most 64.
    pub headers: Vec<Header>,
    /// At most 4 MiB.
    pub value: Bytes,
}

impl Record {
    pub fn new(timestamp: TimestampMs, value: impl Into<Bytes>) -> Self { todo!() }
    /// Bytes this record takes in a raw block: 16 + headers + value.
    pub fn encoded_len(&self) -> u64 { todo!() }
    pub fn validate(&self) -> Result<(), RecordError> { todo!() }
}

/// Why a record can't be stored by any segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    #[error("the value has {len} bytes; at most {max} are possible")]
    ValueTooLarge { len: u64, max: u64 },
    // HeadersTooLarge, TooManyHeaders, HeaderKeyLength, HeaderValueTooLarge ...
}

/// The uncompressed content of one block, in order of LSN.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawBlock {
    pub bytes: Bytes,
    pub record_count: u32,
    pub base_lsn: Lsn,
    pub min_timestamp: TimestampMs,
    pub max_timestamp: TimestampMs,
}

/// Collects records into one raw block. Timestamps must not go back (the caller's policy decided that already).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlockBuilder { /* private */ }
impl BlockBuilder {
    pub fn new(base_lsn: Lsn, capacity: usize) -> Self { todo!() }
    /// Number of raw bytes so far.
    pub fn len(&self) -> usize { todo!() }
    pub fn is_empty(&self) -> bool { todo!() }
    pub fn record_count(&self) -> u32 { todo!() }
    /// Appends an already validated record (hot path: no second validation).
    pub fn push(&mut self, record: &Record) { todo!() }
    pub fn finish(self) -> RawBlock { todo!() }
}

/// What a block's preamble and its index entry both say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockMeta {
    pub stored_size: u32,
    pub raw_size: u32,
    pub record_count: u32,
    pub base_lsn: Lsn,
    pub min_timestamp: TimestampMs,
    pub max_timestamp: TimestampMs,
    pub block_hash: u64,
}

/// A compressed and hashed block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SealedBlock {
    pub meta: BlockMeta,
    pub stored: Bytes,
}

/// Reusable compression state of one worker; not shared between threads.
pub struct BlockCodec { /* zstd contexts, created on first use, kept per level */ }
impl BlockCodec {
    pub fn new() -> Self { todo!() }
    /// zstd levels 1..=19 (window stays <= 8 MiB); level ignored for Codec::None (which must not copy).
    pub fn seal(&mut self, block: &RawBlock, codec: Codec, level: i32, hash: HashAlgo) -> Result<SealedBlock, FormatError> { todo!() }
    /// Checks the hash, decompresses (bounded by meta.raw_size), walks and validates every record.
    /// `offset` = absolute offset of the stored bytes, for errors. Codec::None must not copy.
    pub fn open(&mut self, meta: &BlockMeta, stored: &Bytes, codec: Codec, hash: HashAlgo, offset: u64) -> Result<DecodedBlock, FormatError> { todo!() }
}

/// A decompressed, fully validated block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DecodedBlock { /* meta: BlockMeta, raw: Bytes, offsets: Vec<u32> */ }
impl DecodedBlock {
    pub fn meta(&self) -> &BlockMeta { todo!() }
    /// Memory held, bytes.
    pub fn size(&self) -> usize { todo!() }
    /// O(1); shares the block's memory (Bytes::slice).
    pub fn record(&self, lsn: Lsn) -> Option<Record> { todo!() }
    /// Borrowing iterator from the first record: (Lsn, RecordRef). No allocation.
    pub fn records(&self) -> Records<'_> { todo!() }
    /// First LSN with timestamp >= ts (binary search).
    pub fn find_timestamp(&self, ts: TimestampMs) -> Option<Lsn> { todo!() }
}
pub struct Records<'a>(core::marker::PhantomData<&'a ()>);
/// A record borrowed from a block.
pub struct RecordRef<'a> { pub lsn: Lsn, pub timestamp: TimestampMs, pub value: &'a [u8], /* raw headers + iterator */ }

/// Everything about a segment that is known before its first block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SegmentHeader {
    pub partition: Partition,
    pub codec: Codec,
    pub hash: HashAlgo,
    pub segment_id: SegmentId,
    pub writer_tag: WriterId,
    /// Advisory: writer's clock at segment start.
    pub created: TimestampMs,
}

/// Lays sealed blocks out as one object. Infallible for blocks that `BlockCodec::seal` made in LSN order; errors otherwise.
#[derive(Debug)]
pub struct SegmentAssembler { /* private */ }
impl SegmentAssembler {
    pub fn new(header: SegmentHeader) -> Self { todo!() }
    pub fn push(&mut self, block: &SealedBlock) -> Result<(), FormatError> { todo!() }
    /// Errors when no block was pushed.
    pub fn finish(self) -> Result<EncodedSegment, FormatError> { todo!() }
}

/// A whole segment, ready to be stored: the concatenation of `pieces` is the object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EncodedSegment {
    /// Small pieces are merged; block bytes are shared, not copied, above 64 KiB.
    pub pieces: Vec<Bytes>,
    pub trailer: Trailer,
}

/// First 64 bytes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FilePreamble { pub partition: Partition, pub codec: Codec, pub hash: HashAlgo, pub base_lsn: Lsn, pub segment_id: SegmentId, pub writer_tag: WriterId }
impl FilePreamble { pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> { todo!() } pub fn check_trailer(&self, t: &Trailer) -> Result<(), FormatError> { todo!() } }

/// Last 192 bytes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trailer {
    pub partition: Partition,
    pub codec: Codec,
    pub hash: HashAlgo,
    pub base_lsn: Lsn,
    pub last_lsn: Lsn,
    pub min_timestamp: TimestampMs,
    pub max_timestamp: TimestampMs,
    pub record_count: u32,
    pub block_count: u32,
    pub block_index_offset: u64,
    pub block_index_length: u32,
    pub total_size: u64,
    pub created: TimestampMs,
    pub segment_id: SegmentId,
    pub writer_tag: WriterId,
    pub segment_hash: u64,
    pub trailer_hash: u64,
}
impl Trailer {
    pub const LEN: usize = 192;
    /// `bytes`: the last 192 bytes of an object of `object_size` bytes.
    pub fn decode(bytes: &[u8], object_size: u64) -> Result<Self, FormatError> { todo!() }
}

/// Where a block lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockEntry {
    /// Absolute offset of the block's preamble.
    pub offset: u64,
    pub meta: BlockMeta,
}

/// A segment's parsed and checked block index, with its trailer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlockIndex { pub trailer: Trailer, pub entries: Vec<BlockEntry> }
impl BlockIndex {
    /// `bytes`: exactly the index region (preamble + entries) named by `trailer`.
    pub fn decode(bytes: &[u8], trailer: &Trailer) -> Result<Self, FormatError> { todo!() }
    /// Position of the block that holds `lsn`.
    pub fn block_of(&self, lsn: Lsn) -> Option<usize> { todo!() }
    /// Position of the first block whose max_timestamp >= ts.
    pub fn block_at_timestamp(&self, ts: TimestampMs) -> Option<usize> { todo!() }
    /// Byte range [from, to) of block i's preamble + stored bytes.
    pub fn block_range(&self, i: usize) -> Option<core::ops::Range<u64>> { todo!() }
    /// Checks the 64-byte preamble at the start of `bytes` against entry i, returns the stored bytes (a slice of `bytes`).
    pub fn block_payload(&self, i: usize, bytes: &Bytes) -> Result<Bytes, FormatError> { todo!() }
    /// Memory held, bytes.
    pub fn size(&self) -> usize { todo!() }
}

/// Opens a segment that is wholly in memory: preamble, trailer, index, their agreement; with `verify_hash` also the
/// segment hash over everything before the trailer. Blocks are opened one by one afterwards.
pub fn open_whole(object: &Bytes, verify_hash: bool) -> Result<BlockIndex, FormatError> { todo!() }
