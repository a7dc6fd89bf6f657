//! Segments back to records.
use crate::kit::batch::{Batch, Encoding};
use crate::kit::measure::{Clock, pair};
use crate::kit::report::Report;
use bucketlog_core::format::HashAlgo;
use bucketlog_core::format::segment::{BlockCodec, Codec, open_whole};
use bucketlog_core::limits::BLOCK_PREAMBLE_LEN;
use bucketlog_core::writer::WriterOptions;
use bytes::Bytes;
use std::hint::black_box;
use twox_hash::XxHash64;
use zstd::bulk::Decompressor;

const ROUNDS: usize = 15;

pub(crate) fn run(report: &mut Report) {
    for batch in Batch::both() {
        for (codec, floor, least) in [(Codec::Zstd, "zstd decode + XXH64", 0.85), (Codec::None, "XXH64", 0.7)] {
            scan_against(report, &batch, codec, floor, least);
        }
    }
}

fn scan_against(report: &mut Report, batch: &Batch, codec: Codec, floor: &str, least: f64) {
    let how = Encoding { codec, level: WriterOptions::DEFAULT_LEVEL, block_bytes: WriterOptions::DEFAULT_BLOCK_BYTES };
    let object = batch.encode(&mut BlockCodec::new(), how).to_bytes();
    let stored = stored_blocks(&object);
    let mut decompressor = Decompressor::new().expect("memory for a context");
    let mut buffer = Vec::with_capacity(how.block_bytes as usize);
    let decode_and_hash = || {
        for block in &stored {
            black_box(XxHash64::oneshot(0, block));
            if codec == Codec::Zstd {
                buffer.clear();
                decompressor.decompress_to_buffer(block, &mut buffer).expect("a frame");
            }
        }
    };
    let mut blocks = BlockCodec::new();
    let measured = pair(Clock::Thread, ROUNDS, decode_and_hash, || scan(&object, &mut blocks));
    report.speed(&format!("scan {} {} / {floor}", batch.name, codec.name()), batch.raw_len(), measured, least);
}

/// Opens everything, as a reader of a whole object does, and looks at every record.
fn scan(object: &Bytes, codec: &mut BlockCodec) {
    let index = open_whole(object, false).expect("a valid segment");
    for (i, entry) in index.entries.iter().enumerate() {
        let start = usize::try_from(entry.offset).expect("a segment in memory");
        let stored = index.block_payload(i, &object.slice(start..)).expect("a block");
        let offset = entry.offset + BLOCK_PREAMBLE_LEN as u64;
        let block = codec.open(&entry.meta, &stored, index.trailer.codec, HashAlgo::Xxh64, offset);
        for record in block.expect("a valid block").records() {
            black_box((record.lsn, record.timestamp, record.value));
        }
    }
}

fn stored_blocks(object: &Bytes) -> Vec<Bytes> {
    let index = open_whole(object, true).expect("a valid segment");
    let start = |i: usize| usize::try_from(index.entries[i].offset).expect("a segment in memory");
    (0..index.entries.len()).map(|i| index.block_payload(i, &object.slice(start(i)..)).expect("a block")).collect()
}
