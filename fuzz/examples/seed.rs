//! Fills `corpus/` from the published fixtures and the recorded answers of stores, one folder for each target.
use bucketlog_fixtures::{Fixture, Fixtures, load, sha256};
use bucketlog_fuzz::REQUESTS;
use std::{error::Error, fs, path::Path};

const SMALLEST_SEGMENT: usize = 464;

fn main() -> Result<(), Box<dyn Error>> {
    let segments = load("segformat", 2)?;
    let catalogs = load("catformat", 1)?;
    let keys = load("keys", 1)?;
    for object in objects(&segments).into_iter().filter(|object| object.len() >= SMALLEST_SEGMENT) {
        let index = object.len() - 192 - index_length(&object);
        seed("segment_whole", &object)?;
        seed("segment_preamble", &object[..64])?;
        seed("segment_trailer", &object[object.len() - 192..])?;
        seed("segment_index", &object[index..])?;
        seed("segment_block", &first_block(&object))?;
    }
    for object in objects(&catalogs) {
        seed(if object.starts_with(b"PLCH") { "head" } else { "page" }, &object)?;
    }
    for entry in &keys.entries {
        seed("stream_id", &unhex(text(entry, "stream_id_hex")))?;
        for (name, _) in entry.expected.as_object().into_iter().flatten().filter(|(name, _)| name.contains("_key")) {
            let key = text(entry, name);
            let file = key.find("/p").and_then(|at| key[at + 1..].split_once('/')).map_or(key, |(_, rest)| rest);
            seed("key", file.as_bytes())?;
        }
    }
    for exchange in include_str!("../../s3-presign/tests/it/exchanges.txt").split("\n== ").skip(1) {
        seed("s3_answer", &answer(exchange).ok_or("an exchange that this does not understand")?)?;
    }
    Ok(())
}

/// A recorded answer in the form that the target takes.
fn answer(exchange: &str) -> Option<Vec<u8>> {
    let of = |word: &'static str| exchange.lines().filter_map(move |line| line.strip_prefix(word)?.strip_prefix(' '));
    let request = of("operation").next()?;
    let place = u8::try_from(REQUESTS.iter().position(|known| *known == request)?).ok()?;
    let status: u16 = of("status").next()?.parse().ok()?;
    let [high, low] = status.to_be_bytes();
    let headers: String = of("header").map(|line| format!("{line}\n")).collect();
    let body: String = of("body").collect();
    Some([&[place, high, low], headers.as_bytes(), b"\n", body.as_bytes()].concat())
}

/// Every object, and every damaged one.
fn objects(fixtures: &Fixtures) -> Vec<Vec<u8>> {
    let whole = fixtures.entries.iter().map(|entry| entry.bytes.clone());
    let damaged = fixtures.damages.iter().filter_map(|damage| Some(damage.apply(&fixtures.get(&damage.base)?.bytes)));
    whole.chain(damaged).collect()
}

fn index_length(segment: &[u8]) -> usize {
    let at = segment.len() - 192 + 72;
    let length = u32::from_be_bytes(segment[at..at + 4].try_into().expect("4 bytes")) as usize;
    length.min(segment.len() - 192)
}

/// In the form that the target takes: codec, raw size, records, base LSN, timestamps, stored bytes.
fn first_block(segment: &[u8]) -> Vec<u8> {
    let stored = u32::from_be_bytes(segment[72..76].try_into().expect("4 bytes")) as usize;
    let stored = &segment[128..segment.len().min(stored.saturating_add(128))];
    [&segment[17..18], &segment[76..84], &segment[88..112], stored].concat()
}

fn text<'a>(entry: &'a Fixture, field: &str) -> &'a str {
    entry.expected[field].as_str().unwrap_or_default()
}

fn unhex(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hex digits")).collect()
}

fn seed(target: &str, input: &[u8]) -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(&sha256(input)[..16]), input)?;
    Ok(())
}
