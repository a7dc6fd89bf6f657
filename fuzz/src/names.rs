use bucketlog_core::format::catalog::PageRef;
use bucketlog_core::format::keys::{LogKeys, ObjectName, StreamId};
use bucketlog_core::ids::{Partition, TimestampMs};

/// A key below the prefixes of one log: what is read from it must give the same key again.
pub fn key(data: &[u8]) {
    let Ok(key) = std::str::from_utf8(data) else { return };
    let _ = ObjectName::from_file_name(key);
    let keys = keys();
    let below = [format!("{}{key}", keys.catalog_prefix()), format!("{}{key}", keys.segments_prefix()), key.to_owned()];
    for key in below {
        if let Some(name) = keys.parse(&key) {
            assert_eq!(rebuilt(&keys, name), key);
        }
    }
}

fn keys() -> LogKeys {
    LogKeys::new(&StreamId::new("orders").expect("a stream id"), Partition(7))
}

fn rebuilt(keys: &LogKeys, name: ObjectName) -> String {
    match name {
        ObjectName::Head => keys.head().to_owned(),
        ObjectName::Retention => keys.retention(),
        ObjectName::GcState => keys.gc_state(),
        ObjectName::Segment { base_lsn, epoch, segment_id } => keys.segment(base_lsn, epoch, &segment_id),
        ObjectName::Page { level, seq_hi, seq_lo, generation, page_id } => keys.page(&PageRef {
            level,
            entry_count: 1,
            seq_lo,
            seq_hi,
            min_timestamp: TimestampMs(0),
            max_timestamp: TimestampMs(0),
            generation,
            page_id,
            segment_count: 1,
        }),
    }
}

/// A stream id: a canonical one is its own canonical form.
pub fn stream_id(data: &[u8]) {
    let Ok(id) = StreamId::new(data) else { return };
    assert_eq!(StreamId::new(id.as_str()).as_ref(), Ok(&id));
    assert!((1..=512).contains(&id.as_str().len()) && !id.as_str().chars().any(char::is_control));
}
