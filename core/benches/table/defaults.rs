//! The tables that the default level and the default block size were chosen by.
use crate::kit::batch::{Batch, Encoding};
use crate::kit::measure::{Clock, pair};
use crate::kit::report::per_second;
use crate::lookup;
use bucketlog_core::format::segment::{BlockCodec, Codec};
use bucketlog_core::writer::WriterOptions;

const LEVELS: std::ops::RangeInclusive<i32> = 1..=9;
const BLOCK_BYTES: [u32; 7] = [64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20];

pub(crate) fn run() {
    let batches = Batch::both();
    levels(&batches);
    blocks(&batches);
}

/// Size and speed of the whole encoding, level by level.
fn levels(batches: &[Batch]) {
    let block_bytes = WriterOptions::DEFAULT_BLOCK_BYTES;
    println!("\nlevels, with blocks of {} KiB: MB stored per batch, and MB/s of one core", block_bytes >> 10);
    println!("| level | {0} MB | {0} MB/s | {1} MB | {1} MB/s |", batches[0].name, batches[1].name);
    println!("|---|---|---|---|---|");
    for level in LEVELS {
        let how = Encoding { codec: Codec::Zstd, level, block_bytes };
        let cells: String = batches.iter().map(|batch| level_cells(batch, how)).collect();
        println!("| {level} |{cells}");
    }
}

fn level_cells(batch: &Batch, how: Encoding) -> String {
    let mut codec = BlockCodec::new();
    let size = batch.encode(&mut codec, how).trailer.total_size;
    let time = pair(Clock::Thread, 1, || (), || batch.encode(&mut codec, how)).ours;
    format!(" {:.2} | {:.0} |", megabytes(size), per_second(batch.raw_len(), time) / 1e6)
}

/// Cost of a cold lookup and size of the whole, block size by block size.
fn blocks(batches: &[Batch]) {
    println!(
        "\nblocks, at level {}: a cold lookup's CPU time, the bytes it reads, and MB stored per batch",
        WriterOptions::DEFAULT_LEVEL
    );
    println!(
        "| KiB | {0} us | {0} KB read | {0} MB | {1} us | {1} KB read | {1} MB |",
        batches[0].name, batches[1].name
    );
    println!("|---|---|---|---|---|---|---|");
    for block_bytes in BLOCK_BYTES {
        let how = Encoding { codec: Codec::Zstd, level: WriterOptions::DEFAULT_LEVEL, block_bytes };
        let cells: String = batches.iter().map(|batch| block_cells(batch, how)).collect();
        println!("| {} |{cells}", block_bytes >> 10);
    }
}

fn block_cells(batch: &Batch, how: Encoding) -> String {
    let lookup = lookup::measure(batch, how);
    format!(
        " {:.0} | {:.0} | {:.2} |",
        lookup.time.ours.as_secs_f64() * 1e6,
        megabytes(lookup.bytes as u64) * 1e3,
        megabytes(lookup.stored as u64)
    )
}

#[expect(clippy::cast_precision_loss, reason = "sizes far below 2^52")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
