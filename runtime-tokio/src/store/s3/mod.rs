//! Buckets that speak S3, over reqwest.
//!
//! Everything but the HTTP client is the blocking driver's: addresses, dialects, signatures, credentials, what an answer
//! means.
//!
//! ```no_run
//! use bucketlog_tokio::store::s3::{S3, S3Options, credentials::Environment};
//! use bucketlog_tokio::{Log, LogOptions, StreamId};
//! use std::sync::Arc;
//!
//! # async fn open() -> Result<(), Box<dyn std::error::Error>> {
//! let store = S3::open(S3Options::new("my-bucket", "eu-central-1", Environment))?;
//! let log = Log::open(Arc::new(store), StreamId::new("orders")?, LogOptions::default())?;
//! # Ok(())
//! # }
//! ```
mod wire;

pub use bucketlog_blocking::store::s3::{BucketError, Dialect, S3OpenError, S3Options, Style, Timeouts, credentials};

use super::{Attempt, Store, each_request};
use bucketlog_blocking::store::s3::{Exchange, Session, Signer};
use bucketlog_core::boundary::{
    AbortUpload, CompleteUpload, Create, CreateReply, CreateUpload, CreateUploadReply, Delete, DeleteMany,
    DeleteManyReply, Fault, Get, GetReply, List, ListReply, ListUploads, ListUploadsReply, Stat, StatReply, Swap,
    SwapReply, UploadPart, UploadPartReply,
};
use std::sync::Arc;
use std::time::Instant;
use tokio::task::spawn_blocking;
use wire::Wire;

/// A bucket, or the part of it under a prefix. Connections are kept open between requests.
#[derive(Debug)]
pub struct S3 {
    session: Arc<Session>,
    wire: Wire,
}

impl S3 {
    /// Makes no request. Requests have to be made within a runtime that has IO and time enabled.
    ///
    /// # Errors
    /// What is no address of a bucket, and stores that are known not to be fit for a log.
    pub fn open(options: S3Options) -> Result<Self, S3OpenError> {
        let timeouts = options.timeouts;
        let session = Session::open(options)?;
        let wire = Wire::new(timeouts, session.is_encrypted());
        Ok(Self { session: Arc::new(session), wire })
    }

    /// One attempt.
    async fn exchange<R: Exchange + Sync>(&self, request: &R, until: Instant) -> Result<R::Reply, Fault> {
        let sent = self.session.sign(request, &self.signer(until).await?)?;
        let answer = self.wire.exchange(sent, until).await?;
        self.session.read(request, &answer)
    }

    /// Asking for keys may read files, run a program or speak with another service: not on a thread that runs tasks.
    async fn signer(&self, until: Instant) -> Result<Signer, Fault> {
        if let Some(signer) = self.session.known_signer() {
            return Ok(signer);
        }
        let session = Arc::clone(&self.session);
        let ended = |error| Fault::not_sent(format!("the thread that asks for keys ended: {error}"));
        spawn_blocking(move || session.signer(until)).await.unwrap_or_else(|error| Err(ended(error)))
    }

    /// One after the other where the store has no bulk delete; it is asked for one until it refused the first.
    async fn delete_each(&self, request: &DeleteMany, until: Instant) -> Result<DeleteManyReply, Fault> {
        if !self.session.deletes_one_by_one() {
            match self.exchange(request, until).await {
                Err(fault) if self.session.learn_from_bulk_delete(&fault) => {}
                answer => return answer,
            }
        }
        let mut outcomes = Vec::with_capacity(request.keys.len());
        for key in &request.keys {
            outcomes.push(self.exchange(&Delete { key: key.clone() }, until).await);
        }
        Ok(DeleteManyReply { outcomes })
    }
}

macro_rules! exchanges {
    (@ $self:ident, delete_many, $request:ident, $until:ident) => { $self.delete_each($request, $until) };
    (@ $self:ident, $method:ident, $request:ident, $until:ident) => { $self.exchange($request, $until) };
    ($($(#[$doc:meta])* $method:ident($request:ident) -> $reply:ty;)*) => {
        impl Store for S3 {
            $(fn $method<'a>(&'a self, request: &'a $request, until: Instant) -> Attempt<'a, $reply> {
                Box::pin(exchanges!(@ self, $method, request, until))
            })*
        }
    };
}
each_request!(exchanges);
