//! Requests and answers.
use bucketlog_core::boundary::{
    ByteRange, Create, Delete, Fault, Get, GetReply, Key, List, Stat, Swap, SwapCondition, Version,
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
