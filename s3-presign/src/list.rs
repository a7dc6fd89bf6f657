//! `GET` of a page of keys (`ListObjectsV2`).
use crate::classify::{self, Operation, unusable};
use crate::exchange::within;
use crate::{Bucket, Exchange, HttpAnswer, HttpRequest, SigningKeys};
use bucketlog_core::boundary::{Fault, List, ListReply, ObjectMeta, RefusalKind, Version};
use bucketlog_core::ids::TimestampMs;
use jiff02::Timestamp;
use rusty_s3::actions::ListObjectsV2;
use rusty_s3::actions::list_objects_v2::ListObjectsContent;

/// A row has a key of at most 1,024 bytes, each encoded in three, and some hundred bytes more; 1,000 rows.
const MAX_PAGE: u64 = 8 << 20;

impl Exchange for List {
    fn check(&self) -> Result<(), Fault> {
        within("rows of a listing", self.limit.into(), 1_000)
    }

    fn to_http(&self, bucket: &Bucket, keys: Option<&SigningKeys>, at: TimestampMs) -> HttpRequest {
        let mut action = ListObjectsV2::new(&bucket.inner, keys.map(|keys| &keys.0));
        action.with_prefix(bucket.object(&self.prefix));
        action.with_max_keys(self.limit.into());
        if let Some(after) = &self.after {
            action.with_start_after(bucket.object(after));
        }
        HttpRequest { max_answer: MAX_PAGE, ..HttpRequest::new(&action, bucket, at) }
    }

    fn reply(&self, bucket: &Bucket, answer: &HttpAnswer) -> Result<ListReply, Fault> {
        if answer.status != 200 {
            return Err(classify::fault(Operation::List, answer));
        }
        let page = answer.document("ListBucketResult").and_then(|text| ListObjectsV2::parse_response(text).ok());
        let page = page.ok_or_else(|| unusable(answer, "the body is no listing"))?;
        let more = page.next_continuation_token.is_some();
        let objects = page.contents.into_iter().map(|row| meta(bucket, row)).collect::<Option<Vec<_>>>();
        let objects = objects.ok_or_else(|| unusable(answer, "a key is listed that does not begin with the prefix"))?;
        let is_ordered = objects.is_sorted_by(|one, next| one.key < next.key);
        let is_after = objects.first().is_none_or(|first| self.after.as_ref().is_none_or(|after| first.key > *after));
        if is_ordered && is_after {
            return Ok(ListReply { objects, more });
        }
        // Other attempts would not help.
        Err(Fault::refused(RefusalKind::Unsupported, "the store does not list keys in order of their bytes"))
    }
}

fn meta(bucket: &Bucket, row: ListObjectsContent) -> Option<ObjectMeta> {
    let modified = row.last_modified.and_then(|text| text.parse::<Timestamp>().ok());
    Some(ObjectMeta {
        key: bucket.key(&row.key)?,
        size: row.size?,
        version: row.etag.map(Version::from),
        modified: modified.map(|time| TimestampMs(time.as_millisecond())),
    })
}
