//! Commits to catalogs, and ways through one, up to a million segments.
use crate::kit::measure::{Clock, Pair, pair, pair_with};
use crate::kit::report::{Report, Target};
use crate::reader::{Bucket, claimed_head, keys};
use bucketlog_core::format::catalog::{Head, Page, SealedPage, SegmentEntry, Step};
use bucketlog_core::format::HashAlgo;
use bucketlog_core::format::segment::{BlockCodec, Codec};
use bucketlog_core::ids::{Epoch, Lsn, SegmentId, TimestampMs, WriterId};
use bucketlog_core::reader::Reader;
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::hint::black_box;
use twox_hash::XxHash64;

const WRITER: WriterId = WriterId([7; 16]);
const RECORDS: u64 = 1000;
const SIZES: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// Commits measured at once: four leaves' worth, so that sealing is in it at its share.
const COMMITS: u32 = 512;
const LOOKUPS: u32 = 256;

pub(crate) fn run(report: &mut Report) {
    let mut log = Log::new();
    let mut publish = Vec::new();
    for size in SIZES {
        log.grow(size);
        let measured = measure_publish(&log.head);
        report.time(&format!("catalog publish at {size} segments / its bytes"), COMMITS, measured, 12.0);
        publish.push(measured.ours.as_secs_f64());
    }
    // A larger catalog has one level more, so a head may hold one more section; beyond that size must not show.
    let (least, most) = publish.iter().fold((f64::MAX, 0_f64), |(least, most), t| (least.min(*t), most.max(*t)));
    report.row("catalog publish, slowest size / fastest size", "", "", most / least, Target::AtMost(1.5));
    let mut paths = Paths::new(&log);
    report.time("catalog lookup in 1M, cold / hashes of its pages", LOOKUPS, paths.measure(true), 30.0);
    report.time("catalog lookup in 1M, warm / without a reader", LOOKUPS, paths.measure(false), 3.0);
}

/// A log of segments that exist in name only.
struct Log {
    head: Head,
    pages: Vec<SealedPage>,
}

impl Log {
    fn new() -> Self {
        Self { head: claimed_head(WRITER), pages: Vec::new() }
    }

    fn grow(&mut self, segments: u64) {
        while self.head.segment_count < segments {
            self.head.append(entry(&self.head), &mut self.pages).expect("a contiguous segment");
        }
    }
}

/// The segment after the last one.
fn entry(head: &Head) -> SegmentEntry {
    let (i, base) = (head.segment_count, head.next_lsn.0);
    let timestamp = i64::try_from(i).expect("few segments");
    SegmentEntry {
        base_lsn: Lsn(base),
        last_lsn: Lsn(base + RECORDS - 1),
        min_timestamp: TimestampMs(timestamp),
        max_timestamp: TimestampMs(timestamp + 1),
        record_count: u32::try_from(RECORDS).expect("few records"),
        block_count: 1,
        size_bytes: 4096,
        block_index_offset: 4096 - 192 - 128,
        block_index_length: 128,
        codec: Codec::Zstd,
        hash: HashAlgo::Xxh64,
        segment_hash: i.wrapping_mul(0x9E37_79B9_7F4A_7C15),
        trailer_hash: !i,
        writer_epoch: Epoch(1),
        segment_id: SegmentId((u128::from(i) + 1).to_be_bytes()),
        writer_tag: WRITER,
    }
}

/// Commits one after the other. The floor copies and hashes the bytes that they make.
fn measure_publish(head: &Head) -> Pair {
    let objects = publish(head.clone());
    let copy_and_hash = || {
        for (page, bytes) in &objects {
            black_box(XxHash64::oneshot(0, &Bytes::copy_from_slice(bytes)));
            if *page {
                black_box(Sha256::digest(bytes));
            }
        }
    };
    pair(Clock::Thread, 15, copy_and_hash, || publish_and_drop(head.clone()))
}

/// As a writer does it: the old head is kept until the new one is in the store.
fn commit(head: &mut Head, pages: &mut Vec<SealedPage>) -> Bytes {
    let mut next = head.clone();
    next.append(entry(head), pages).expect("a contiguous segment");
    let bytes = next.encode();
    *head = next;
    bytes
}

fn publish_and_drop(mut head: Head) -> Head {
    for _ in 0..COMMITS {
        let mut pages = Vec::new();
        black_box(commit(&mut head, &mut pages));
        black_box(pages);
    }
    head
}

/// The objects of those commits, and whether each is a page.
fn publish(mut head: Head) -> Vec<(bool, Bytes)> {
    let mut objects = Vec::new();
    for _ in 0..COMMITS {
        let mut pages = Vec::new();
        let bytes = commit(&mut head, &mut pages);
        objects.extend(pages.into_iter().map(|page| (true, page.bytes)));
        objects.push((false, bytes));
    }
    objects
}

/// Ways from the head to segments all over the log.
struct Paths {
    head: Head,
    lsns: Vec<Lsn>,
    /// The pages of each way, from the head down.
    pages: Vec<Vec<Bytes>>,
    bucket: Bucket,
    /// Knows the head only.
    reader: Reader,
    codec: BlockCodec,
}

impl Paths {
    fn new(log: &Log) -> Self {
        let mut bucket = Bucket::default();
        for page in &log.pages {
            bucket.objects.insert(keys().page(&page.reference).into(), page.bytes.clone());
        }
        let reader = bucket.reader(&log.head);
        let stride = log.head.next_lsn.0 / u64::from(LOOKUPS);
        let lsns: Vec<Lsn> = (0..u64::from(LOOKUPS)).map(|i| Lsn(i * stride + i)).collect();
        let by_id: BTreeMap<_, _> = log.pages.iter().map(|page| (page.reference.page_id, &page.bytes)).collect();
        let pages = lsns.iter().map(|lsn| {
            let (mut step, mut way) = (log.head.locate(*lsn), Vec::new());
            while let Step::Page(reference) = step {
                let bytes = by_id[&reference.page_id];
                step = Page::decode(bytes).expect("a valid page").locate(*lsn);
                way.push(bytes.clone());
            }
            way
        });
        let pages = pages.collect();
        Self { head: log.head.clone(), lsns, pages, bucket, reader, codec: BlockCodec::new() }
    }

    /// Time until a reader asks for the segment: with every page fetched, decoded and checked, or all in its cache.
    fn measure(&mut self, cold: bool) -> Pair {
        let decoded: Vec<Vec<Page>> = self.pages.iter().map(|way| way.iter().map(|page| decode(page)).collect()).collect();
        pair_with(15, || {
            let mut readers: Vec<Reader> = self.lsns.iter().map(|_| self.reader.clone()).collect();
            if !cold {
                for (reader, lsn) in readers.iter_mut().zip(&self.lsns) {
                    find_segment(&mut self.bucket, reader, &mut self.codec, *lsn);
                }
            }
            let floor = Clock::Thread.time(|| match cold {
                true => self.pages.iter().flatten().for_each(|page| hash_page(page)),
                false => self.lsns.iter().zip(&decoded).for_each(|(lsn, way)| descend(&self.head, *lsn, way)),
            });
            let ours = Clock::Thread.time(|| {
                for (reader, lsn) in readers.iter_mut().zip(&self.lsns) {
                    find_segment(&mut self.bucket, reader, &mut self.codec, *lsn);
                }
            });
            (floor, ours)
        })
    }
}

/// Ends where the reader asks for the segment, which is not there.
fn find_segment(bucket: &mut Bucket, reader: &mut Reader, codec: &mut BlockCodec, lsn: Lsn) {
    let call = reader.fetch(lsn);
    assert!(bucket.drive(reader, codec).is_none(), "the segments exist in name only");
    reader.cancel(call);
}

fn decode(page: &Bytes) -> Page {
    Page::decode(page).expect("a valid page")
}

fn hash_page(page: &Bytes) {
    black_box((XxHash64::oneshot(0, page), Sha256::digest(page)));
}

fn descend(head: &Head, lsn: Lsn, way: &[Page]) {
    black_box(way.iter().fold(head.locate(lsn), |_, page| page.locate(lsn)));
}
