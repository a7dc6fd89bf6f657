//! What an answer that is no success means: one table for all stores.
//!
//! The first row that fits counts. Rows that look odd say which store they come from.
use crate::HttpAnswer;
use crate::answer::ErrorDocument;
use bucketlog_core::boundary::{Cause, Fault, Refusal, RefusalKind};
use std::time::Duration;

/// Kinds of operations that answers are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `GET` and `HEAD` of an object.
    Read,
    /// A listing of objects.
    List,
    /// A conditional `PUT`, or a step of an upload in parts.
    Write,
    /// A `DELETE` of an object.
    Delete,
    /// A `POST` of objects to delete.
    DeleteMany,
    /// A `DELETE` of an upload.
    Abort,
    /// A listing of uploads.
    ListUploads,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Read, Self::List, Self::Write, Self::Delete, Self::DeleteMany, Self::Abort, Self::ListUploads];

    /// Permissions that it may lack, as S3 names them.
    fn permissions(self) -> &'static str {
        match self {
            Self::Read => "s3:GetObject (or s3:ListBucket, without which a missing object is forbidden, too)",
            Self::List => "s3:ListBucket",
            Self::Write => "s3:PutObject (and s3:GetObject for a conditional replacement)",
            Self::Delete | Self::DeleteMany => "s3:DeleteObject",
            Self::Abort => "s3:AbortMultipartUpload",
            Self::ListUploads => "s3:ListBucketMultipartUploads",
        }
    }
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The condition is false.
    Precondition,
    /// There is no such object.
    NotFound,
    /// Not applied, and nothing is decided.
    Conflict,
    /// Not applied; ask less often.
    Throttled,
    /// The signature is out of date; nothing was applied.
    SignAnew,
    /// Not permitted.
    Denied,
    /// The store has no such operation.
    Unsupported,
    /// There is no such bucket.
    NoBucket,
    /// The bucket lies elsewhere.
    Elsewhere,
    /// The request is wrong.
    Invalid,
    /// It may have been applied, or may yet be.
    Indeterminate,
}

/// One line of the table; what is left open fits everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Operations that the row speaks of; none for all.
    pub operations: &'static [Operation],
    /// First and last status.
    pub statuses: (u16, u16),
    /// Codes of the error document; none for all, also for no document.
    pub codes: &'static [&'static str],
    /// What it means.
    pub meaning: Meaning,
}

const fn row(statuses: (u16, u16), codes: &'static [&'static str], meaning: Meaning) -> Row {
    Row { operations: &[], statuses, codes, meaning }
}

const fn for_bulk(statuses: (u16, u16), codes: &'static [&'static str], meaning: Meaning) -> Row {
    Row { operations: &[Operation::DeleteMany], statuses, codes, meaning }
}

const fn for_writes(statuses: (u16, u16), codes: &'static [&'static str], meaning: Meaning) -> Row {
    Row { operations: &[Operation::Write], statuses, codes, meaning }
}

/// The table.
pub const TABLE: &[Row] = &[
    // A signature that is out of date is refused before anything else is looked at.
    row(
        (400, 403),
        &["RequestTimeTooSkewed", "ExpiredToken", "TokenRefreshRequired", "RequestExpired"],
        Meaning::SignAnew,
    ),
    row(
        (400, 503),
        &["SlowDown", "TooManyRequests", "RequestLimitExceeded", "Throttling", "ThrottlingException"],
        Meaning::Throttled,
    ),
    row((429, 429), &[], Meaning::Throttled),
    // Some stores answer 304 to a create whose key exists (old MinIO).
    for_writes((304, 304), &[], Meaning::Precondition),
    row((412, 412), &[], Meaning::Precondition),
    // Undecided: the attempt was not applied, and the key may be absent.
    row((409, 409), &["ConditionalRequestConflict", "OperationAborted"], Meaning::Conflict),
    for_writes((409, 409), &[""], Meaning::Conflict),
    row((409, 409), &[], Meaning::Invalid),
    row((404, 404), &["NoSuchBucket"], Meaning::NoBucket),
    // Stores that do not know bulk deletes take them for something else, or want another digest than MD5.
    for_bulk((404, 404), &[], Meaning::Unsupported),
    for_bulk((400, 400), &["MissingContentMD5", "InvalidDigest", "MalformedXML"], Meaning::Unsupported),
    row((404, 404), &[], Meaning::NotFound),
    row((300, 303), &[], Meaning::Elsewhere),
    row((305, 308), &[], Meaning::Elsewhere),
    row((400, 400), &["AuthorizationHeaderMalformed", "AuthorizationQueryParametersError"], Meaning::Elsewhere),
    row((400, 501), &["NotImplemented", "MethodNotAllowed"], Meaning::Unsupported),
    row((405, 405), &[], Meaning::Unsupported),
    row((501, 501), &[], Meaning::Unsupported),
    row((401, 401), &[], Meaning::Denied),
    row((403, 403), &[], Meaning::Denied),
    // The store gave up waiting for the request, or a proxy for the store.
    row((400, 400), &["RequestTimeout"], Meaning::Indeterminate),
    row((408, 408), &[], Meaning::Indeterminate),
    row((400, 499), &[], Meaning::Invalid),
    // Ceph's gateway answers 500 to some losers of a race of conditional writes.
    row((0, u16::MAX), &[], Meaning::Indeterminate),
];

impl Row {
    fn fits(&self, operation: Operation, status: u16, code: &str) -> bool {
        (self.operations.is_empty() || self.operations.contains(&operation))
            && (self.statuses.0..=self.statuses.1).contains(&status)
            && (self.codes.is_empty() || self.codes.contains(&code))
    }
}

/// What status and error code mean; an answer without a code has the empty one.
#[must_use]
pub fn meaning(operation: Operation, status: u16, code: &str) -> Meaning {
    let row = TABLE.iter().find(|row| row.fits(operation, status, code));
    row.map_or(Meaning::Indeterminate, |row| row.meaning)
}

/// The fault in an answer that is no success.
pub(crate) fn fault(operation: Operation, answer: &HttpAnswer) -> Fault {
    judge(operation, answer.status, answer, &answer.error().unwrap_or_default())
}

/// The fault in a row of an answer about many objects. It has a code but no status.
pub(crate) fn fault_of_row(operation: Operation, answer: &HttpAnswer, document: &ErrorDocument) -> Fault {
    /// Statuses that S3 documents for its codes.
    const STATUSES: &[(&[&str], u16)] = &[
        (&["ExpiredToken", "InvalidArgument", "InvalidRequest", "KeyTooLongError"], 400),
        (&["AccessDenied", "AllAccessDisabled", "RequestTimeTooSkewed"], 403),
        (&["NoSuchKey", "NoSuchVersion"], 404),
        (&["MethodNotAllowed"], 405),
        (&["ConditionalRequestConflict", "OperationAborted"], 409),
        (&["PreconditionFailed"], 412),
        (&["NotImplemented"], 501),
        (&["SlowDown"], 503),
    ];
    let code = document.code.as_deref().unwrap_or_default();
    let status = STATUSES.iter().find(|(codes, _)| codes.contains(&code)).map_or(500, |(_, status)| *status);
    judge(operation, status, answer, document)
}

fn judge(operation: Operation, status: u16, answer: &HttpAnswer, document: &ErrorDocument) -> Fault {
    let meaning = meaning(operation, status, document.code.as_deref().unwrap_or_default());
    let region = region(answer, document);
    let (kind, message) = match meaning {
        Meaning::Precondition => (RefusalKind::Precondition, "the condition is false".to_owned()),
        Meaning::NotFound => (RefusalKind::NotFound, missing(document.code.as_deref()).to_owned()),
        Meaning::Conflict => (RefusalKind::Conflict, "another conditional request was under way".to_owned()),
        Meaning::Throttled => (RefusalKind::Throttled(retry_after(answer)), "the store asks to slow down".to_owned()),
        Meaning::SignAnew => (
            RefusalKind::Throttled(None),
            "the signature is out of date (the clock here and the store's differ, or the keys have ended): the next \
             attempt is signed anew"
                .to_owned(),
        ),
        Meaning::Denied => (RefusalKind::Denied, denied(operation, document.code.as_deref())),
        Meaning::Unsupported => (RefusalKind::Unsupported, "the store has no such operation".to_owned()),
        Meaning::NoBucket => {
            (RefusalKind::Invalid, "there is no such bucket: check its name and the endpoint".to_owned())
        }
        Meaning::Elsewhere => (RefusalKind::Invalid, elsewhere(region)),
        Meaning::Invalid => (RefusalKind::Invalid, said(document, "the store finds the request wrong")),
        Meaning::Indeterminate => {
            return Fault::Indeterminate(cause(answer, document, said(document, "the store failed")));
        }
    };
    Fault::Refused(Refusal { kind, cause: cause(answer, document, message) })
}

/// The bucket's region, if the store names it.
pub(crate) fn region<'a>(answer: &'a HttpAnswer, document: &'a ErrorDocument) -> Option<&'a str> {
    answer.header("x-amz-bucket-region").or(document.region.as_deref())
}

fn missing(code: Option<&str>) -> &'static str {
    match code {
        Some("NoSuchUpload") => "there is no such upload; it may be completed or aborted",
        _ => "there is no such object",
    }
}

fn denied(operation: Operation, code: Option<&str>) -> String {
    match code {
        Some("SignatureDoesNotMatch" | "InvalidAccessKeyId") => {
            "the store does not know these keys: check the access key, its secret and the region".to_owned()
        }
        _ => format!("denied; these keys may lack {}", operation.permissions()),
    }
}

fn elsewhere(region: Option<&str>) -> String {
    match region {
        Some(region) => format!("the bucket lies in the region {region}: sign for that region"),
        None => "the bucket lies in another region or behind another endpoint: check both".to_owned(),
    }
}

/// The store's own words, except where they may repeat parts of a signature.
fn said(document: &ErrorDocument, otherwise: &str) -> String {
    const MOST: usize = 200;
    let is_about_keys = |code: &str| ["Sign", "Token", "Auth", "AccessKey"].iter().any(|part| code.contains(part));
    let message = document.message.as_deref().filter(|text| !text.is_empty());
    match message.filter(|_| !document.code.as_deref().is_some_and(is_about_keys)) {
        Some(message) => format!("{otherwise}: {}", message.chars().take(MOST).collect::<String>()),
        None => otherwise.to_owned(),
    }
}

pub(crate) fn cause(answer: &HttpAnswer, document: &ErrorDocument, message: String) -> Cause {
    let id = answer.header("x-amz-request-id").or(document.request_id.as_deref());
    Cause::answered(message, answer.status, document.code.as_deref().map(Into::into), id.map(Into::into))
}

/// An answer that looks like a success and is none: what it should do is unknown.
pub(crate) fn unusable(answer: &HttpAnswer, why: &str) -> Fault {
    Fault::Indeterminate(cause(answer, &answer.error().unwrap_or_default(), why.to_owned()))
}

/// Seconds; the form with a date is not used by stores.
fn retry_after(answer: &HttpAnswer) -> Option<Duration> {
    answer.header("retry-after")?.trim().parse().ok().map(Duration::from_secs)
}
