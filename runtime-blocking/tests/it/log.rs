use crate::world::PARTITION;
use bucketlog_blocking::store::Memory;
use bucketlog_blocking::{Log, LogOptions, Prefixes, StreamId, TimestampMs, now};
use bucketlog_core::format::keys::LogKeys;
use std::sync::Arc;

fn log(options: LogOptions) -> Log {
    Log::open(Arc::new(Memory::new()), StreamId::new("orders").unwrap(), options)
}

#[test]
fn a_log_lies_under_the_default_prefixes_unless_others_are_set() {
    let standard = log(LogOptions::default());
    assert_eq!(standard.keys(PARTITION), LogKeys::new(standard.stream(), PARTITION));
    let prefixes = Prefixes { catalog: "catalog".to_owned(), ..Prefixes::default() };
    let own = log(LogOptions { prefixes, ..LogOptions::default() });
    assert_eq!(own.keys(PARTITION), LogKeys::with_prefixes("catalog", "objlog", own.stream(), PARTITION));
}

#[test]
fn now_counts_milliseconds_since_1970() {
    let (year_2020, year_3000) = (TimestampMs(1_577_836_800_000), TimestampMs(32_503_680_000_000));
    assert!((year_2020..year_3000).contains(&now()), "{}", now());
}
