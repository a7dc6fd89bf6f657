//! Append to durable, as fast as two cores compress, over a store that discards bodies.
use crate::kit::batch::{Batch, Encoding};
use crate::kit::measure::{Clock, pair};
use crate::kit::report::{Report, Target};
use crate::kit::workers;
use crate::two_workers;
use bucketlog_blocking::Log;
use bucketlog_blocking::store::Memory;
use bucketlog_blocking::writer::{BatchPolicy, TimestampPolicy, Writer, WriterOptions};
use bucketlog_core::format::keys::StreamId;
use bucketlog_core::format::segment::{BlockCodec, Codec};
use bucketlog_core::ids::Partition;
use std::process::Command;
use std::sync::Arc;

/// Argument of the process whose memory is measured.
pub(crate) const CHILD: &str = "--pipeline-alone";
/// Batches per round.
const BATCHES: usize = 4;
const ROUNDS: usize = 5;

pub(crate) fn run(report: &mut Report) {
    let how = Encoding {
        codec: Codec::Zstd,
        level: WriterOptions::DEFAULT_LEVEL,
        block_bytes: WriterOptions::DEFAULT_BLOCK_BYTES,
    };
    for batch in Batch::both() {
        let blocks = batch.blocks(how.block_bytes);
        let mut codecs = [BlockCodec::new(), BlockCodec::new()];
        let mut writer = open();
        for (clock, name) in [(Clock::Wall, "wall"), (Clock::Process, "CPU")] {
            let mut last = None;
            let encode = || {
                for _ in 0..BATCHES {
                    last = Some(workers::encode(&mut codecs, &batch, &blocks, how));
                }
            };
            let measured = pair(clock, ROUNDS, encode, || append(&mut writer, &batch));
            let bytes = BATCHES * batch.raw_len();
            report.speed(&format!("pipeline {} / encode x2, {name}", batch.name), bytes, measured, 0.85);
        }
    }
    let peak = peak_of_a_child();
    report.row("pipeline, peak memory (MiB)", &format!("{peak:.0} MiB"), "", peak, Target::AtMost(350.0));
}

/// The work of [`run`] for one batch, in a process that does nothing else. Prints its peak of memory, in KiB, and what
/// was in use before the pipeline began: the records of the bench itself.
pub(crate) fn run_alone() {
    let batch = Batch::semi1k();
    let mut writer = open();
    for _ in 0..2 {
        append(&mut writer, &batch);
    }
    println!("{}", peak_kib());
}

fn open() -> Writer {
    let store = Memory::discarding(|key| !key.as_str().ends_with(".plseg"));
    let log = Log::open(Arc::new(store), StreamId::new("bench").expect("a valid name"), two_workers());
    // Batches end by their bytes alone, so that both kinds of record make segments of 64 MiB.
    let batch = BatchPolicy { max_records: u32::MAX, ..Default::default() };
    // The same records come again and again.
    let options = WriterOptions { batch, timestamps: TimestampPolicy::Clamp, ..Default::default() };
    log.writer(Partition(0), options).expect("an empty store")
}

fn append(writer: &mut Writer, batch: &Batch) {
    for _ in 0..BATCHES {
        for record in &batch.records {
            writer.append(record.clone()).expect("a valid record");
        }
    }
    writer.flush().expect("a store that works");
}

fn peak_of_a_child() -> f64 {
    let this = std::env::current_exe().expect("the path of the bench");
    let output = Command::new(this).arg(CHILD).output().expect("the bench starts again");
    let kib: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number of KiB");
    kib / 1024.0
}

/// The most memory this process ever held, from the kernel.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells the peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number of KiB")
}
