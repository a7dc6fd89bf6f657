//! Every answer means something; none panics.
use crate::kit::{OPERATIONS, answer, outcome};
use bucketlog_core::ids::TimestampMs;
use bucketlog_s3_presign::classify::{Operation, TABLE, meaning};
use bucketlog_s3_presign::{HttpAnswer, Lesson};
use proptest::prelude::*;

fn any_answer() -> impl Strategy<Value = HttpAnswer> {
    let names = ["etag", "content-range", "content-length", "retry-after", "date", "last-modified", "x-amz-request-id"];
    let header = (prop::sample::select(names.to_vec()), "[ -~]{0,30}");
    let likely = prop::sample::select(vec![
        String::new(),
        "<Error><Code>SlowDown</Code></Error>".to_owned(),
        "<Error><Code>RequestTimeTooSkewed".to_owned(),
        "<InitiateMultipartUploadResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><UploadId>".to_owned(),
        "<CompleteMultipartUploadResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><ETag>".to_owned(),
        "<ListMultipartUploadsResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Upload><Key>a".to_owned(),
        "<DeleteResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Error><Code>".to_owned(),
        "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Contents><Key>a</Key>".to_owned(),
    ]);
    let body = prop_oneof![likely.prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 0..200)];
    let status = prop_oneof![
        prop::sample::select(vec![200u16, 204, 206, 304, 400, 403, 404, 409, 412, 416, 429, 500, 503]),
        any::<u16>()
    ];
    (status, prop::collection::vec(header, 0..5), body, any::<bool>()).prop_map(|(status, headers, body, too_long)| {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        HttpAnswer { body: body.into(), too_long, ..answer(status, &headers, "") }
    })
}

proptest! {
    #[test]
    fn any_answer_to_any_request_has_a_meaning(answer in any_answer()) {
        for operation in OPERATIONS {
            outcome(operation, &answer);
        }
        let _ = Lesson::of(&answer, TimestampMs(0));
    }

    /// A write that a store may have applied is never called refused.
    #[test]
    fn server_errors_of_writes_are_never_definite(status in 500u16..600, code in "[A-Za-z]{0,20}") {
        let body = format!("<Error><Code>{code}</Code></Error>");
        let is_told = ["SlowDown", "NotImplemented", "TooManyRequests"].contains(&code.as_str()) || status == 501;
        for operation in ["create", "swap", "delete", "begin-upload", "part", "complete", "abort", "delete-many"] {
            let (word, _) = outcome(operation, &answer(status, &[], &body));
            prop_assert!(is_told || word == "indeterminate", "{operation} {status} {code}: {word}");
        }
    }
}

#[test]
fn the_last_row_catches_everything() {
    let last = TABLE.last().unwrap();
    assert!(last.operations.is_empty() && last.codes.is_empty() && last.statuses == (0, u16::MAX));
}

#[test]
fn no_row_is_hidden_by_the_ones_before_it() {
    for (index, row) in TABLE.iter().enumerate() {
        let operations = if row.operations.is_empty() { &Operation::ALL[..] } else { row.operations };
        let codes: &[&str] = if row.codes.is_empty() { &["Whatever"] } else { row.codes };
        let reaches = |status: u16| {
            operations.iter().any(|operation| codes.iter().any(|code| meaning(*operation, status, code) == row.meaning))
        };
        assert!((row.statuses.0..=row.statuses.1).any(reaches), "row {index}");
    }
}
