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
mod session;
mod wire;

pub use bucketlog_s3_presign::{BucketError, Dialect, Exchange, HttpAnswer, HttpRequest, MAX_DOCUMENT, Style};
pub use options::{S3OpenError, S3Options, Timeouts};
pub use session::{Session, Signer};

use super::{Store, one_by_one};
use bucketlog_core::boundary::{
    AbortUpload, CompleteUpload, Create, CreateReply, CreateUpload, CreateUploadReply, Delete, DeleteMany,
    DeleteManyReply, Fault, Get, GetReply, List, ListReply, ListUploads, ListUploadsReply, Stat, StatReply, Swap,
    SwapReply, UploadPart, UploadPartReply,
};
use std::time::Instant;
use wire::{Lost, Wire};

/// A bucket, or the part of it under a prefix. Connections are kept open between requests.
#[derive(Debug)]
pub struct S3 {
    session: Session,
    wire: Wire,
}

impl S3 {
    /// Makes no request.
    ///
    /// # Errors
    /// What is no address of a bucket, and stores that are known not to be fit for a log.
    pub fn open(options: S3Options) -> Result<Self, S3OpenError> {
        let timeouts = options.timeouts;
        let session = Session::open(options)?;
        let wire = Wire::new(timeouts, session.is_encrypted());
        Ok(Self { session, wire })
    }

    /// One attempt.
    fn exchange<R: Exchange>(&self, request: &R, until: Instant) -> Result<R::Reply, Fault> {
        let sent = self.session.sign(request, &self.session.signer(until)?)?;
        let answer = self.wire.exchange(&sent, until).map_err(|lost| match lost {
            Lost::NotSent(why) => Fault::not_sent(why),
            Lost::Unknown(why) => Fault::indeterminate(why),
        })?;
        self.session.read(request, &answer)
    }
}

impl Store for S3 {
    fn get(&self, request: &Get, until: Instant) -> Result<GetReply, Fault> {
        self.exchange(request, until)
    }

    fn stat(&self, request: &Stat, until: Instant) -> Result<StatReply, Fault> {
        self.exchange(request, until)
    }

    fn list(&self, request: &List, until: Instant) -> Result<ListReply, Fault> {
        self.exchange(request, until)
    }

    fn delete(&self, request: &Delete, until: Instant) -> Result<(), Fault> {
        self.exchange(request, until)
    }

    /// One after the other where the store has no bulk delete; it is asked for one until it refused the first.
    fn delete_many(&self, request: &DeleteMany, until: Instant) -> Result<DeleteManyReply, Fault> {
        if !self.session.deletes_one_by_one() {
            match self.exchange(request, until) {
                Err(fault) if self.session.learn_from_bulk_delete(&fault) => {}
                answer => return answer,
            }
        }
        Ok(one_by_one(self, request, until))
    }

    fn create(&self, request: &Create, until: Instant) -> Result<CreateReply, Fault> {
        self.exchange(request, until)
    }

    fn swap(&self, request: &Swap, until: Instant) -> Result<SwapReply, Fault> {
        self.exchange(request, until)
    }

    fn create_upload(&self, request: &CreateUpload, until: Instant) -> Result<CreateUploadReply, Fault> {
        self.exchange(request, until)
    }

    fn upload_part(&self, request: &UploadPart, until: Instant) -> Result<UploadPartReply, Fault> {
        self.exchange(request, until)
    }

    fn complete_upload(&self, request: &CompleteUpload, until: Instant) -> Result<CreateReply, Fault> {
        self.exchange(request, until)
    }

    fn abort_upload(&self, request: &AbortUpload, until: Instant) -> Result<(), Fault> {
        self.exchange(request, until)
    }

    fn list_uploads(&self, request: &ListUploads, until: Instant) -> Result<ListUploadsReply, Fault> {
        self.exchange(request, until)
    }
}

#[cfg(test)]
fn soon() -> Instant {
    Instant::now() + std::time::Duration::from_secs(30)
}
