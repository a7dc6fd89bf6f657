//! `POST` of keys to delete (`DeleteObjects`).
use crate::answer::ErrorDocument;
use crate::classify::{self, Operation, unusable};
use crate::exchange::within;
use crate::{Bucket, Exchange, HttpAnswer, HttpRequest, SigningKeys};
use bucketlog_core::boundary::{DeleteMany, DeleteManyReply, Fault, RefusalKind};
use bucketlog_core::ids::TimestampMs;
use instant_xml::FromXml;
use rusty_s3::actions::{DeleteObjects, ObjectIdentifier};
use std::collections::BTreeMap;

/// A row has a key of at most 1,024 bytes, each escaped in at most six, or a message; 1,000 rows.
const MAX_RESULT: u64 = 8 << 20;

#[derive(FromXml)]
#[xml(rename = "DeleteResult", ns("http://s3.amazonaws.com/doc/2006-03-01/"))]
struct Outcomes {
    deleted: Vec<Deleted>,
    failed: Vec<Failed>,
}

#[derive(FromXml)]
#[xml(rename = "Deleted", ns("http://s3.amazonaws.com/doc/2006-03-01/"))]
struct Deleted {
    #[xml(rename = "Key")]
    key: String,
}

#[derive(FromXml)]
#[xml(rename = "Error", ns("http://s3.amazonaws.com/doc/2006-03-01/"))]
struct Failed {
    #[xml(rename = "Key")]
    key: String,
    #[xml(rename = "Code")]
    code: Option<String>,
    #[xml(rename = "Message")]
    message: Option<String>,
}

impl Exchange for DeleteMany {
    fn check(&self) -> Result<(), Fault> {
        within("keys to delete at once", self.keys.len(), 1_000)
    }

    /// Asks for a row about every key, not only about failures: what is not mentioned may not have been done.
    fn to_http(&self, bucket: &Bucket, keys: Option<&SigningKeys>, at: TimestampMs) -> HttpRequest {
        let objects: Vec<_> = self.keys.iter().map(|key| ObjectIdentifier::new(bucket.object(key))).collect();
        let action = DeleteObjects::new(&bucket.inner, keys.map(|keys| &keys.0), objects.iter());
        let request = HttpRequest::new(&action, bucket, at);
        let (body, md5) = action.body_with_md5();
        HttpRequest { body: vec![body.into()], max_answer: MAX_RESULT, ..request }.with("content-md5", md5)
    }

    fn reply(&self, bucket: &Bucket, answer: &HttpAnswer) -> Result<DeleteManyReply, Fault> {
        if answer.status != 200 {
            return Err(classify::fault(Operation::DeleteMany, answer));
        }
        let told = answer.document("DeleteResult").and_then(|text| instant_xml::from_str::<Outcomes>(text).ok());
        let told = told.ok_or_else(|| unusable(answer, "the body does not say what was deleted"))?;
        let mut outcomes: BTreeMap<String, Result<(), Fault>> =
            told.deleted.into_iter().map(|row| (row.key, Ok(()))).collect();
        outcomes.extend(told.failed.into_iter().map(|row| judge(answer, row)));
        let outcome = |object: String| {
            let silent = || Err(unusable(answer, "the store does not say what became of the key"));
            outcomes.get(&object).cloned().unwrap_or_else(silent)
        };
        Ok(DeleteManyReply { outcomes: self.keys.iter().map(|key| outcome(bucket.object(key))).collect() })
    }
}

fn judge(answer: &HttpAnswer, Failed { key, code, message }: Failed) -> (String, Result<(), Fault>) {
    let fault =
        classify::fault_of_row(Operation::Delete, answer, &ErrorDocument { code, message, ..ErrorDocument::default() });
    let is_missing = fault.refusal() == Some(&RefusalKind::NotFound);
    (key, if is_missing { Ok(()) } else { Err(fault) })
}
