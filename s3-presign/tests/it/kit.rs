//! Requests and answers.
use bucketlog_core::boundary::{
    AbortUpload, ByteRange, CompleteUpload, Create, CreateUpload, Delete, DeleteMany, Fault, Get, GetReply, Key, List,
    ListUploads, PartTag, Stat, Swap, SwapCondition, UploadId, UploadPart, Version,
};
use bucketlog_core::ids::TimestampMs;
use bucketlog_s3_presign::{Bucket, Dialect, Exchange, HttpAnswer, HttpRequest, SigningKeys, Style};
use http::{HeaderMap, HeaderName, HeaderValue};

/// 24 May 2013, the day of the examples in S3's documentation.
pub(crate) const THEN: TimestampMs = TimestampMs(1_369_353_600_000);

pub(crate) fn bucket(dialect: Dialect) -> Bucket {
    Bucket::new("http://store.example:9000", Style::Path, "logs", "us-east-1", dialect).unwrap()
}

pub(crate) fn keys() -> SigningKeys {
    SigningKeys::new("AKEXAMPLE", "SECRETSECRET", Some("TOKENTOKEN"))
}

pub(crate) fn get(range: ByteRange) -> Get {
    Get::new(Key::from("a/key"), range, 1 << 20)
}

pub(crate) fn create() -> Create {
    Create { key: Key::from("a/key"), body: vec!["body ".into(), "in pieces".into()] }
}

pub(crate) fn swap(version: &str) -> Swap {
    let condition = SwapCondition::Matches(Version::from(version));
    Swap { key: Key::from("a/key"), body: "a state".into(), condition }
}

pub(crate) fn list() -> List {
    List { prefix: Key::from("a"), after: Some(Key::from("a/b")), limit: 100 }
}

pub(crate) fn begin_upload() -> CreateUpload {
    CreateUpload { key: Key::from("a/key") }
}

pub(crate) fn part() -> UploadPart {
    let body = vec!["body ".into(), "in pieces".into()];
    UploadPart { key: Key::from("a/key"), upload: UploadId::from("id/+1"), number: 7, body }
}

pub(crate) fn complete(tags: &[&str]) -> CompleteUpload {
    let parts = tags.iter().map(|tag| PartTag::from(*tag)).collect();
    CompleteUpload { key: Key::from("a/key"), upload: UploadId::from("id/+1"), parts }
}

pub(crate) fn abort() -> AbortUpload {
    AbortUpload { key: Key::from("a/key"), upload: UploadId::from("id/+1") }
}

pub(crate) fn list_uploads() -> ListUploads {
    ListUploads { prefix: Key::from("a"), after: Some((Key::from("a/b"), UploadId::from("id/+1"))), limit: 100 }
}

pub(crate) fn delete_many() -> DeleteMany {
    DeleteMany { keys: ["a/1", "a/2", "a/3"].map(Key::from).to_vec() }
}

pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> HttpAnswer {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        map.insert(name, HeaderValue::from_str(value).unwrap());
    }
    HttpAnswer { status, headers: map, body: body.to_owned().into(), too_long: false }
}

pub(crate) fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    request.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

pub(crate) const OPERATIONS: [&str; 13] = [
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

/// What becomes of the answer to a request of each kind, in one word, with the fault if it is one.
pub(crate) fn outcome(operation: &str, answer: &HttpAnswer) -> (String, Option<Fault>) {
    let bucket = bucket(Dialect::Aws);
    match operation {
        "get" => word(get(ByteRange::FromTo(2, 6)).reply(&bucket, answer), |reply| match reply {
            GetReply::Found { body, total_size, .. } => {
                format!("found {} of {total_size}", String::from_utf8_lossy(body))
            }
            GetReply::NotModified => "not modified".to_owned(),
        }),
        "get-if-changed" => {
            let get = Get { if_none_match: Some(Version::from("\"known\"")), ..get(ByteRange::All) };
            word(get.reply(&bucket, answer), |reply| match reply {
                GetReply::Found { body, .. } => format!("found {}", String::from_utf8_lossy(body)),
                GetReply::NotModified => "not modified".to_owned(),
            })
        }
        "stat" => {
            word(Stat { key: Key::from("a/key") }.reply(&bucket, answer), |reply| format!("size {}", reply.meta.size))
        }
        "list" => word(list().reply(&bucket, answer), |reply| {
            let keys: Vec<_> = reply.objects.iter().map(|row| row.key.as_str()).collect();
            format!("{}{}", keys.join(" "), if reply.more { " ..." } else { "" })
        }),
        "create" => word(create().reply(&bucket, answer), |reply| told(reply.version.as_ref())),
        "swap" => word(swap("\"known\"").reply(&bucket, answer), |reply| told(reply.version.as_ref())),
        "delete" => word(Delete { key: Key::from("a/key") }.reply(&bucket, answer), |()| "deleted".to_owned()),
        "begin-upload" => word(begin_upload().reply(&bucket, answer), |reply| format!("begun {}", reply.upload)),
        "part" => word(part().reply(&bucket, answer), |reply| format!("stored {}", reply.tag)),
        "complete" => word(complete(&["\"p\""]).reply(&bucket, answer), |reply| told(reply.version.as_ref())),
        "abort" => word(abort().reply(&bucket, answer), |()| "aborted".to_owned()),
        "list-uploads" => word(list_uploads().reply(&bucket, answer), |reply| {
            let rows: Vec<_> = reply.uploads.iter().map(|row| format!("{}={}", row.key, row.upload)).collect();
            format!("{}{}", rows.join(" "), if reply.more { " ..." } else { "" })
        }),
        "delete-many" => word(delete_many().reply(&bucket, answer), |reply| {
            let words = reply.outcomes.iter().map(|outcome| word(outcome.clone(), |()| "deleted".to_owned()).0);
            words.collect::<Vec<_>>().join(", ")
        }),
        other => panic!("no such operation: {other}"),
    }
}

fn told(version: Option<&Version>) -> String {
    version.map_or_else(|| "written".to_owned(), |version| format!("written {version}"))
}

fn word<T>(result: Result<T, Fault>, success: impl Fn(&T) -> String) -> (String, Option<Fault>) {
    match result {
        Ok(reply) => (success(&reply), None),
        Err(fault) => {
            let word = match (&fault, fault.refusal()) {
                (_, Some(kind)) => format!("refused: {kind:?}"),
                (Fault::NotSent(_), _) => "not sent".to_owned(),
                _ => "indeterminate".to_owned(),
            };
            (word, Some(fault))
        }
    }
}
