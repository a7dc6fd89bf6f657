//! Stores of the blocking driver, on threads that may block.
use super::s3::{S3, S3OpenError, S3Options};
use super::{Attempt, Store, each_request};
use bucketlog_blocking::store::{self as blocking, Memory};
use bucketlog_core::boundary::{
    AbortUpload, CompleteUpload, Create, CreateReply, CreateUpload, CreateUploadReply, Delete, DeleteMany,
    DeleteManyReply, Fault, Get, GetReply, List, ListReply, ListUploads, ListUploadsReply, Stat, StatReply, Swap,
    SwapReply, UploadPart, UploadPartReply,
};
use std::sync::Arc;
use std::time::Instant;
use tokio::task::spawn_blocking;

/// A blocking store ([`LocalDir`](super::LocalDir), or one of your own) as an async one: each request runs on tokio's
/// threads for blocking work. Dropping an attempt does not stop it.
#[derive(Clone, Debug)]
pub struct Blocking<S>(Arc<S>);

impl<S: blocking::Store + 'static> Blocking<S> {
    /// Requests have to be made within a runtime.
    pub fn new(store: S) -> Self {
        Self(Arc::new(store))
    }
}

macro_rules! on_threads { ($($(#[$doc:meta])* $method:ident($request:ident) -> $reply:ty;)*) => {
    impl<S: blocking::Store + 'static> Store for Blocking<S> {
        $(fn $method<'a>(&'a self, request: &'a $request, until: Instant) -> Attempt<'a, $reply> {
            let (store, request) = (Arc::clone(&self.0), request.clone());
            let work = move || blocking::Store::$method(&*store, &request, until);
            Box::pin(async move {
                let ended = |error| Fault::indeterminate(format!("the thread of the attempt ended: {error}"));
                spawn_blocking(work).await.unwrap_or_else(|error| Err(ended(error)))
            })
        })*
    }

    /// It never waits for anything.
    impl Store for Memory {
        $(fn $method<'a>(&'a self, request: &'a $request, until: Instant) -> Attempt<'a, $reply> {
            Box::pin(std::future::ready(blocking::Store::$method(self, request, until)))
        })*
    }
} }
each_request!(on_threads);

/// Opens the store that a URL names: `s3://…` through reqwest, `file://…` and `memory:` as
/// [the blocking driver](bucketlog_blocking::store::open_url) does.
///
/// # Errors
/// What the URL lacks, or what keeps the store from being opened.
pub fn open_url(url: &str) -> Result<Arc<dyn Store>, OpenStoreError> {
    if url.starts_with("s3:") {
        return Ok(Arc::new(S3Options::from_url(url).and_then(S3::open)?));
    }
    if url == "memory:" {
        return Ok(Arc::new(Memory::new()));
    }
    Ok(Arc::new(Blocking::new(blocking::open_url(url)?)))
}

/// Why a URL names no store that can be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenStoreError {
    /// The bucket is not fully named, or not fit for a log.
    Bucket(S3OpenError),
    /// Anything else.
    Other(blocking::OpenStoreError),
}

impl From<S3OpenError> for OpenStoreError {
    fn from(error: S3OpenError) -> Self {
        Self::Bucket(error)
    }
}

impl From<blocking::OpenStoreError> for OpenStoreError {
    fn from(error: blocking::OpenStoreError) -> Self {
        Self::Other(error)
    }
}

impl std::fmt::Display for OpenStoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bucket(error) => error.fmt(f),
            Self::Other(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenStoreError {}
