//! What several themes need: golden data, bulk records, hexadecimal digits.
use bucketlog_core::format::segment::Record;
use bucketlog_core::ids::{Lsn, TimestampMs};
use bucketlog_fixtures::pbgen::timestamp_ms;
use bytes::Bytes;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// One format's folder of golden data, or `None`, said aloud, where there is none.
pub(crate) fn golden(format: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/golden").join(format);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: ../shared/golden is absent");
    None
}

/// Parses a JSON file.
pub(crate) fn json(path: &Path) -> Value {
    let text = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A field's text.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("no text {field} in {value}"))
}

/// A field's number, written as a number or, above 2^53, as decimal text.
pub(crate) fn number(value: &Value, field: &str) -> u64 {
    let field_value = &value[field];
    field_value
        .as_u64()
        .or_else(|| field_value.as_str().and_then(|digits| digits.parse().ok()))
        .unwrap_or_else(|| panic!("no number {field} in {value}"))
}

/// A field's 32-bit number.
pub(crate) fn number32(value: &Value, field: &str) -> u32 {
    u32::try_from(number(value, field)).unwrap_or_else(|_| panic!("{field} passes 32 bits in {value}"))
}

/// A field's timestamp.
pub(crate) fn timestamp(value: &Value, field: &str) -> TimestampMs {
    TimestampMs(value[field].as_i64().unwrap_or_else(|| panic!("no timestamp {field} in {value}")))
}

/// A field's number in 16 hexadecimal digits.
pub(crate) fn hash(value: &Value, field: &str) -> u64 {
    u64::from_str_radix(text(value, field), 16).unwrap_or_else(|_| panic!("no hash {field} in {value}"))
}

/// A field's bytes in hexadecimal digits.
pub(crate) fn id<const N: usize>(value: &Value, field: &str) -> [u8; N] {
    let digits = text(value, field);
    assert_eq!(digits.len(), 2 * N, "{field} in {value}");
    std::array::from_fn(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).expect("hexadecimal digits"))
}

/// SHA-256 in lower-case hexadecimal digits.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    format!("{:x}", Bytes::copy_from_slice(bytes))
}

/// The records dump hash of the golden data: LSN, timestamp, headers and value of every record, all lengths 32 bits.
pub(crate) fn records_dump_sha256<'a>(records: impl IntoIterator<Item = (Lsn, &'a Record)>) -> String {
    let mut sha = Sha256::new();
    for (lsn, record) in records {
        sha.update(lsn.0.to_be_bytes());
        sha.update(record.timestamp.0.to_be_bytes());
        sha.update(len32(record.headers.len()));
        for header in &record.headers {
            sha.update(len32(header.key.len()));
            sha.update(&header.key);
            sha.update(len32(header.value.len()));
            sha.update(&header.value);
        }
        sha.update(len32(record.value.len()));
        sha.update(&record.value);
    }
    hex(&sha.finalize())
}

fn len32(len: usize) -> [u8; 4] {
    u32::try_from(len).expect("a length of 32 bits").to_be_bytes()
}

/// Records with these values and the timestamps of the golden segments.
pub(crate) fn bulk_records(values: impl Iterator<Item = Vec<u8>>, count: usize) -> Vec<Record> {
    let times = (0_u64..).map(|i| TimestampMs(timestamp_ms(i)));
    times.zip(values).take(count).map(|(time, value)| Record::new(time, value)).collect()
}
