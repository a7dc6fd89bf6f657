//! Buckets that speak S3.
//!
//! ```no_run
//! use bucketlog_blocking::store::s3::{S3, S3Options, credentials::Environment};
//! use bucketlog_blocking::{Log, LogOptions, StreamId};
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = S3::open(S3Options::new("my-bucket", "eu-central-1", Environment))?;
//! let log = Log::open(Arc::new(store), StreamId::new("orders")?, LogOptions::default());
//! # Ok(())
//! # }
//! ```
pub mod credentials;
mod options;
mod protocol;
mod rope;
mod wire;

pub use options::{Dialect, S3OpenError, S3Options, Style, Timeouts};

use super::{Store, rules};
use bucketlog_core::boundary::{
    ByteRange, Create, CreateReply, Delete, Fault, Get, GetReply, List, ListReply, ObjectMeta, Stat, StatReply, Swap,
    SwapCondition, SwapReply, Version,
};
use bucketlog_core::ids::TimestampMs;
use bytes::Bytes;
use credentials::Cached;
use protocol::{Protocol, Signer};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Instant, SystemTime};
use wire::{Answer, Lost, Sent, Wire};

/// A bucket, or the part of it under a prefix. Connections are kept open between requests.
#[derive(Debug)]
pub struct S3 {
    protocol: Protocol,
    wire: Wire,
    keys: Cached,
    prefix: String,
    /// Milliseconds by which the store's clock is ahead of this machine's, as far as it complained.
    offset: AtomicI64,
}

impl S3 {
    /// Makes no request.
    ///
    /// # Errors
    /// An endpoint that is no http or https URL.
    pub fn open(options: S3Options) -> Result<Self, S3OpenError> {
        let protocol = Protocol::new(&options)?;
        let wire = Wire::new(options.timeouts, protocol.is_encrypted());
        let S3Options { prefix, credentials, .. } = options;
        Ok(Self { protocol, wire, keys: Cached::new(credentials), prefix, offset: AtomicI64::new(0) })
    }

    fn key(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    fn signer(&self, until: Instant) -> Result<Signer, Fault> {
        let now = SystemTime::now();
        let keys = self.keys.keys(now, until).map_err(|error| Fault::not_sent(error.to_string()))?;
        Ok(Signer::new(keys, rules::timestamp(now).0 + self.offset.load(Relaxed)))
    }

    /// One attempt; an answer that is no success is turned into its fault.
    fn ask(&self, sent: &Sent<'_>, limit: u64, until: Instant) -> Result<Answer, Fault> {
        let answer = self.wire.exchange(sent, limit, until).map_err(|lost| match lost {
            Lost::NotSent(why) => Fault::not_sent(why),
            Lost::Unknown(why) => Fault::indeterminate(why),
        })?;
        match answer.code().as_deref() {
            Some("RequestTimeTooSkewed") => self.learn_clock(&answer),
            Some("ExpiredToken") => self.keys.forget(),
            _ => {}
        }
        if matches!(answer.status, 200 | 204 | 206) { Ok(answer) } else { Err(answer.fault()) }
    }

    fn learn_clock(&self, answer: &Answer) {
        if let Some(date) = answer.date() {
            self.offset.store(date - rules::timestamp(SystemTime::now()).0, Relaxed);
        }
    }

    fn put(
        &self,
        key: &str,
        body: &[Bytes],
        condition: (&str, &str),
        until: Instant,
    ) -> Result<Option<Version>, Fault> {
        let url = self.protocol.put(&self.signer(until)?, &self.key(key));
        let sent = Sent { method: "PUT", url: &url, headers: &[condition], body };
        let answer = self.ask(&sent, wire::MAX_ERROR_BODY, until)?;
        if answer.is_error_in_disguise() {
            return Err(answer.fault());
        }
        Ok(answer.version())
    }
}

/// What a read of a part asks for; `None` for all.
fn range_header(range: ByteRange) -> Result<Option<String>, Fault> {
    match range {
        ByteRange::All => Ok(None),
        ByteRange::FromTo(from, to) if from < to => Ok(Some(format!("bytes={from}-{}", to - 1))),
        ByteRange::Suffix(n) if n > 0 => Ok(Some(format!("bytes=-{n}"))),
        ByteRange::FromTo(..) | ByteRange::Suffix(_) => Err(rules::invalid("the range holds no byte of the object")),
    }
}

/// The bytes asked for and the size of the object.
fn found(request: &Get, answer: &Answer) -> Result<(Bytes, u64), Fault> {
    if answer.too_long {
        return Err(rules::invalid("the body is longer than max_len"));
    }
    let length = answer.body.len() as u64;
    if answer.status == 200 {
        // The whole object, also from a store that passes over a range.
        let range = rules::in_memory(&rules::range(request.range, length, request.max_len)?)?;
        return Ok((answer.body.slice(range), length));
    }
    let foreign = || Fault::indeterminate("the answer holds another range than was asked for");
    let told = answer.header("content-range").and_then(|text| text.strip_prefix("bytes ")?.split_once('/'));
    let total: u64 = told.and_then(|(_, total)| total.parse().ok()).ok_or_else(foreign)?;
    let expected = rules::range(request.range, total, request.max_len)?;
    let exact = format!("{}-{}", expected.start, expected.end.saturating_sub(1));
    let right = told.is_some_and(|(range, _)| range == exact) && length == expected.end - expected.start;
    if right { Ok((answer.body.clone(), total)) } else { Err(foreign()) }
}

impl Store for S3 {
    fn get(&self, request: &Get, until: Instant) -> Result<GetReply, Fault> {
        let url = self.protocol.get(&self.signer(until)?, &self.key(request.key.as_str()));
        let range = range_header(request.range)?;
        let mut headers = Vec::new();
        headers.extend(range.as_deref().map(|range| ("range", range)));
        headers.extend(request.if_match.as_ref().map(|version| ("if-match", version.as_str())));
        headers.extend(request.if_none_match.as_ref().map(|version| ("if-none-match", version.as_str())));
        let sent = Sent { method: "GET", url: &url, headers: &headers, body: &[] };
        match self.ask(&sent, request.max_len, until) {
            Ok(answer) => {
                let (body, total_size) = found(request, &answer)?;
                Ok(GetReply::Found { body, version: answer.version(), total_size })
            }
            Err(Fault::Refused(refusal)) if request.if_none_match.is_some() && refusal.cause.status() == Some(304) => {
                Ok(GetReply::NotModified)
            }
            Err(fault) => Err(fault),
        }
    }

    fn stat(&self, request: &Stat, until: Instant) -> Result<StatReply, Fault> {
        let url = self.protocol.head(&self.signer(until)?, &self.key(request.key.as_str()));
        let answer = self.ask(&Sent { method: "HEAD", url: &url, headers: &[], body: &[] }, 0, until)?;
        let size = answer.header("content-length").and_then(|text| text.parse().ok());
        let size = size.ok_or_else(|| Fault::indeterminate("the answer tells no size"))?;
        let modified = answer.header("last-modified").and_then(protocol::http_date).map(TimestampMs);
        Ok(StatReply { meta: ObjectMeta { key: request.key.clone(), size, version: answer.version(), modified } })
    }

    fn list(&self, request: &List, until: Instant) -> Result<ListReply, Fault> {
        rules::limit(request)?;
        let prefix = self.key(request.prefix.as_str());
        let after = request.after.as_ref().map(|after| self.key(after.as_str()));
        let url = self.protocol.list(&self.signer(until)?, &prefix, after.as_deref(), request.limit);
        // A thousand keys of at most a kilobyte each, percent-encoded.
        let answer = self.ask(&Sent { method: "GET", url: &url, headers: &[], body: &[] }, 8 << 20, until)?;
        let (objects, more) = protocol::rows(&answer, &self.prefix)?;
        Ok(ListReply { objects, more })
    }

    fn delete(&self, request: &Delete, until: Instant) -> Result<(), Fault> {
        let url = self.protocol.delete(&self.signer(until)?, &self.key(request.key.as_str()));
        self.ask(&Sent { method: "DELETE", url: &url, headers: &[], body: &[] }, 0, until).map(drop)
    }

    fn create(&self, request: &Create, until: Instant) -> Result<CreateReply, Fault> {
        let version = self.put(request.key.as_str(), &request.body, ("if-none-match", "*"), until)?;
        Ok(CreateReply { version })
    }

    fn swap(&self, request: &Swap, until: Instant) -> Result<SwapReply, Fault> {
        let condition = match &request.condition {
            SwapCondition::Absent => ("if-none-match", "*"),
            SwapCondition::Matches(version) => ("if-match", self.protocol.tag(version)),
        };
        let version = self.put(request.key.as_str(), std::slice::from_ref(&request.body), condition, until)?;
        Ok(SwapReply { version })
    }
}

#[cfg(test)]
fn soon() -> Instant {
    Instant::now() + std::time::Duration::from_secs(30)
}
