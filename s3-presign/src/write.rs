//! Conditional `PUT`, and `DELETE`.
use crate::classify::{self, Operation, unusable};
use crate::{Bucket, Exchange, HttpAnswer, HttpRequest, SigningKeys};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bucketlog_core::boundary::{
    Create, CreateReply, Delete, Fault, Key, RefusalKind, Swap, SwapCondition, SwapReply, Version,
};
use bucketlog_core::ids::TimestampMs;
use bytes::Bytes;
use rusty_s3::S3Action as _;
use rusty_s3::actions::{DeleteObject, PutObject};

pub(crate) const CHECKSUM: &str = "x-amz-checksum-crc32c";

impl Exchange for Create {
    fn to_http(&self, bucket: &Bucket, keys: Option<&SigningKeys>, at: TimestampMs) -> HttpRequest {
        put(bucket, keys, at, &self.key, self.body.clone()).with("if-none-match", "*")
    }

    fn reply(&self, _: &Bucket, answer: &HttpAnswer) -> Result<CreateReply, Fault> {
        written(answer).map(|version| CreateReply { version })
    }
}

impl Exchange for Swap {
    fn to_http(&self, bucket: &Bucket, keys: Option<&SigningKeys>, at: TimestampMs) -> HttpRequest {
        let request = put(bucket, keys, at, &self.key, vec![self.body.clone()]);
        match &self.condition {
            SwapCondition::Absent => request.with("if-none-match", "*"),
            SwapCondition::Matches(version) if bucket.dialect.wants_bare_tags() => {
                request.with("if-match", version.as_str().trim_matches('"'))
            }
            SwapCondition::Matches(version) => request.with("if-match", version.as_str()),
        }
    }

    fn reply(&self, _: &Bucket, answer: &HttpAnswer) -> Result<SwapReply, Fault> {
        written(answer).map(|version| SwapReply { version })
    }
}

fn put(bucket: &Bucket, keys: Option<&SigningKeys>, at: TimestampMs, key: &Key, body: Vec<Bytes>) -> HttpRequest {
    let object = bucket.object(key);
    let mut action = PutObject::new(&bucket.inner, keys.map(|keys| &keys.0), &object);
    let checksum = bucket.sends_checksums().then(|| checksum(&body));
    if let Some(checksum) = &checksum {
        action.headers_mut().insert(CHECKSUM, checksum.as_str());
    }
    let mut request = HttpRequest::new(&action, bucket, at);
    request.body = body;
    match &checksum {
        Some(checksum) => request.with(CHECKSUM, checksum.as_str()),
        None => request,
    }
}

pub(crate) fn checksum(body: &[Bytes]) -> String {
    let crc = body.iter().fold(0, |crc, piece| crc32c::crc32c_append(crc, piece));
    STANDARD.encode(crc.to_be_bytes())
}

/// The new state after a write. Who answers with a body is not the store, or tells of an error (D01, D02): neither says
/// what was done.
pub(crate) fn written(answer: &HttpAnswer) -> Result<Option<Version>, Fault> {
    if !answer.is_success() {
        return Err(classify::fault(Operation::Write, answer));
    }
    if answer.too_long || !answer.body.trim_ascii().is_empty() {
        return Err(unusable(answer, "a success came with an error, or a foreign document, in its body"));
    }
    Ok(answer.version())
}

impl Exchange for Delete {
    fn to_http(&self, bucket: &Bucket, keys: Option<&SigningKeys>, at: TimestampMs) -> HttpRequest {
        let object = bucket.object(&self.key);
        HttpRequest::new(&DeleteObject::new(&bucket.inner, keys.map(|keys| &keys.0), &object), bucket, at)
    }

    fn reply(&self, _: &Bucket, answer: &HttpAnswer) -> Result<(), Fault> {
        if answer.is_success() {
            return Ok(());
        }
        let fault = classify::fault(Operation::Delete, answer);
        if fault.refusal() == Some(&RefusalKind::NotFound) { Ok(()) } else { Err(fault) }
    }
}
