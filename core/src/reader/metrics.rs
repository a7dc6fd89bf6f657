//! Measurements of calls and loads, under objlog's event names (objlog protocols, section 12).
use super::call::{Call, Goal};
use super::loads::{Load, Want};
use super::stock::Value;
use super::{Answer, ReadError};
use crate::boundary::MonoTime;
use crate::ids::{Lsn, Partition};
use crate::metric::Metric;

/// `reader.head`, `reader.read`, `reader.fetch` or `reader.timestamp_read`: one answered call.
pub(super) fn of_call(call: &Call, result: &Result<Answer, ReadError>, partition: Partition, now: MonoTime) -> Metric {
    let name = match call.goal {
        Goal::Head => "reader.head",
        Goal::Read { .. } => "reader.read",
        Goal::Fetch { .. } => "reader.fetch",
        Goal::ReadTime { .. } | Goal::FindTime { .. } => "reader.timestamp_read",
    };
    let mut metric = Metric::new(name, partition);
    metric.start_lsn = call.goal.position().unwrap_or_default();
    metric.next_lsn = metric.start_lsn;
    metric.duration = call.time.map_or_else(Default::default, |(start, _)| now.since(start));
    match result {
        Ok(Answer::Head(head)) => (metric.start_lsn, metric.next_lsn) = (head.oldest_lsn, head.next_lsn),
        Ok(Answer::Batch(batch)) => {
            metric.start_lsn = batch.records.first().map_or(batch.next_lsn, |(lsn, _)| *lsn);
            metric.next_lsn = batch.next_lsn;
            metric.records = batch.records.len() as u64;
            metric.bytes = batch.records.iter().map(|(_, record)| record.encoded_len()).sum();
        }
        Ok(Answer::Record(record)) => {
            metric.next_lsn = Lsn(metric.start_lsn.0.saturating_add(1));
            metric.records = 1;
            metric.bytes = record.encoded_len();
        }
        Ok(Answer::Position(found)) => {
            metric.start_lsn = found.unwrap_or_default();
            metric.next_lsn = metric.start_lsn;
        }
        Err(_) => metric.failed = true,
    }
    metric
}

/// `reader.catalog_refresh` or `reader.segment_read`: one finished load of a head, or of a segment's index or block.
pub(super) fn of_load(
    load: &Load,
    result: &Result<Value, ReadError>,
    partition: Partition,
    now: MonoTime,
) -> Option<Metric> {
    let mut metric = match &load.want {
        Want::Head => Metric::new("reader.catalog_refresh", partition),
        Want::Page(_) => return None,
        Want::Segment(entry) => {
            let mut metric = Metric::new("reader.segment_read", partition);
            (metric.start_lsn, metric.next_lsn) = (entry.base_lsn, Lsn(entry.last_lsn.0.saturating_add(1)));
            metric.segments = 1;
            metric
        }
        Want::Block(segment, index) => {
            let meta = segment.index.entries.get(*index)?.meta;
            let mut metric = Metric::new("reader.segment_read", partition);
            metric.start_lsn = meta.base_lsn;
            metric.next_lsn = Lsn(meta.base_lsn.0.saturating_add(meta.record_count.into()));
            metric.records = meta.record_count.into();
            metric.bytes = meta.stored_size.into();
            metric
        }
    };
    if let Ok(Value::Head(snapshot)) = result {
        (metric.start_lsn, metric.next_lsn) = (snapshot.head.oldest_lsn, snapshot.head.next_lsn);
    }
    metric.duration = load.since.map_or_else(Default::default, |since| now.since(since));
    metric.failed = result.is_err();
    Some(metric)
}
