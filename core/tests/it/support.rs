//! What several themes need: golden data, generators of bulk records, hexadecimal digits.
use bucketlog_core::format::segment::Record;
use bucketlog_core::ids::{Lsn, TimestampMs};
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

/// SplitMix64, the random source of pbgen v1.
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn draw_16_bytes(&mut self) -> [u8; 16] {
        let (low, high) = (u128::from(self.draw()), u128::from(self.draw()));
        (low | (high << 64)).to_le_bytes()
    }
}

/// Values of pbgen v1 "json200": log lines of 200 bytes.
pub(crate) fn json200() -> impl Iterator<Item = Vec<u8>> {
    const LEVELS: [&str; 8] = ["INFO", "INFO", "INFO", "INFO", "DEBUG", "DEBUG", "WARN", "ERROR"];
    const SERVICES: [&str; 8] =
        ["checkout", "payments", "catalog", "search", "auth", "shipping", "inventory", "gateway"];
    const OPERATIONS: [&str; 8] = ["create", "update", "delete", "read", "list", "retry", "commit", "abort"];
    const WORDS: [&str; 16] = [
        "request",
        "completed",
        "order",
        "cache",
        "miss",
        "timeout",
        "upstream",
        "retrying",
        "connection",
        "accepted",
        "token",
        "expired",
        "shard",
        "replica",
        "lag",
        "ok",
    ];
    let mut random = SplitMix64(2);
    (0_u64..).map(move |i| {
        let (a, b, c) = (random.draw(), random.draw(), random.draw());
        let pick = |list: [&'static str; 8], shift: u32| list[usize::try_from((a >> shift) & 7).expect("3 bits")];
        let mut line = format!(
            r#"{{"ts":{},"level":"{}","svc":"{}","host":"ip-10-0-{}-{}","trace":"{b:016x}","user":"u-{:08}","op":"{}","lat_us":{},"msg":""#,
            1_767_225_600_000 + i / 10,
            pick(LEVELS, 0),
            pick(SERVICES, 3),
            (a >> 6) & 15,
            (a >> 10) & 255,
            (a >> 18) % 1_000_000,
            pick(OPERATIONS, 40),
            c & 0xffff,
        );
        for k in (0..12_u32).cycle() {
            if line.len() >= 198 {
                break;
            }
            line.push_str(WORDS[usize::try_from((c >> (16 + 4 * k)) & 15).expect("4 bits")]);
            line.push(' ');
        }
        line.truncate(198);
        line.push_str("\"}");
        line.into_bytes()
    })
}

/// Values of pbgen v1 "semi1k": 1,024 bytes, half of them from a dictionary.
pub(crate) fn semi1k() -> impl Iterator<Item = Vec<u8>> {
    const SEED: u64 = 1;
    let mut random = SplitMix64(SEED ^ 0xD1C7);
    let dictionary: Vec<[u8; 16]> = (0..256).map(|_| random.draw_16_bytes()).collect();
    let mut random = SplitMix64(SEED);
    std::iter::repeat_with(move || {
        let mut value = Vec::with_capacity(1024);
        for _ in 0..64 {
            let x = random.draw();
            let entry = usize::try_from((x >> 8) & 255).expect("8 bits");
            value.extend_from_slice(&if x.is_multiple_of(2) { random.draw_16_bytes() } else { dictionary[entry] });
        }
        value
    })
}

/// Records with these values and the timestamps of the golden segments: ten records a millisecond.
pub(crate) fn bulk_records(values: impl Iterator<Item = Vec<u8>>, count: usize) -> Vec<Record> {
    let times = (0_i64..).map(|i| TimestampMs(1_767_225_600_000 + i / 10));
    times.zip(values).take(count).map(|(time, value)| Record::new(time, value)).collect()
}

#[test]
fn generators_match_their_published_hashes() {
    #[track_caller]
    fn check(values: impl Iterator<Item = Vec<u8>>, sha256: &str) {
        assert_eq!(sha256_hex(&values.take(10_000).flatten().collect::<Vec<_>>()), sha256);
    }
    check(json200(), "a5880baa782c06b90466df40e2619a09e2ab5494bd340f8338ff2775d1347e9d");
    check(semi1k(), "fce4f6bd6f365e5e684b39ff56a0ed88a846cb392bd898cb91a3f23b6a03cb9a");
}
