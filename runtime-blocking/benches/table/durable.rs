//! Small records, each awaited until it is durable, in the memory store.
use crate::kit::measure::{Clock, Pair, pair};
use crate::kit::report::{Report, Target, per_second};
use crate::two_workers;
use bucketlog_blocking::Log;
use bucketlog_blocking::store::Memory;
use bucketlog_blocking::writer::{DurabilityFuture, Writer, WriterOptions};
use bucketlog_core::format::HashAlgo;
use bucketlog_core::format::keys::StreamId;
use bucketlog_core::format::segment::{Codec, Record};
use bucketlog_core::ids::{Partition, TimestampMs};
use bucketlog_fixtures::pbgen::json200;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::hint::black_box;
use std::sync::Arc;

const ALONE: usize = 20_000;
const TOGETHER: usize = 400_000;
const IN_FLIGHT: usize = 1024;
const ROUNDS: usize = 7;

pub(crate) fn run(report: &mut Report) {
    let values: Vec<Bytes> = json200().take(IN_FLIGHT).map(Bytes::from).collect();
    one_caller(report, &values);
    many_futures(report, &values);
}

fn open() -> Writer {
    let log = Log::open(Arc::new(Memory::discarding(|key| !key.as_str().ends_with(".plseg"))), stream(), two_workers());
    let options = WriterOptions { codec: Codec::None, ..Default::default() };
    log.writer(Partition(0), options).expect("an empty store")
}

fn stream() -> StreamId {
    StreamId::new("bench").expect("a valid name")
}

fn records(values: &[Bytes], count: usize) -> impl Iterator<Item = Record> {
    values.iter().cycle().take(count).map(|value| Record::new(TimestampMs(0), value.clone()))
}

/// The floor: copying and hashing each record.
fn copy_and_hash(values: &[Bytes], count: usize) {
    for record in records(values, count) {
        black_box(HashAlgo::Xxh64.hash(&Bytes::copy_from_slice(&record.value)));
    }
}

fn one_caller(report: &mut Report, values: &[Bytes]) {
    let mut writer = open();
    for (clock, name) in [(Clock::Wall, "wall"), (Clock::Process, "CPU")] {
        let measured = pair(
            clock,
            ROUNDS,
            || copy_and_hash(values, ALONE),
            || {
                for record in records(values, ALONE) {
                    writer.append_durable(record).expect("a store that works");
                }
            },
        );
        rate(report, &format!("durable, one blocking caller, {name} (/s)"), ALONE, measured, 60_000.0);
    }
}

fn many_futures(report: &mut Report, values: &[Bytes]) {
    let mut writer = open();
    for (clock, name) in [(Clock::Wall, "wall"), (Clock::Process, "CPU")] {
        let measured = pair(
            clock,
            ROUNDS,
            || copy_and_hash(values, TOGETHER),
            || {
                pollster::block_on(keep_in_flight(&mut writer, values));
            },
        );
        rate(report, &format!("durable, {IN_FLIGHT} futures, {name} (/s)"), TOGETHER, measured, 1_000_000.0);
    }
}

/// Whenever some of the futures are done, as many new records are appended.
async fn keep_in_flight(writer: &mut Writer, values: &[Bytes]) {
    let mut waiting = FuturesUnordered::<DurabilityFuture>::new();
    for record in records(values, TOGETHER) {
        if waiting.len() == IN_FLIGHT {
            waiting.next().await.expect("futures wait").expect("a store that works");
        }
        let appended = writer.append_async(record).await.expect("a valid record");
        waiting.push(appended.durability.into_future());
    }
    while let Some(result) = waiting.next().await {
        result.expect("a store that works");
    }
}

fn rate(report: &mut Report, figure: &str, count: usize, measured: Pair, least: f64) {
    let (ours, floor) = (per_second(count, measured.ours), per_second(count, measured.floor));
    report.row(figure, &format!("{ours:.0}/s"), &format!("{floor:.0}/s"), ours, Target::AtLeast(least));
}
