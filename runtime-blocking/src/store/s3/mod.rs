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
mod rope;
mod wire;

pub use bucketlog_s3_presign::{BucketError, Dialect, Style};
pub use options::{S3OpenError, S3Options, Timeouts};

use super::{Store, rules};
use bucketlog_core::boundary::{
    Create, CreateReply, Delete, Fault, Get, GetReply, List, ListReply, Stat, StatReply, Swap, SwapReply,
};
use bucketlog_core::ids::TimestampMs;
use bucketlog_s3_presign::{Bucket, Exchange, HttpAnswer, Lesson, SigningKeys};
use credentials::{Cached, Keys};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Instant, SystemTime};
use wire::{Lost, Wire};

/// A bucket, or the part of it under a prefix. Connections are kept open between requests.
#[derive(Debug)]
pub struct S3 {
    bucket: Bucket,
    wire: Wire,
    keys: Cached,
    /// Milliseconds by which the store's clock is ahead of this machine's, as far as it complained.
    offset: AtomicI64,
}

impl S3 {
    /// Makes no request.
    ///
    /// # Errors
    /// What is no address of a bucket, and stores that are known not to be fit for a log.
    pub fn open(options: S3Options) -> Result<Self, S3OpenError> {
        let bucket = options.address()?;
        let wire = Wire::new(options.timeouts, bucket.is_encrypted());
        Ok(Self { bucket, wire, keys: Cached::new(options.credentials), offset: AtomicI64::new(0) })
    }

    /// One attempt.
    fn exchange<R: Exchange>(&self, request: &R, until: Instant) -> Result<R::Reply, Fault> {
        let now = SystemTime::now();
        let keys = self.keys.keys(now, until).map_err(|error| Fault::not_sent(error.to_string()))?;
        let now = rules::timestamp(now);
        let theirs = TimestampMs(now.0.saturating_add(self.offset.load(Relaxed)));
        let sent = request.to_http(&self.bucket, keys.as_ref().map(signing).as_ref(), theirs);
        let answer = self.wire.exchange(&sent, until).map_err(|lost| match lost {
            Lost::NotSent(why) => Fault::not_sent(why),
            Lost::Unknown(why) => Fault::indeterminate(why),
        })?;
        self.learn(&answer, now);
        request.reply(&self.bucket, &answer)
    }

    fn learn(&self, answer: &HttpAnswer, now: TimestampMs) {
        match Lesson::of(answer, now) {
            Some(Lesson::ClockOffset(offset)) => self.offset.store(offset, Relaxed),
            Some(Lesson::KeysEnded) => self.keys.forget(),
            None => {}
        }
    }
}

fn signing(keys: &Keys) -> SigningKeys {
    SigningKeys::new(&keys.access_key, &keys.secret_key, keys.session_token.as_deref())
}

impl Store for S3 {
    fn get(&self, request: &Get, until: Instant) -> Result<GetReply, Fault> {
        self.exchange(request, until)
    }

    fn stat(&self, request: &Stat, until: Instant) -> Result<StatReply, Fault> {
        self.exchange(request, until)
    }

    fn list(&self, request: &List, until: Instant) -> Result<ListReply, Fault> {
        rules::limit(request)?;
        self.exchange(request, until)
    }

    fn delete(&self, request: &Delete, until: Instant) -> Result<(), Fault> {
        self.exchange(request, until)
    }

    fn create(&self, request: &Create, until: Instant) -> Result<CreateReply, Fault> {
        self.exchange(request, until)
    }

    fn swap(&self, request: &Swap, until: Instant) -> Result<SwapReply, Fault> {
        self.exchange(request, until)
    }
}

#[cfg(test)]
fn soon() -> Instant {
    Instant::now() + std::time::Duration::from_secs(30)
}
