//! What a reader that looks single records up may say.
use super::Context;
use crate::check::{Violation, ensure};
use crate::news::News;
use crate::value::Value;
use bucketlog_core::format::segment::Record;
use bucketlog_core::ids::{Lsn, TimestampMs};
use bucketlog_core::reader::Batch;

/// A record was fetched: it is the one at its position, to the byte and the millisecond.
pub(super) fn check_record(lsn: Lsn, record: &Record, context: &mut Context<'_>) -> Result<(), Violation> {
    context.news.push(News::Rule("fetched"));
    context.news.push(News::Found { site: context.site, lsn: Some(lsn) });
    let is_true = context.excuses.estranged || is_at(lsn, record, context);
    ensure(is_true, "a fetch gives the record at its position", || lsn)
}

/// A search by time ended: at the first record that is not older, or, where retention has passed that, at the first
/// that was left.
pub(super) fn check_position(
    time: TimestampMs,
    tail: Lsn,
    found: Option<Lsn>,
    context: &mut Context<'_>,
) -> Result<(), Violation> {
    context.news.push(News::Rule(if found.is_some() { "found by time" } else { "no record so late" }));
    context.news.push(News::Found { site: context.site, lsn: found });
    if context.log.was_tampered_with() {
        return Ok(());
    }
    let first = context.log.find_time(time);
    let oldest = context.log.head().map_or(Lsn(0), |head| head.oldest_lsn);
    let is_true = match found {
        Some(lsn) if lsn == first => lsn < context.log.next_lsn(),
        Some(lsn) => first < lsn && lsn <= oldest,
        None => first >= tail || first < oldest,
    };
    ensure(is_true, "a search by time finds the first record that is not older", || format!("{found:?} for {first}"))
}

/// A read from a time: its head tells exactly where it begins.
pub(super) fn check_batch(
    time: TimestampMs,
    tail: Lsn,
    batch: &Batch,
    context: &mut Context<'_>,
) -> Result<(), Violation> {
    context.news.push(News::Rule("read from a time"));
    let first = batch.records.first().map(|(lsn, _)| *lsn);
    context.news.push(News::Found { site: context.site, lsn: first });
    let (oldest, end) = (batch.head.oldest_lsn, batch.head.next_lsn);
    let next = batch.next_lsn.0.checked_sub(batch.records.len() as u64).map(Lsn);
    ensure(next == Some(first.unwrap_or(end)), "a batch says where it ends", || batch.next_lsn)?;
    if context.log.was_tampered_with() {
        return Ok(());
    }
    let expected = context.log.find_time(time).max(oldest);
    ensure(first.unwrap_or(end) == expected.min(end), "a read from a time begins with the first record", || {
        format!("{first:?} for {expected} below {end}")
    })?;
    ensure(first.is_some() || end >= tail, "a latest read sees all that was committed before it", || end)?;
    for (lsn, record) in (expected.0..).map(Lsn).zip(&batch.records) {
        let is_true = record.0 == lsn && is_at(lsn, &record.1, context);
        ensure(is_true, "a reader sees the log's records, in order", || lsn)?;
    }
    Ok(())
}

fn is_at(lsn: Lsn, record: &Record, context: &Context<'_>) -> bool {
    let value = Value::decode(&record.value);
    value.is_some() && value == context.log.record(lsn) && Some(record.timestamp) == context.log.time(lsn)
}
