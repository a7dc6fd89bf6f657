//! How values look in JSON: numbers that may pass 2^53 as decimal text, ids and hashes as hexadecimal digits, bytes as
//! Base64.
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bucketlog_core::format::segment::{Record, RecordRef};
use bucketlog_core::ids::{Lsn, TimestampMs};
use serde::{Serialize, Serializer};
use std::fmt::Display;
use std::io::{self, Write};

/// Anything as its text: LSNs, epochs and the like as decimal text, ids as hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<T>(pub(crate) T);

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// A hash: 16 hexadecimal digits.
pub(crate) fn hash(value: u64) -> String {
    format!("{value:016x}")
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// One record.
#[derive(Debug, Serialize)]
pub(crate) struct RecordRow {
    lsn: Text<Lsn>,
    timestamp_ms: i64,
    headers: Vec<HeaderRow>,
    value_base64: String,
}

#[derive(Debug, Serialize)]
struct HeaderRow {
    key_base64: String,
    value_base64: String,
}

impl RecordRow {
    fn new<'a>(
        lsn: Lsn,
        timestamp: TimestampMs,
        headers: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        value: &[u8],
    ) -> Self {
        let headers =
            headers.map(|(key, value)| HeaderRow { key_base64: base64(key), value_base64: base64(value) }).collect();
        Self { lsn: Text(lsn), timestamp_ms: timestamp.0, headers, value_base64: base64(value) }
    }

    pub(crate) fn of_ref(record: &RecordRef<'_>) -> Self {
        let headers = record.headers().map(|header| (header.key, header.value));
        Self::new(record.lsn, record.timestamp, headers, record.value)
    }

    pub(crate) fn of(lsn: Lsn, record: &Record) -> Self {
        let headers = record.headers.iter().map(|header| (header.key.as_ref(), header.value.as_ref()));
        Self::new(lsn, record.timestamp, headers, &record.value)
    }
}

/// Writes one line.
pub(crate) fn write_line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}
