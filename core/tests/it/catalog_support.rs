//! What the catalog's tests share: golden files, synthetic segments, a store of pages, the way down the tree.
use bucketlog_core::format::HashAlgo;
use bucketlog_core::format::catalog::{
    CatalogLayout, Head, LogIdentity, Page, PageEntries, PageRef, SealedPage, SegmentEntry, Step, Trim, TrimError, trim,
};
use bucketlog_core::format::segment::Codec;
use bucketlog_core::ids::{DataRootKey, Epoch, Lsn, PageId, Partition, SegmentId, StreamKey, TimestampMs, WriterId};
use bytes::Bytes;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) const IDENTITY: LogIdentity =
    LogIdentity { partition: Partition(7), stream_key: StreamKey([0xa1; 32]), data_root_key: DataRootKey([0xc1; 32]) };
pub(crate) const WRITER: WriterId = WriterId([0xb1; 16]);

/// The folder of objlog's golden data, or `None` where the shared material is absent.
pub(crate) fn golden() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/golden/objlog");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: ../shared/golden is absent");
    None
}

pub(crate) fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&read(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The elements of an array; none for `null` or a missing field.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("text expected: {value}"))
}

/// A decimal string or a plain number.
pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| text(value).parse().expect("decimal digits"))
}

pub(crate) fn hash(value: &Value) -> HashAlgo {
    match text(value) {
        "crc32c" => HashAlgo::Crc32c,
        "xxh64" => HashAlgo::Xxh64,
        other => panic!("hash {other}"),
    }
}

pub(crate) fn unhex<const N: usize>(hex: &str) -> [u8; N] {
    let bytes: Vec<u8> = (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect();
    bytes.try_into().expect("the right number of digits")
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Segment `i` of the golden histories, as the golden README defines it, continuing `head`.
pub(crate) fn synthetic(i: u64, head: &Head) -> SegmentEntry {
    let mix = |salt: u64| {
        let state = i.wrapping_mul(0x1_0000_0001).wrapping_add(salt).wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    let small = |value: u64| u32::try_from(value).unwrap();
    let records = 1 + (7 * i) % 5;
    let blocks = (1 + i % 3).min(records);
    let hash = if (i / 2).is_multiple_of(2) { HashAlgo::Crc32c } else { HashAlgo::Xxh64 };
    let cut = |value: u64| if hash == HashAlgo::Crc32c { value & 0xffff_ffff } else { value };
    let index_length = 64 + 64 * blocks;
    let min_timestamp = 1_776_263_000_000 + 10 * i64::try_from(i).unwrap();
    let mut id = [0; 16];
    id[..8].copy_from_slice(&mix(11).to_be_bytes());
    id[8..].copy_from_slice(&mix(12).to_be_bytes());
    SegmentEntry {
        base_lsn: head.next_lsn,
        last_lsn: Lsn(head.next_lsn.0 + records - 1),
        min_timestamp: TimestampMs(min_timestamp),
        max_timestamp: TimestampMs(min_timestamp + i64::try_from(i % 11).unwrap()),
        record_count: small(records),
        block_count: small(blocks),
        size_bytes: 100_000 + i,
        block_index_offset: 100_000 + i - 192 - index_length,
        block_index_length: small(index_length),
        codec: if i.is_multiple_of(2) { Codec::None } else { Codec::Zstd },
        hash,
        segment_hash: cut(mix(13)),
        trailer_hash: cut(mix(14)),
        writer_epoch: head.writer_epoch,
        segment_id: SegmentId(id),
        writer_tag: head.writer_id,
    }
}

/// A plain segment of `records` records that continues `head`, `pause` ms after its last record, over `length` ms.
pub(crate) fn next_segment(head: &Head, records: u32, pause: u32, length: u32) -> SegmentEntry {
    let last = head.last_segment.map_or(TimestampMs(0), |last| last.max_timestamp);
    let min_timestamp = TimestampMs(last.0.saturating_add(i64::from(pause)));
    SegmentEntry {
        base_lsn: head.next_lsn,
        last_lsn: Lsn(head.next_lsn.0.saturating_add(u64::from(records) - 1)),
        min_timestamp,
        max_timestamp: TimestampMs(min_timestamp.0.saturating_add(i64::from(length))),
        record_count: records,
        block_count: 1,
        size_bytes: 4096,
        block_index_offset: 2048,
        block_index_length: 128,
        codec: Codec::Zstd,
        hash: HashAlgo::Xxh64,
        segment_hash: head.segment_count,
        trailer_hash: !head.segment_count,
        writer_epoch: head.writer_epoch,
        segment_id: SegmentId([0x5e; 16]),
        writer_tag: head.writer_id,
    }
}

/// A claimed, empty head at LSN 0.
pub(crate) fn claimed(hash: HashAlgo, leaf_limit: u32, index_limit: u32) -> Head {
    let layout = CatalogLayout { hash, leaf_limit, index_limit };
    Head::initial(IDENTITY, layout, Lsn(0)).takeover(WRITER).expect("a fresh head can be claimed")
}

/// The stored pages of one log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store(BTreeMap<PageId, Bytes>);

impl Store {
    pub(crate) fn put(&mut self, pages: &[SealedPage]) {
        self.0.extend(pages.iter().map(|page| (page.reference.page_id, page.bytes.clone())));
    }

    pub(crate) fn bytes(&self, reference: &PageRef) -> &Bytes {
        self.0.get(&reference.page_id).expect("a referenced page is stored")
    }

    pub(crate) fn fetch(&self, reference: &PageRef, parent_epoch: Epoch, identity: &LogIdentity) -> Page {
        let page = Page::decode(self.bytes(reference)).expect("a stored page is valid");
        page.check(reference, parent_epoch, identity).expect("a stored page is the one its parent means");
        page
    }

    /// Descends to a segment; also the number of pages read.
    pub(crate) fn follow(&self, head: &Head, start: Step, down: impl Fn(&Page) -> Step) -> (Option<SegmentEntry>, u64) {
        let (mut step, mut epoch, mut gets) = (start, head.writer_epoch, 0);
        loop {
            match step {
                Step::Segment(segment) => return (Some(segment), gets),
                Step::Missing => return (None, gets),
                Step::Page(reference) => {
                    let page = self.fetch(&reference, epoch, &head.identity);
                    gets += 1;
                    epoch = page.writer_epoch;
                    step = down(&page);
                }
            }
        }
    }

    pub(crate) fn locate(&self, head: &Head, lsn: Lsn) -> (Option<SegmentEntry>, u64) {
        self.follow(head, head.locate(lsn), |page| page.locate(lsn))
    }

    pub(crate) fn locate_timestamp(&self, head: &Head, timestamp: TimestampMs) -> (Option<SegmentEntry>, u64) {
        self.follow(head, head.locate_timestamp(timestamp), |page| page.locate_timestamp(timestamp))
    }

    /// Every reachable segment, in order, each page on the way checked.
    pub(crate) fn segments(&self, head: &Head) -> Vec<SegmentEntry> {
        let mut found = Vec::new();
        for root in head.sections.iter().rev().flatten() {
            self.collect(root, head.writer_epoch, &head.identity, &mut found);
        }
        found.extend_from_slice(&head.active);
        found
    }

    fn collect(&self, reference: &PageRef, epoch: Epoch, identity: &LogIdentity, found: &mut Vec<SegmentEntry>) {
        let page = self.fetch(reference, epoch, identity);
        match &page.entries {
            PageEntries::Leaf(segments) => found.extend_from_slice(segments),
            PageEntries::Index(children) => {
                children.iter().for_each(|child| self.collect(child, page.writer_epoch, identity, found));
            }
        }
    }

    /// Trims as a driver would: loads each page that is asked for, at most one per level.
    pub(crate) fn trim(&self, head: &Head, version: u64, before: Lsn) -> Result<Trim, TrimError> {
        let mut known = BTreeMap::<PageId, Arc<Page>>::new();
        for _ in 0..=64 {
            match trim(head, version, before, &|reference| known.get(&reference.page_id).cloned())? {
                Trim::NeedPage(reference) => {
                    let page = Page::decode(self.bytes(&reference)).expect("a stored page is valid");
                    assert!(known.insert(reference.page_id, Arc::new(page)).is_none(), "asked twice for {reference:?}");
                }
                settled => return Ok(settled),
            }
        }
        panic!("more pages asked for than there are levels");
    }
}

/// Recomputes both hashes of a damaged object, so that only the rules can object. The hash id says which.
pub(crate) fn rehash(object: &mut [u8]) {
    let id_at = if object.starts_with(b"PLCH") { 16 } else { 18 };
    let hash = HashAlgo::from_id(u16::from_be_bytes([object[id_at], object[id_at + 1]])).unwrap_or_default();
    let body_len = object.len() - 32;
    let (body, trailer) = object.split_at_mut(body_len);
    trailer[8..16].copy_from_slice(&hash.hash(body).to_be_bytes());
    trailer[16..24].fill(0);
    let trailer_hash = hash.hash(trailer);
    trailer[16..24].copy_from_slice(&trailer_hash.to_be_bytes());
}

/// Nine two-record segments at fan-out 2/3: one active, one leaf, one index page of three leaves; and those pages.
pub(crate) fn sample() -> (Head, Vec<SealedPage>) {
    let (mut head, mut pages) = (claimed(HashAlgo::Xxh64, 2, 3), Vec::new());
    for _ in 0..9 {
        head.append(next_segment(&head, 2, 1, 1), &mut pages).unwrap();
    }
    (head, pages)
}
