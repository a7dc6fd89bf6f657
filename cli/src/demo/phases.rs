//! The phases of the demo.
use super::{PARTITION, Stage};
use crate::append::claim_failed;
use crate::failure::Failure;
use crate::show::{Bytes, align_right, table, time};
use bucketlog_blocking::Writer;
use bucketlog_blocking::reader::{Freshness, ReadLimit};
use bucketlog_blocking::store::Store;
use bucketlog_blocking::writer::WriterOptions;
use bucketlog_core::boundary::{Key, List, ObjectMeta};
use bucketlog_core::format::catalog::SegmentEntry;
use bucketlog_core::format::keys::ObjectName;
use bucketlog_core::format::segment::Record;
use bucketlog_core::ids::{Lsn, TimestampMs};
use std::fmt::Display;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Records of the first phase.
const ORDERS: u64 = 1_000;
/// Timestamp of the first record: 2026-01-01T08:00:00Z.
const OPENING: i64 = 1_767_254_400_000;
/// Milliseconds between two records.
const PACE: i64 = 250;
/// How long a listing of the store may take.
const PATIENCE: Duration = Duration::from_secs(10);

fn order(number: u64) -> Record {
    let at = TimestampMs(OPENING + PACE * i64::try_from(number).unwrap_or(i64::MAX / PACE / 2));
    let value = format!(r#"{{"order":{number},"item":"{}"}}"#, ["tea", "bread", "soap", "ink"][(number % 4) as usize]);
    Record::new(at, value).with_header("source", "demo")
}

fn open(stage: &Stage<'_>) -> Result<Writer, Failure> {
    stage.log.writer(PARTITION, WriterOptions::default()).map_err(claim_failed)
}

fn failed(error: impl Display) -> Failure {
    Failure::new("demo", error.to_string(), "look at the store that the demo named; if this repeats, report it")
}

pub(super) fn write(stage: &mut Stage<'_>) -> Result<(), Failure> {
    let mut writer = open(stage)?;
    let epoch = writer.epoch();
    writeln!(stage.out, "A writer claims the log with one swap of its head: it owns epoch {epoch}.")?;
    for number in 0..ORDERS {
        writer.append(order(number)).map_err(failed)?;
    }
    let marks = writer.watermarks();
    writeln!(
        stage.out,
        "{ORDERS} records accepted: they have LSNs 0 to {}, but live in memory.",
        marks.accepted.0 - 1
    )?;
    let committed = writer.flush().map_err(failed)?;
    writeln!(stage.out, "flush: one segment stored, one swap of the head. Durable below LSN {committed}.")?;
    let lsn = writer.append_durable(order(ORDERS)).map_err(failed)?;
    writeln!(stage.out, "append_durable: one more record, LSN {lsn}, waited for.")?;
    stage.writer = Some(writer);
    Ok(())
}

pub(super) fn read_by_lsn(stage: &mut Stage<'_>) -> Result<(), Failure> {
    let batch = stage.reader.read(Lsn(500), ReadLimit::records(3), Freshness::OnTail)?;
    writeln!(stage.out, "Three records from LSN 500; the reader asks the store only, never the writer.")?;
    batch.records.iter().try_for_each(|(lsn, record)| print(stage.out, *lsn, record))?;
    Ok(writeln!(stage.out, "The next read goes on at LSN {}.", batch.next_lsn)?)
}

pub(super) fn read_by_time(stage: &mut Stage<'_>) -> Result<(), Failure> {
    let at = TimestampMs(OPENING + 60_100);
    let batch = stage.reader.read_from_timestamp(at, ReadLimit::records(2))?;
    writeln!(stage.out, "Two records at or after {}.", time(at))?;
    Ok(batch.records.iter().try_for_each(|(lsn, record)| print(stage.out, *lsn, record))?)
}

pub(super) fn fetch(stage: &mut Stage<'_>) -> Result<(), Failure> {
    let record = stage.reader.fetch(Lsn(42))?;
    writeln!(stage.out, "Exactly LSN 42, from the block that is cached by now.")?;
    print(stage.out, Lsn(42), &record)?;
    match stage.reader.fetch(Lsn(1_000_000)) {
        Err(error) => Ok(writeln!(stage.out, "And LSN 1000000? The reader says: {error}.")?),
        Ok(_) => Err(failed("a record was read that nobody wrote")),
    }
}

pub(super) fn take_over(stage: &mut Stage<'_>) -> Result<(), Failure> {
    let Some(mut old) = stage.writer.take() else { return Err(failed("nobody owns the log")) };
    let mut new = open(stage)?;
    let epoch = new.epoch();
    writeln!(stage.out, "A second writer claims the log: epoch {epoch}. The first one has not heard of it yet.")?;
    let lsn = new.append_durable(order(ORDERS + 1)).map_err(failed)?;
    writeln!(stage.out, "The new writer appends LSN {lsn}. Then the old one tries:")?;
    match old.append_durable(order(ORDERS + 2)) {
        Err(error) => writeln!(stage.out, "  error: {error}")?,
        Ok(_) => return Err(failed("a fenced writer appended")),
    }
    let record = stage.reader.fetch(lsn)?;
    writeln!(stage.out, "The log has the new writer's record there, and nothing of the old one's:")?;
    print(stage.out, lsn, &record)?;
    new.close().map_err(failed)?;
    Ok(())
}

pub(super) fn list(stage: &mut Stage<'_>) -> Result<(), Failure> {
    let keys = stage.log.keys(PARTITION);
    let head = stage.reader.head(Freshness::Latest)?;
    let in_log = |segment: &SegmentEntry| keys.segment(segment.base_lsn, segment.writer_epoch, &segment.segment_id);
    let committed: Vec<String> = head.active.iter().map(in_log).collect();
    let mut rows = table(&["object", "size", "key"]);
    for object in objects(&*stage.store)? {
        let key = object.key.as_str();
        let kind = match keys.parse(key) {
            Some(ObjectName::Head) => "head",
            Some(ObjectName::Page { .. }) => "page",
            Some(ObjectName::Segment { .. }) if committed.iter().any(|committed| committed == key) => "segment",
            Some(ObjectName::Segment { .. }) => "segment, not in the log",
            _ => "other",
        };
        rows.add_row([kind.to_owned(), Bytes(object.size).to_string(), key.to_owned()]);
    }
    align_right(&mut rows, &[1]);
    writeln!(
        stage.out,
        "The head alone ever changes. Segments carry the first LSN and the writer's epoch in their keys."
    )?;
    writeln!(
        stage.out,
        "The fenced writer's segment was stored before its commit failed; no head leads to it.\n{rows}"
    )?;
    Ok(())
}

fn objects(store: &dyn Store) -> Result<Vec<ObjectMeta>, Failure> {
    let mut objects: Vec<ObjectMeta> = Vec::new();
    loop {
        let after = objects.last().map(|object| object.key.clone());
        let request = List { prefix: Key::from(""), after, limit: 1_000 };
        let reply = store.list(&request, Instant::now() + PATIENCE).map_err(failed)?;
        objects.extend(reply.objects);
        if !reply.more {
            return Ok(objects);
        }
    }
}

fn print(out: &mut dyn Write, lsn: Lsn, record: &Record) -> io::Result<()> {
    writeln!(out, "  LSN {lsn:>4}  {}  {}", time(record.timestamp), String::from_utf8_lossy(&record.value))
}
