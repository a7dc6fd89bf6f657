use bucketlog_core::boundary::{
    AbortUpload, ByteRange, CompleteUpload, Create, CreateUpload, Delete, DeleteMany, Get, Key, List, ListUploads,
    Stat, Swap, SwapCondition, UploadPart,
};
use bucketlog_core::ids::TimestampMs;
use bucketlog_s3_presign::{Bucket, Dialect, Exchange, HttpAnswer, Lesson, Style};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

/// Requests that an answer may belong to; the first byte of an input names one by its place.
pub const REQUESTS: [&str; 13] = [
    "get",
    "get-if-changed",
    "stat",
    "list",
    "create",
    "swap",
    "delete",
    "begin-upload",
    "part",
    "complete",
    "abort",
    "list-uploads",
    "delete-many",
];

/// An answer of a store: the request's place, two bytes of status, header lines, an empty line, the body. No error
/// status is ever a success, but for what was to be gone and is missing.
pub fn s3_answer(data: &[u8]) {
    let Some((&[place, high, low], rest)) = data.split_first_chunk() else { return };
    let Some(request) = REQUESTS.get(usize::from(place & 0x7f)) else { return };
    let (headers, body) = parts(rest);
    let status = u16::from_be_bytes([high, low]);
    let answer = HttpAnswer { status, headers, body: Bytes::copy_from_slice(body), too_long: place > 0x7f };
    let _ = Lesson::of(&answer, TimestampMs(0));
    let is_success = replied(request, &answer);
    let may_be_gone = status == 404 && matches!(*request, "delete" | "abort");
    assert!(!is_success || status < 400 || may_be_gone, "{request}: {answer:?}");
}

fn parts(mut rest: &[u8]) -> (HeaderMap, &[u8]) {
    let mut headers = HeaderMap::new();
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line = &rest[..end];
        rest = &rest[end + 1..];
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { break };
        let value = line[colon + 1..].trim_ascii();
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(&line[..colon]), HeaderValue::from_bytes(value)) {
            headers.insert(name, value);
        }
    }
    (headers, rest)
}

/// Whether the answer is a success.
fn replied(request: &str, answer: &HttpAnswer) -> bool {
    let bucket = Bucket::new("http://store.example", Style::Path, "logs", "us-east-1", Dialect::Aws);
    let bucket = bucket.expect("an address").with_checksums();
    let (key, body) = (Key::from("a/key"), || vec![Bytes::from("body")]);
    let upload = || "id".into();
    match request {
        "get" => Get::new(key, ByteRange::FromTo(2, 6), 1 << 20).reply(&bucket, answer).is_ok(),
        "get-if-changed" => {
            let get = Get { if_none_match: Some("\"known\"".into()), ..Get::new(key, ByteRange::All, 1 << 20) };
            get.reply(&bucket, answer).is_ok()
        }
        "stat" => Stat { key }.reply(&bucket, answer).is_ok(),
        "list" => List { prefix: "a".into(), after: Some("a/b".into()), limit: 100 }.reply(&bucket, answer).is_ok(),
        "create" => Create { key, body: body() }.reply(&bucket, answer).is_ok(),
        "swap" => Swap { key, body: Bytes::new(), condition: SwapCondition::Absent }.reply(&bucket, answer).is_ok(),
        "delete" => Delete { key }.reply(&bucket, answer).is_ok(),
        "begin-upload" => CreateUpload { key }.reply(&bucket, answer).is_ok(),
        "part" => UploadPart { key, upload: upload(), number: 1, body: body() }.reply(&bucket, answer).is_ok(),
        "complete" => {
            CompleteUpload { key, upload: upload(), parts: vec!["tag".into()] }.reply(&bucket, answer).is_ok()
        }
        "abort" => AbortUpload { key, upload: upload() }.reply(&bucket, answer).is_ok(),
        "list-uploads" => {
            let after = Some(("a/b".into(), upload()));
            ListUploads { prefix: "a".into(), after, limit: 100 }.reply(&bucket, answer).is_ok()
        }
        _ => DeleteMany { keys: ["a/1", "a/2", "a/3"].map(Key::from).to_vec() }.reply(&bucket, answer).is_ok(),
    }
}
