//! The way of one request to HTTP and back.
use crate::{Bucket, HttpAnswer, SigningKeys};
use bucketlog_core::boundary::{Fault, RefusalKind, Request};
use bucketlog_core::ids::TimestampMs;
use bytes::Bytes;
use jiff02::Timestamp;
use rusty_s3::S3Action;
use std::fmt;
use std::time::Duration;

/// How long a signature holds: long enough for a slow upload, short enough to be worth little when it leaks. AWS ends a
/// request that began in time (providers 2.1); the next attempt is signed anew.
const SIGNATURE_LIFE: Duration = Duration::from_secs(900);
/// Bytes of an answer that is no object: an error document or an acknowledgement.
pub const MAX_DOCUMENT: u64 = 64 << 10;

/// A request that S3 understands.
pub trait Exchange: Request {
    /// Whether the request is one at all, before anything is sent.
    ///
    /// # Errors
    /// [`RefusalKind::Invalid`]: a number outside of S3's limits.
    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }

    /// The HTTP request, signed for this moment by the store's clock; without keys it is not signed.
    fn to_http(&self, bucket: &Bucket, keys: Option<&SigningKeys>, at: TimestampMs) -> HttpRequest;

    /// What the answer means.
    ///
    /// # Errors
    /// Everything but a success, by the table in [`crate::classify`].
    fn reply(&self, bucket: &Bucket, answer: &HttpAnswer) -> Result<Self::Reply, Fault>;
}

/// S3 counts these from 1 to `most`.
pub(crate) fn within(what: &str, number: usize, most: usize) -> Result<(), Fault> {
    if (1..=most).contains(&number) {
        return Ok(());
    }
    Err(Fault::refused(RefusalKind::Invalid, format!("{what}: {number}, where S3 takes 1 to {most}")))
}

/// An HTTP request to send once, as it is: no redirects, no decompression, no retries.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// `GET`, `HEAD`, `PUT`, `POST` or `DELETE`.
    pub method: &'static str,
    /// Signed, and so a secret while the signature holds.
    pub url: String,
    /// Names in lower case. The driver adds `host`, and `content-length` where there may be a body.
    pub headers: Vec<(&'static str, String)>,
    /// Pieces of the body, in order; see [`Self::content_length`].
    pub body: Vec<Bytes>,
    /// The driver buffers at most so many bytes of a successful answer's body, and at most
    /// [`MAX_DOCUMENT`] of others.
    pub max_answer: u64,
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let public = self.url.split_once('?').map_or(self.url.as_str(), |(public, _)| public);
        f.debug_struct("HttpRequest").field("method", &self.method).field("url", &public).finish_non_exhaustive()
    }
}

impl HttpRequest {
    /// Signs an action.
    pub(crate) fn new<'a, A: S3Action<'a>>(action: &A, bucket: &Bucket, at: TimestampMs) -> Self {
        let at = Timestamp::from_millisecond(at.0).unwrap_or_default();
        let url = action.sign_with_time(SIGNATURE_LIFE, &at).into();
        let headers = bucket.dialect.extra_header().map(|(name, value)| (name, value.to_owned()));
        Self {
            method: A::METHOD.to_str(),
            url,
            headers: headers.into_iter().collect(),
            body: Vec::new(),
            max_answer: MAX_DOCUMENT,
        }
    }

    /// Bytes of the body; `None` where a request has none, as opposed to an empty one.
    #[must_use]
    pub fn content_length(&self) -> Option<u64> {
        let has_body = matches!(self.method, "PUT" | "POST");
        has_body.then(|| self.body.iter().map(|piece| piece.len() as u64).sum())
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}
