//! Commits to catalogs, and ways through one, up to a million segments.
use crate::kit::measure::{Clock, Pair, pair};
use crate::kit::report::{Report, Target};
use crate::reader::{Bucket, claimed_head, keys};
use bucketlog_core::format::HashAlgo;
use bucketlog_core::format::catalog::{Head, Page, SealedPage, SegmentEntry, Step};
use bucketlog_core::format::segment::{BlockCodec, Codec};
use bucketlog_core::ids::{Epoch, Lsn, SegmentId, TimestampMs, WriterId};
use bucketlog_core::reader::{Reader, ReaderOptions};
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
        publish.push(measured.slowdown);
    }
    // How long a head is goes up and down with every sealed page; what a byte of it costs must not grow.
    let (least, most) = publish.iter().fold((f64::MAX, 0_f64), |(least, most), x| (least.min(*x), most.max(*x)));
    report.row("catalog publish, dearest byte / cheapest", "", "", most / least, Target::AtMost(1.25));
    let mut paths = Paths::new(&log);
    report.time("catalog lookup in 1M, cold / hashes of its pages", LOOKUPS, paths.cold(), 30.0);
    report.time("catalog lookup in 1M, warm / without a reader", LOOKUPS, paths.warm(), 3.0);
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
}

impl Paths {
    fn new(log: &Log) -> Self {
        let mut bucket = Bucket::default();
        let stride = log.head.next_lsn.0 / u64::from(LOOKUPS);
        let lsns: Vec<Lsn> = (0..u64::from(LOOKUPS)).map(|i| Lsn(i * stride + i)).collect();
        let by_id: BTreeMap<_, _> = log.pages.iter().map(|page| (page.reference.page_id, &page.bytes)).collect();
        let pages = lsns.iter().map(|lsn| {
            let (mut step, mut way) = (log.head.locate(*lsn), Vec::new());
            while let Step::Page(reference) = step {
                let bytes = by_id[&reference.page_id];
                bucket.objects.insert(keys().page(&reference).into(), bytes.clone());
                step = decode(bytes).locate(*lsn);
                way.push(bytes.clone());
            }
            way
        });
        let pages = pages.collect();
        Self { head: log.head.clone(), lsns, pages, bucket }
    }

    /// A reader that keeps no page fetches, decodes and checks every page of every way.
    fn cold(&mut self) -> Pair {
        let mut reader = self.bucket.reader(&self.head, ReaderOptions { page_cache_bytes: 0, ..Default::default() });
        pair(
            Clock::Thread,
            15,
            || self.pages.iter().flatten().for_each(hash_page),
            || {
                find_segments(&mut self.bucket, &mut reader, &self.lsns);
            },
        )
    }

    /// A reader that has them all goes the ways again.
    fn warm(&mut self) -> Pair {
        let decoded: Vec<Vec<Page>> = self.pages.iter().map(|way| way.iter().map(decode).collect()).collect();
        let mut reader = self.bucket.reader(&self.head, ReaderOptions::default());
        let descend = || {
            for (lsn, way) in self.lsns.iter().zip(&decoded) {
                black_box(way.iter().fold(self.head.locate(*lsn), |_, page| page.locate(*lsn)));
            }
        };
        let measured = pair(Clock::Thread, 15, descend, || find_segments(&mut self.bucket, &mut reader, &self.lsns));
        let before = self.bucket.gets;
        find_segments(&mut self.bucket, &mut reader, &self.lsns);
        assert_eq!(self.bucket.gets, before, "all pages fit the cache");
        measured
    }
}

/// Each way ends where the reader asks for the segment, which is not there.
fn find_segments(bucket: &mut Bucket, reader: &mut Reader, lsns: &[Lsn]) {
    let mut codec = BlockCodec::new();
    for lsn in lsns {
        let call = reader.fetch(*lsn);
        assert!(bucket.drive(reader, &mut codec).is_none(), "the segments exist in name only");
        reader.cancel(call);
    }
}

fn decode(page: &Bytes) -> Page {
    Page::decode(page).expect("a valid page")
}

fn hash_page(page: &Bytes) {
    black_box((XxHash64::oneshot(0, page), Sha256::digest(page)));
}
