//! One record of a large segment, nothing but the head known.
use crate::kit::batch::{Batch, Encoding};
use crate::kit::measure::{Clock, Pair, pair_with};
use crate::kit::report::{Report, Target};
use crate::reader::{Bucket, claimed_head, keys};
use bucketlog_core::format::catalog::{Head, SegmentEntry};
use bucketlog_core::format::segment::{BlockCodec, BlockIndex, Codec, open_whole};
use bucketlog_core::ids::{Epoch, Lsn};
use bucketlog_core::reader::{Answer, Reader, ReaderEvent, ReaderOptions};
use bucketlog_core::writer::WriterOptions;
use bytes::Bytes;
use std::hint::black_box;
use std::time::Duration;
use twox_hash::XxHash64;
use zstd::bulk::Decompressor;

const ROUNDS: usize = 301;

pub(crate) fn run(report: &mut Report) {
    for batch in Batch::both() {
        for codec in [Codec::Zstd, Codec::None] {
            let how = Encoding {
                codec,
                level: WriterOptions::DEFAULT_LEVEL,
                block_bytes: WriterOptions::DEFAULT_BLOCK_BYTES,
            };
            let Lookup { time, reads, .. } = measure(&batch, how);
            let figure = format!("lookup {} {}", batch.name, codec.name());
            if codec == Codec::Zstd {
                report.slowdown(&format!("{figure} / decode + hash of the block"), 1, time, 1.2);
            }
            report.row(&format!("{figure}, reads"), "", "", f64::from(reads), Target::AtMost(2.0));
        }
    }
}

/// What one cold lookup costs.
pub(crate) struct Lookup {
    pub(crate) time: Pair,
    pub(crate) reads: u32,
    pub(crate) bytes: usize,
    /// Bytes of the segment.
    pub(crate) stored: usize,
}

/// Medians over records all over the segment.
pub(crate) fn measure(batch: &Batch, how: Encoding) -> Lookup {
    let segment = batch.encode(&mut BlockCodec::new(), how);
    let object = segment.to_bytes();
    let index = open_whole(&object, true).expect("a valid segment");
    let mut head = claimed_head(segment.trailer.writer_tag);
    let entry = SegmentEntry::from_trailer(&segment.trailer, Epoch(1));
    head.append(entry, &mut Vec::new()).expect("the first segment");
    let mut cold = Cold::new(&head, entry, object.clone());
    let mut floor = Floor::new(index, object);
    let stride = batch.records.len() as u64 * 382 / 1000;
    let mut lsn = Lsn(0);
    let time = pair_with(ROUNDS, || {
        lsn = Lsn((lsn.0 + stride) % batch.records.len() as u64);
        (floor.time(lsn), cold.time(lsn))
    });
    let Bucket { gets, bytes, objects } = cold.bucket;
    let lookups = ROUNDS + 1;
    let reads = gets.div_ceil(u32::try_from(lookups).expect("few rounds"));
    let stored = objects.values().map(Bytes::len).max().unwrap_or_default();
    Lookup { time, reads, bytes: bytes / lookups, stored }
}

struct Cold {
    bucket: Bucket,
    reader: Reader,
    codec: BlockCodec,
}

impl Cold {
    fn new(head: &Head, entry: SegmentEntry, object: Bytes) -> Self {
        let mut bucket = Bucket::default();
        let reader = bucket.reader(head, ReaderOptions::default());
        let key = keys().segment(entry.base_lsn, entry.writer_epoch, &entry.segment_id);
        bucket.objects.insert(key.into(), object);
        Self { bucket, reader, codec: BlockCodec::new() }
    }

    /// Through a whole reader, which is new every time.
    fn time(&mut self, lsn: Lsn) -> Duration {
        let mut reader = self.reader.clone();
        Clock::Thread.time(|| {
            reader.fetch(lsn);
            match self.bucket.drive(&mut reader, &mut self.codec) {
                Some(ReaderEvent::Done { result: Ok(Answer::Record(record)), .. }) => record,
                other => panic!("record {lsn} was not found: {other:?}"),
            }
        })
    }
}

struct Floor {
    index: BlockIndex,
    object: Bytes,
    decompressor: Decompressor<'static>,
    buffer: Vec<u8>,
}

impl Floor {
    fn new(index: BlockIndex, object: Bytes) -> Self {
        let largest = index.entries.iter().map(|entry| entry.meta.raw_size).max().unwrap_or_default();
        let decompressor = Decompressor::new().expect("memory for a context");
        Self { index, object, decompressor, buffer: Vec::with_capacity(largest as usize) }
    }

    fn time(&mut self, lsn: Lsn) -> Duration {
        let block = self.index.block_of(lsn).expect("a record of the segment");
        let start = usize::try_from(self.index.entries[block].offset).expect("a segment in memory");
        let stored = self.index.block_payload(block, &self.object.slice(start..)).expect("a block");
        let compressed = self.index.trailer.codec == Codec::Zstd;
        Clock::Thread.time(|| {
            black_box(XxHash64::oneshot(0, &stored));
            if compressed {
                self.buffer.clear();
                self.decompressor.decompress_to_buffer(&stored, &mut self.buffer).expect("a frame");
            }
        })
    }
}
