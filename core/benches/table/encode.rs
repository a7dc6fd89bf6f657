//! Records to segments. Each lives until the next one is complete, as in a writer whose uploads overlap.
use crate::kit::batch::{Batch, Encoding};
use crate::kit::measure::{Clock, pair};
use crate::kit::report::Report;
use crate::kit::workers;
use bucketlog_core::format::segment::{BlockCodec, Codec, RawBlock};
use bucketlog_core::writer::WriterOptions;
use std::hint::black_box;
use twox_hash::XxHash64;
use zstd::bulk::Compressor;

const ROUNDS: usize = 9;

pub(crate) fn run(report: &mut Report) {
    for batch in Batch::both() {
        one_core(report, &batch);
        two_workers(report, &batch);
        uncompressed(report, &batch);
    }
}

/// What a writer does by default, with this codec.
fn defaults(codec: Codec) -> Encoding {
    Encoding { codec, level: WriterOptions::DEFAULT_LEVEL, block_bytes: WriterOptions::DEFAULT_BLOCK_BYTES }
}

fn libzstd(level: i32, blocks: &[RawBlock]) -> (Compressor<'static>, Vec<u8>) {
    let largest = blocks.iter().map(|block| block.bytes.len()).max().unwrap_or_default();
    let buffer = Vec::with_capacity(zstd::zstd_safe::compress_bound(largest));
    (Compressor::new(level).expect("a legal level"), buffer)
}

fn one_core(report: &mut Report, batch: &Batch) {
    let how = defaults(Codec::Zstd);
    let blocks = batch.raw_blocks(how.block_bytes);
    let (mut compressor, mut buffer) = libzstd(how.level, &blocks);
    let compress = || {
        for block in &blocks {
            buffer.clear();
            compressor.compress_to_buffer(&block.bytes, &mut buffer).expect("room for the bound");
        }
    };
    let (mut codec, mut last) = (BlockCodec::new(), None);
    let measured = pair(Clock::Thread, ROUNDS, compress, || last.replace(batch.encode(&mut codec, how)));
    report.speed(&format!("encode {} zstd / libzstd", batch.name), batch.raw_len(), measured, 0.9);
}

fn two_workers(report: &mut Report, batch: &Batch) {
    let how = defaults(Codec::Zstd);
    let (ranges, blocks) = (batch.blocks(how.block_bytes), batch.raw_blocks(how.block_bytes));
    let mut floors = [libzstd(how.level, &blocks), libzstd(how.level, &blocks)];
    let mut codecs = [BlockCodec::new(), BlockCodec::new()];
    for (clock, name) in [(Clock::Wall, "wall"), (Clock::Process, "CPU")] {
        let compress = || workers::compress(&mut floors, &blocks);
        let mut last = None;
        let encode = || last.replace(workers::encode(&mut codecs, batch, &ranges, how));
        let measured = pair(clock, ROUNDS, compress, encode);
        let figure = format!("encode {} zstd x2 / 2 libzstd, {name}", batch.name);
        report.speed(&figure, batch.raw_len(), measured, 0.9);
    }
}

fn uncompressed(report: &mut Report, batch: &Batch) {
    let how = defaults(Codec::None);
    let blocks = batch.raw_blocks(how.block_bytes);
    let mut copy = vec![0; batch.raw_len()];
    let copy_and_hash = || {
        let mut rest = &mut copy[..];
        for block in &blocks {
            let (to, next) = rest.split_at_mut(block.bytes.len());
            to.copy_from_slice(&block.bytes);
            black_box(XxHash64::oneshot(0, to));
            rest = next;
        }
    };
    let (mut codec, mut last) = (BlockCodec::new(), None);
    let measured = pair(Clock::Thread, ROUNDS, copy_and_hash, || last.replace(batch.encode(&mut codec, how)));
    report.speed(&format!("encode {} none / memcpy + XXH64", batch.name), batch.raw_len(), measured, 0.5);
}
