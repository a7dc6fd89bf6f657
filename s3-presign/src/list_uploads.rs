//! `GET` of a page of uploads (`ListMultipartUploads`).
use crate::classify::{self, Operation, unusable};
use crate::exchange::within;
use crate::{Bucket, Exchange, HttpAnswer, HttpRequest, SigningKeys};
use bucketlog_core::boundary::{Fault, Key, ListUploads, ListUploadsReply, RefusalKind, UploadId, UploadMeta};
use bucketlog_core::ids::TimestampMs;
use instant_xml::FromXml;
use jiff02::Timestamp;
use percent_encoding::percent_decode_str;
use rusty_s3::S3Action as _;
use rusty_s3::actions::ListObjectsV2;
use std::borrow::Cow;

/// A row has a key of at most 1,024 bytes, each encoded in three, and some hundred bytes more; 1,000 rows.
const MAX_PAGE: u64 = 8 << 20;

#[derive(FromXml)]
#[xml(rename = "ListMultipartUploadsResult", ns("http://s3.amazonaws.com/doc/2006-03-01/"))]
struct Page {
    #[xml(rename = "IsTruncated")]
    is_truncated: Option<bool>,
    #[xml(rename = "EncodingType")]
    encoding: Option<String>,
    rows: Vec<Row>,
}

#[derive(FromXml)]
#[xml(rename = "Upload", ns("http://s3.amazonaws.com/doc/2006-03-01/"))]
struct Row {
    #[xml(rename = "Key")]
    key: String,
    #[xml(rename = "UploadId")]
    upload: String,
    #[xml(rename = "Initiated")]
    begun: Option<String>,
}

impl Exchange for ListUploads {
    fn check(&self) -> Result<(), Fault> {
        within("rows of a listing", self.limit.into(), 1_000)
    }

    fn to_http(&self, bucket: &Bucket, keys: Option<&SigningKeys>, at: TimestampMs) -> HttpRequest {
        // rusty-s3 has no such action; it is a GET of the bucket with other parameters.
        let mut action = ListObjectsV2::new(&bucket.inner, keys.map(|keys| &keys.0));
        action.with_prefix(bucket.object(&self.prefix));
        let query = action.query_mut();
        query.remove("list-type");
        query.insert("uploads", "1");
        query.insert("max-uploads", self.limit.to_string());
        if let Some((key, upload)) = &self.after {
            query.insert("key-marker", bucket.object(key));
            query.insert("upload-id-marker", upload.as_str());
        }
        HttpRequest { max_answer: MAX_PAGE, ..HttpRequest::new(&action, bucket, at) }
    }

    fn reply(&self, bucket: &Bucket, answer: &HttpAnswer) -> Result<ListUploadsReply, Fault> {
        if answer.status != 200 {
            return Err(classify::fault(Operation::ListUploads, answer));
        }
        let page =
            answer.document("ListMultipartUploadsResult").and_then(|text| instant_xml::from_str::<Page>(text).ok());
        let page = page.ok_or_else(|| unusable(answer, "the body is no listing of uploads"))?;
        let is_encoded = page.encoding.as_deref() == Some("url");
        let uploads = page.rows.into_iter().map(|row| meta(bucket, row, is_encoded)).collect::<Option<Vec<_>>>();
        let mut uploads = uploads.ok_or_else(|| unusable(answer, "an upload is listed whose key lacks the prefix"))?;
        let more = page.is_truncated.unwrap_or_default();
        if more && uploads.is_empty() {
            return Err(unusable(answer, "a page without rows is said to be followed by others"));
        }
        if !more && self.after.is_none() {
            // All at once: the order is not the store's to err in, as SeaweedFS does.
            uploads.sort_by(|one, next| one.key.cmp(&next.key));
        }
        let is_ordered = uploads.is_sorted_by(|one, next| one.key <= next.key);
        if is_ordered && self.after.as_ref().is_none_or(|after| begins_after(&uploads, after)) {
            return Ok(ListUploadsReply { uploads, more });
        }
        // Other attempts would not help.
        Err(Fault::refused(RefusalKind::Unsupported, "the store does not list uploads in order of their keys"))
    }
}

fn begins_after(uploads: &[UploadMeta], (key, upload): &(Key, UploadId)) -> bool {
    let is_not_before = uploads.first().is_none_or(|first| first.key >= *key);
    is_not_before && uploads.iter().all(|row| row.key != *key || row.upload != *upload)
}

fn meta(bucket: &Bucket, row: Row, is_encoded: bool) -> Option<UploadMeta> {
    let key = if is_encoded { decoded(&row.key)? } else { row.key };
    let begun = row.begun.and_then(|text| text.parse::<Timestamp>().ok());
    Some(UploadMeta {
        key: bucket.key(&key)?,
        upload: UploadId::from(row.upload),
        begun: begun.map(|time| TimestampMs(time.as_millisecond())),
    })
}

/// As HTML forms encode, which some stores do.
fn decoded(key: &str) -> Option<String> {
    let spaced = key.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8().ok().map(Cow::into_owned)
}
