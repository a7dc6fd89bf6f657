//! Every bound of the formats, with its unit and the section of "objlog byte formats" that sets it.

// ---- segformat v2 -------------------------------------------------------------------------------------------------

/// Length of a segment's first region, bytes (1.1).
pub const FILE_PREAMBLE_LEN: usize = 64;
/// Length of the preamble before each block's stored bytes, bytes (1.2).
pub const BLOCK_PREAMBLE_LEN: usize = 64;
/// Length of the preamble before the block index's entries, bytes (1.4).
pub const INDEX_PREAMBLE_LEN: usize = 64;
/// Length of one entry of the block index, bytes (1.5).
pub const INDEX_ENTRY_LEN: usize = 64;
/// Length of a segment's last region, bytes (1.6).
pub const TRAILER_LEN: usize = 192;
/// Length of the smallest legal segment, bytes (1).
pub const MIN_SEGMENT_LEN: usize = 464;

/// Length of a record without its headers and value, bytes (1.3).
pub const RECORD_FIXED_LEN: usize = 16;
/// The smallest record, bytes: bounds the record count of a block (1.2).
pub const MIN_RECORD_SIZE: u32 = 16;
/// Longest value of a record, bytes (1.3).
pub const MAX_VALUE_LEN: usize = 4 << 20;
/// Longest encoded headers of a record, bytes; includes the count and every header's two lengths (1.3).
pub const MAX_HEADERS_LEN: usize = 256 << 10;
/// Length of the header count, bytes (1.3).
pub const HEADER_COUNT_LEN: usize = 2;
/// Length of the two lengths before each header, bytes (1.3).
pub const HEADER_FIXED_LEN: usize = 4;
/// Most headers of a record (1.3).
pub const MAX_HEADERS: usize = 64;
/// Longest key of a header, bytes; the shortest has 1 (1.3).
pub const MAX_HEADER_KEY_LEN: usize = 1024;
/// Longest value of a header, bytes (1.3).
pub const MAX_HEADER_VALUE_LEN: usize = 65_535;
/// Longest encoded record, bytes (1.3).
pub const MAX_RECORD_LEN: usize = RECORD_FIXED_LEN + MAX_HEADERS_LEN + MAX_VALUE_LEN;

/// Largest uncompressed block, bytes; the smallest has 1 (1.2).
pub const MAX_BLOCK_RAW_SIZE: u32 = 16 << 20;
/// Largest stored block, bytes; the smallest has 1 (1.2).
pub const MAX_BLOCK_STORED_SIZE: u32 = 20 << 20;
/// Most blocks of a segment: an index of more would not fit its 32-bit length (1.4).
pub const MAX_BLOCK_COUNT: u32 = 67_108_862;
/// Smallest offset of the block index, bytes (1.6).
pub const MIN_BLOCK_INDEX_OFFSET: u64 = 128;

/// Lowest zstd level a writer may ask for.
pub const MIN_ZSTD_LEVEL: i32 = 1;
/// Highest zstd level a writer may ask for: higher ones use windows above the 8 MiB every reader accepts (1.8).
pub const MAX_ZSTD_LEVEL: i32 = 19;
/// Stored blocks of at least this many bytes become pieces of their own, without a copy; smaller ones are merged.
pub const MIN_SHARED_PIECE_LEN: usize = 64 << 10;

const _: () = assert!(MIN_RECORD_SIZE as usize == RECORD_FIXED_LEN);
const _: () = assert!(MAX_RECORD_LEN < MAX_BLOCK_RAW_SIZE as usize, "every valid record fits a block");
const _: () = assert!(
    MIN_SEGMENT_LEN
        == FILE_PREAMBLE_LEN
            + BLOCK_PREAMBLE_LEN
            + RECORD_FIXED_LEN
            + INDEX_PREAMBLE_LEN
            + INDEX_ENTRY_LEN
            + TRAILER_LEN
);
const _: () = assert!(MAX_BLOCK_COUNT as u64 == (u32::MAX as u64 - INDEX_PREAMBLE_LEN as u64) / INDEX_ENTRY_LEN as u64);
const _: () = assert!(MIN_BLOCK_INDEX_OFFSET == (FILE_PREAMBLE_LEN + BLOCK_PREAMBLE_LEN) as u64);
const _: () = assert!(MAX_HEADER_VALUE_LEN == u16::MAX as usize);

// ---- catformat v1 and keys -----------------------------------------------------------------------------------------

/// Most entries of one leaf or index page; also the highest fan-out a head may name (formats 2).
pub const MAX_PAGE_ENTRIES: u32 = 1024;
/// Lowest leaf fan-out: segments per leaf page (formats 2.5).
pub const MIN_LEAF_LIMIT: u32 = 1;
/// Lowest index fan-out: with 1 a section would be full before it holds anything to join (formats 2.5).
pub const MIN_INDEX_LIMIT: u32 = 2;
/// Segments per leaf page of a new catalog (formats 2.5).
pub const DEFAULT_LEAF_LIMIT: u32 = 128;
/// References per index page of a new catalog (formats 2.5).
pub const DEFAULT_INDEX_LIMIT: u32 = 128;
/// Highest level of a sealed page (formats 2).
pub const MAX_PAGE_LEVEL: u8 = 63;
/// Most sections of a head; the last one, level 64, only ever exists open (formats 2 and 9.9).
pub const MAX_SECTIONS: u8 = 64;

/// Bytes of a head's fixed header (formats 2.5).
pub const HEAD_HEADER_LEN: usize = 192;
/// Bytes of a page's fixed header (formats 2.4).
pub const PAGE_HEADER_LEN: usize = 128;
/// Bytes before each section's references in a head (formats 2.5).
pub const SECTION_HEADER_LEN: usize = 16;
/// Bytes that close every catalog object (formats 2.1).
pub const CATALOG_TRAILER_LEN: usize = 32;
/// Bytes of one segment's entry (formats 2.2).
pub const LEAF_ENTRY_LEN: usize = 128;
/// Bytes of one reference to a page (formats 2.3).
pub const PAGE_REF_LEN: usize = 80;
/// Bytes of the smallest head: header, last segment, trailer (formats 2.5).
pub const MIN_HEAD_LEN: usize = HEAD_HEADER_LEN + LEAF_ENTRY_LEN + CATALOG_TRAILER_LEN;
/// Bytes of the largest page: a leaf with [`MAX_PAGE_ENTRIES`] segments.
pub const MAX_PAGE_LEN: usize = PAGE_HEADER_LEN + MAX_PAGE_ENTRIES as usize * LEAF_ENTRY_LEN + CATALOG_TRAILER_LEN;
/// Bytes of the largest head: every open node one entry short of being sealed (formats 7, "Sizes").
pub const MAX_HEAD_LEN: usize = MIN_HEAD_LEN
    + (MAX_PAGE_ENTRIES as usize - 1) * LEAF_ENTRY_LEN
    + MAX_SECTIONS as usize * (SECTION_HEADER_LEN + (MAX_PAGE_ENTRIES as usize - 1) * PAGE_REF_LEN);

/// Bytes of the longest canonical stream id (formats 3).
pub const MAX_STREAM_ID_LEN: usize = 512;

const _: () = {
    assert!(MIN_HEAD_LEN == 352);
    assert!(PAGE_HEADER_LEN + DEFAULT_LEAF_LIMIT as usize * LEAF_ENTRY_LEN + CATALOG_TRAILER_LEN == 16_544);
    assert!(PAGE_HEADER_LEN + DEFAULT_INDEX_LIMIT as usize * PAGE_REF_LEN + CATALOG_TRAILER_LEN == 10_400);
};
