//! What S3 says: requests signed by rusty-s3, and the meaning of answers.
use super::credentials::Keys;
use super::options::{Dialect, S3OpenError, S3Options, Style};
use super::wire::Answer;
use bucketlog_core::boundary::{Cause, Fault, ObjectMeta, Refusal, RefusalKind, Version};
use bucketlog_core::ids::TimestampMs;
use jiff02::Timestamp;
use rusty_s3::actions::{DeleteObject, GetObject, HeadObject, ListObjectsV2, PutObject};
use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};
use std::time::Duration;

/// How long a signature holds: a request is sent at once.
const HOLDS: Duration = Duration::from_secs(900);

/// Signs requests to one bucket.
#[derive(Debug)]
pub(super) struct Protocol {
    bucket: Bucket,
    dialect: Dialect,
}

/// Keys and the time to sign with.
pub(super) struct Signer {
    pub(super) keys: Option<Credentials>,
    pub(super) at: Timestamp,
}

impl Signer {
    pub(super) fn new(keys: Option<Keys>, milliseconds: i64) -> Self {
        let keys = keys.map(|Keys { access_key, secret_key, session_token, .. }| match session_token {
            Some(token) => Credentials::new_with_token(access_key, secret_key, token),
            None => Credentials::new(access_key, secret_key),
        });
        Self { keys, at: Timestamp::from_millisecond(milliseconds).unwrap_or_default() }
    }

    fn sign<'a>(&self, action: &impl S3Action<'a>) -> String {
        action.sign_with_time(HOLDS, &self.at).into()
    }
}

impl Protocol {
    pub(super) fn new(options: &S3Options) -> Result<Self, S3OpenError> {
        let aws = || format!("https://s3.{}.amazonaws.com", options.region);
        let endpoint = options.endpoint.clone().unwrap_or_else(aws);
        let endpoint = url::Url::parse(&endpoint).map_err(|_| S3OpenError::Endpoint)?;
        let usual = if options.endpoint.is_none() { Style::VirtualHost } else { Style::Path };
        let style = match options.style.unwrap_or(usual) {
            Style::VirtualHost => UrlStyle::VirtualHost,
            Style::Path => UrlStyle::Path,
        };
        let bucket = Bucket::new(endpoint, style, options.bucket.clone(), options.region.clone());
        Ok(Self { bucket: bucket.map_err(|_| S3OpenError::Endpoint)?, dialect: options.dialect })
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.bucket.base_url().scheme() == "https"
    }

    pub(super) fn get(&self, signer: &Signer, key: &str) -> String {
        signer.sign(&GetObject::new(&self.bucket, signer.keys.as_ref(), key))
    }

    pub(super) fn head(&self, signer: &Signer, key: &str) -> String {
        signer.sign(&HeadObject::new(&self.bucket, signer.keys.as_ref(), key))
    }

    pub(super) fn put(&self, signer: &Signer, key: &str) -> String {
        signer.sign(&PutObject::new(&self.bucket, signer.keys.as_ref(), key))
    }

    pub(super) fn delete(&self, signer: &Signer, key: &str) -> String {
        signer.sign(&DeleteObject::new(&self.bucket, signer.keys.as_ref(), key))
    }

    pub(super) fn list(&self, signer: &Signer, prefix: &str, after: Option<&str>, limit: u16) -> String {
        let mut action = ListObjectsV2::new(&self.bucket, signer.keys.as_ref());
        action.with_prefix(prefix);
        action.with_max_keys(limit.into());
        if let Some(after) = after {
            action.with_start_after(after);
        }
        signer.sign(&action)
    }

    /// The token as `If-Match` on a write wants it.
    pub(super) fn tag<'a>(&self, version: &'a Version) -> &'a str {
        match self.dialect {
            Dialect::Standard => version.as_str(),
            Dialect::BareTags => version.as_str().trim_matches('"'),
        }
    }
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(super) fn version(&self) -> Option<Version> {
        self.header("etag").map(Version::from)
    }

    /// The error document's text, of which only parts are shown.
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Whether an answer that says 200 holds an error all the same.
    pub(super) fn is_error_in_disguise(&self) -> bool {
        !self.body.is_empty() && self.text().contains("<Error")
    }

    pub(super) fn code(&self) -> Option<String> {
        element(&self.text(), "Code").map(str::to_owned)
    }

    /// Milliseconds since 1970 by the store's clock.
    pub(super) fn date(&self) -> Option<i64> {
        http_date(self.header("date")?)
    }

    fn retry_after(&self) -> Option<Duration> {
        self.header("retry-after")?.trim().parse().ok().map(Duration::from_secs)
    }

    /// What this answer means where it is no success.
    pub(super) fn fault(&self) -> Fault {
        let code = self.code();
        let kind = match (self.status, code.as_deref()) {
            (_, Some("RequestTimeTooSkewed" | "ExpiredToken")) => Some(RefusalKind::Throttled(Some(Duration::ZERO))),
            (_, Some("RequestTimeout")) | (200..=299 | 408, _) => None,
            (304 | 412, _) => Some(RefusalKind::Precondition),
            (404, _) => Some(RefusalKind::NotFound),
            (409, Some("ConditionalRequestConflict" | "OperationAborted")) => Some(RefusalKind::Conflict),
            (429, _) | (503, Some("SlowDown")) => Some(RefusalKind::Throttled(self.retry_after())),
            (401 | 403, _) => Some(RefusalKind::Denied),
            (405 | 501, _) => Some(RefusalKind::Unsupported),
            (300..=499, _) => Some(RefusalKind::Invalid),
            _ => None,
        };
        let request = self.header("x-amz-request-id").map(Into::into);
        let cause = Cause::answered(self.advice(code.as_deref()), self.status, code.map(Into::into), request);
        match kind {
            Some(kind) => Fault::Refused(Refusal { kind, cause }),
            None => Fault::Indeterminate(cause),
        }
    }

    fn advice(&self, code: Option<&str>) -> String {
        match (self.status, code) {
            (_, Some("RequestTimeTooSkewed")) => {
                "this machine's clock is off; the store's is used from now on".to_owned()
            }
            (_, Some("ExpiredToken")) => "the temporary keys have ended".to_owned(),
            (300..=399, _) if self.header("x-amz-bucket-region").is_some() => {
                format!("the bucket is in the region {}", self.header("x-amz-bucket-region").unwrap_or_default())
            }
            (403, _) => "denied, or missing without the permission s3:ListBucket that would tell".to_owned(),
            (404, Some("NoSuchBucket")) => "there is no such bucket".to_owned(),
            (404, _) => "no such object".to_owned(),
            _ => "the store's answer".to_owned(),
        }
    }
}

/// One row of a listing, under its key as the log knows it.
pub(super) fn rows(answer: &Answer, prefix: &str) -> Result<(Vec<ObjectMeta>, bool), Fault> {
    let unreadable = || Fault::indeterminate("the listing is no listing");
    let page = ListObjectsV2::parse_response(&answer.text()).map_err(|_| unreadable())?;
    let more = page.next_continuation_token.is_some();
    let row = |row: rusty_s3::actions::list_objects_v2::ListObjectsContent| {
        let modified = row.last_modified.and_then(|text| text.parse::<Timestamp>().ok());
        Some(ObjectMeta {
            key: row.key.strip_prefix(prefix)?.into(),
            size: row.size?,
            version: row.etag.map(Version::from),
            modified: modified.map(|at| TimestampMs(at.as_millisecond())),
        })
    };
    let rows: Option<Vec<_>> = page.contents.into_iter().map(row).collect();
    Ok((rows.ok_or_else(unreadable)?, more))
}

/// Milliseconds since 1970 of a time in a header.
pub(super) fn http_date(text: &str) -> Option<i64> {
    jiff02::fmt::rfc2822::parse(text).ok().map(|at| at.timestamp().as_millisecond())
}

/// Text of the first element of that name; codes, keys and times have no character that XML would escape.
pub(super) fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    rest.split_once('<').map(|(text, _)| text.trim())
}
