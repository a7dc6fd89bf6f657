//! Uploads in parts: begin, `PUT` of a part, complete, throw away.
use crate::classify::{self, Operation, unusable};
use crate::exchange::within;
use crate::write::{CHECKSUM, checksum, written};
use crate::{Bucket, Exchange, HttpAnswer, HttpRequest, SigningKeys};
use bucketlog_core::boundary::{
    AbortUpload, CompleteUpload, CreateReply, CreateUpload, CreateUploadReply, Fault, PartTag, RefusalKind, UploadId,
    UploadPart, UploadPartReply, Version,
};
use bucketlog_core::ids::TimestampMs;
use instant_xml::ToXml;
use rusty_s3::S3Action as _;
use rusty_s3::actions::{AbortMultipartUpload, CompleteMultipartUpload, CreateMultipartUpload};
use std::iter;

/// Parts that an upload may have (providers: S3's limit).
const MOST_PARTS: usize = 10_000;
/// Stands between a part's `ETag` and its checksum where the store has taken note of one: it is to be told both again.
const AND_CHECKSUM: &str = " crc32c:";

impl Exchange for CreateUpload {
    fn to_http(&self, bucket: &Bucket, keys: Option<&SigningKeys>, at: TimestampMs) -> HttpRequest {
        const ALGORITHM: (&str, &str) = ("x-amz-checksum-algorithm", "CRC32C");
        let object = bucket.object(&self.key);
        let mut action = CreateMultipartUpload::new(&bucket.inner, keys.map(|keys| &keys.0), &object);
        if !bucket.sends_checksums() {
            return HttpRequest::new(&action, bucket, at);
        }
        action.headers_mut().insert(ALGORITHM.0, ALGORITHM.1);
        HttpRequest::new(&action, bucket, at).with(ALGORITHM.0, ALGORITHM.1)
    }

    fn reply(&self, _: &Bucket, answer: &HttpAnswer) -> Result<CreateUploadReply, Fault> {
        if answer.status != 200 {
            return Err(classify::fault(Operation::Write, answer));
        }
        let begun = answer
            .document("InitiateMultipartUploadResult")
            .and_then(|text| CreateMultipartUpload::parse_response(text).ok());
        let begun = begun.filter(|begun| !begun.upload_id().is_empty());
        let begun = begun.ok_or_else(|| unusable(answer, "the body names no upload"))?;
        Ok(CreateUploadReply { upload: UploadId::from(begun.upload_id()) })
    }
}

impl Exchange for UploadPart {
    fn check(&self) -> Result<(), Fault> {
        within("number of a part", self.number.into(), MOST_PARTS)
    }

    fn to_http(&self, bucket: &Bucket, keys: Option<&SigningKeys>, at: TimestampMs) -> HttpRequest {
        let (object, upload) = (bucket.object(&self.key), self.upload.as_str());
        let keys = keys.map(|keys| &keys.0);
        let mut action = rusty_s3::actions::UploadPart::new(&bucket.inner, keys, &object, self.number, upload);
        let checksum = bucket.sends_checksums().then(|| checksum(&self.body));
        if let Some(checksum) = &checksum {
            action.headers_mut().insert(CHECKSUM, checksum.as_str());
        }
        let request = HttpRequest { body: self.body.clone(), ..HttpRequest::new(&action, bucket, at) };
        match checksum {
            Some(checksum) => request.with(CHECKSUM, checksum),
            None => request,
        }
    }

    fn reply(&self, bucket: &Bucket, answer: &HttpAnswer) -> Result<UploadPartReply, Fault> {
        let tag = written(answer)?.ok_or_else(|| unusable(answer, "a part was stored without a tag"))?;
        let noted = answer.header(CHECKSUM).filter(|_| bucket.sends_checksums());
        let tag = noted.map_or_else(|| tag.to_string(), |noted| format!("{tag}{AND_CHECKSUM}{noted}"));
        Ok(UploadPartReply { tag: PartTag::from(tag) })
    }
}

#[derive(ToXml)]
#[xml(rename = "CompleteMultipartUpload")]
struct Parts<'a> {
    parts: Vec<Part<'a>>,
}

#[derive(ToXml)]
#[xml(rename = "Part")]
struct Part<'a> {
    #[xml(rename = "ETag")]
    tag: &'a str,
    #[xml(rename = "PartNumber")]
    number: u16,
    #[xml(rename = "ChecksumCRC32C")]
    checksum: Option<&'a str>,
}

impl<'a> Part<'a> {
    fn new(number: u16, tag: &'a PartTag) -> Self {
        match tag.as_str().split_once(AND_CHECKSUM) {
            Some((tag, checksum)) => Self { tag, number, checksum: Some(checksum) },
            None => Self { tag: tag.as_str(), number, checksum: None },
        }
    }
}

impl Exchange for CompleteUpload {
    fn check(&self) -> Result<(), Fault> {
        within("parts of an upload", self.parts.len(), MOST_PARTS)
    }

    fn to_http(&self, bucket: &Bucket, keys: Option<&SigningKeys>, at: TimestampMs) -> HttpRequest {
        let (object, upload) = (bucket.object(&self.key), self.upload.as_str());
        let keys = keys.map(|keys| &keys.0);
        // Its own body has no place for checksums.
        let action = CompleteMultipartUpload::new(&bucket.inner, keys, &object, upload, iter::empty());
        let parts = (1..).zip(&self.parts).map(|(number, tag)| Part::new(number, tag)).collect();
        let body = instant_xml::to_string(&Parts { parts }).unwrap_or_default();
        let request = HttpRequest { body: vec![body.into()], ..HttpRequest::new(&action, bucket, at) };
        request.with("if-none-match", "*")
    }

    /// The status is sent before the work is done, so the body alone tells (D01, D02).
    fn reply(&self, _: &Bucket, answer: &HttpAnswer) -> Result<CreateReply, Fault> {
        use rusty_s3::actions::CompleteMultipartUploadResponse as Completed;
        if answer.status != 200 {
            return Err(classify::fault(Operation::Write, answer));
        }
        let completed = answer.document("CompleteMultipartUploadResult").and_then(|text| Completed::parse(text).ok());
        let completed = completed.ok_or_else(|| unusable(answer, "a success whose body does not say so"))?;
        // A tag that reads will spell otherwise is no version.
        let version = Some(completed.etag()).filter(|tag| tag.starts_with('"')).map(Version::from);
        Ok(CreateReply { version })
    }
}

impl Exchange for AbortUpload {
    fn to_http(&self, bucket: &Bucket, keys: Option<&SigningKeys>, at: TimestampMs) -> HttpRequest {
        let (object, upload) = (bucket.object(&self.key), self.upload.as_str());
        let action = AbortMultipartUpload::new(&bucket.inner, keys.map(|keys| &keys.0), &object, upload);
        HttpRequest::new(&action, bucket, at)
    }

    fn reply(&self, _: &Bucket, answer: &HttpAnswer) -> Result<(), Fault> {
        if answer.is_success() {
            return Ok(());
        }
        let fault = classify::fault(Operation::Abort, answer);
        if fault.refusal() == Some(&RefusalKind::NotFound) { Ok(()) } else { Err(fault) }
    }
}
