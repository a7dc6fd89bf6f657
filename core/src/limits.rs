//! Every bound of the formats, with its unit. Numbers are those of the objlog formats document.

// ---- catalog (objlog formats 2 and 3) ----

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
pub const INDEX_ENTRY_LEN: usize = 80;
/// Bytes of the smallest head: header, last segment, trailer (formats 2.5).
pub const MIN_HEAD_LEN: usize = HEAD_HEADER_LEN + LEAF_ENTRY_LEN + CATALOG_TRAILER_LEN;
/// Bytes of the largest page: a leaf with [`MAX_PAGE_ENTRIES`] segments.
pub const MAX_PAGE_LEN: usize = PAGE_HEADER_LEN + MAX_PAGE_ENTRIES as usize * LEAF_ENTRY_LEN + CATALOG_TRAILER_LEN;
/// Bytes of the largest head: every open node one entry short of being sealed (formats 7, "Sizes").
pub const MAX_HEAD_LEN: usize = MIN_HEAD_LEN
    + (MAX_PAGE_ENTRIES as usize - 1) * LEAF_ENTRY_LEN
    + MAX_SECTIONS as usize * (SECTION_HEADER_LEN + (MAX_PAGE_ENTRIES as usize - 1) * INDEX_ENTRY_LEN);

/// Bytes of the longest canonical stream id (formats 3).
pub const MAX_STREAM_ID_LEN: usize = 512;

const _: () = {
    assert!(MIN_HEAD_LEN == 352);
    assert!(PAGE_HEADER_LEN + DEFAULT_LEAF_LIMIT as usize * LEAF_ENTRY_LEN + CATALOG_TRAILER_LEN == 16_544);
    assert!(PAGE_HEADER_LEN + DEFAULT_INDEX_LIMIT as usize * INDEX_ENTRY_LEN + CATALOG_TRAILER_LEN == 10_400);
};
