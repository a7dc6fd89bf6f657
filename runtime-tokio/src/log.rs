//! The entrance: one stream in one store.
use crate::driver::{Limits, Tokio};
use crate::reader::Reader;
use crate::store::{Blocking, LocalDir, Store};
use crate::writer::Writer;
use bucketlog_blocking::error::{EntropyError, OpenError};
use bucketlog_blocking::initialize::{InitializeOptions, InitializePartitionError, Initialized};
use bucketlog_blocking::metrics::MetricsSink;
use bucketlog_blocking::{Lsn, Partition, Prefixes, ReaderOptions, StreamId, WriterOptions};
use bucketlog_core::format::keys::LogKeys;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::available_parallelism;
use tokio::runtime::Handle;

/// Options that all handles of a log share.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Where the log's tasks run; by default in the runtime that the log is opened in.
    pub runtime: Option<Handle>,
    /// Requests to the store at once, uploads not counted; at least 1, default 64.
    pub max_requests: usize,
    /// Segments, parts and pages uploaded at once, over all writers; at least 1, default 4.
    pub max_uploads: usize,
    /// Blocks compressed or decompressed at once, on tokio's threads for blocking work; at least 1, by default the
    /// number of cores.
    pub max_computations: usize,
    /// Where the objects lie; by default under `objlog` (objlog formats 3).
    pub prefixes: Prefixes,
    /// Whether the first writer of this log makes sure, with two requests more, that the store refuses swaps whose
    /// condition is false ([`WriterOptions::prove_store`]); default yes.
    pub prove_store: bool,
    /// Receives what the machines report; default none.
    pub metrics: Option<Arc<dyn MetricsSink>>,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            runtime: None,
            max_requests: 64,
            max_uploads: 4,
            max_computations: available_parallelism().map_or(1, usize::from),
            prefixes: Prefixes::default(),
            prove_store: true,
            metrics: None,
        }
    }
}

/// Why a log was not opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenLogError {
    /// The log was opened outside of a runtime, and no handle was given.
    NoRuntime,
    /// The directory can't be used.
    Directory(io::Error),
}

impl std::fmt::Display for OpenLogError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoRuntime => f.write_str("no tokio runtime here: open the log in one, or set LogOptions::runtime"),
            Self::Directory(error) => write!(f, "the log's directory can't be used: {error}"),
        }
    }
}

impl std::error::Error for OpenLogError {}

/// One stream in one store: the entrance to its writers and readers. Cloning is cheap.
///
/// All handles of a log share its limits. They may be dropped in any order and anywhere. An idle log does nothing.
#[derive(Clone, Debug)]
pub struct Log {
    log: bucketlog_blocking::Log,
    driver: Arc<Tokio>,
}

impl Log {
    /// Opens a stream in a local directory, which is created if need be.
    ///
    /// # Errors
    /// The directory can't be used, or there is no runtime.
    ///
    /// # Panics
    /// As [`Log::open`].
    pub fn open_dir(path: impl AsRef<Path>, stream: StreamId) -> Result<Self, OpenLogError> {
        let store = Blocking::new(LocalDir::open(path).map_err(OpenLogError::Directory)?);
        Self::open(Arc::new(store), stream, LogOptions::default())
    }

    /// Opens the stream. No request is made before a writer or reader needs one.
    ///
    /// # Errors
    /// There is no runtime.
    ///
    /// # Panics
    /// The runtime has no timers (`enable_time`).
    pub fn open(store: Arc<dyn Store>, stream: StreamId, options: LogOptions) -> Result<Self, OpenLogError> {
        let here = || Handle::try_current().map_err(|_| OpenLogError::NoRuntime);
        let runtime = options.runtime.map_or_else(here, Ok)?;
        let limits = Limits {
            requests: options.max_requests.max(1),
            uploads: options.max_uploads.max(1),
            computations: options.max_computations.max(1),
        };
        let driver = Tokio::new(runtime, store, limits);
        let shared = bucketlog_blocking::LogOptions {
            prefixes: options.prefixes,
            prove_store: options.prove_store,
            metrics: options.metrics,
            ..Default::default()
        };
        let log = bucketlog_blocking::Log::driven_by(Arc::clone(&driver) as _, stream, shared);
        Ok(Self { log, driver })
    }

    /// The stream's name.
    #[must_use]
    pub fn stream(&self) -> &StreamId {
        self.log.stream()
    }

    /// Claims a partition for writing, which fences its present owner: one read and one swap of the head where nobody
    /// else claims it. Dropping the future gives the claim up, which may fence the present owner all the same.
    ///
    /// # Errors
    /// A bad option, or a claim that failed. A claim that ended without an answer may yet fence the present owner.
    pub async fn writer(&self, partition: Partition, options: WriterOptions) -> Result<Writer, OpenError> {
        self.log.writer_async(partition, options).await.map(Writer::new)
    }

    /// A reader of a partition. It makes no request before it is asked.
    ///
    /// # Errors
    /// The operating system gave no random bytes.
    pub fn reader(&self, partition: Partition, options: ReaderOptions) -> Result<Reader, EntropyError> {
        self.log.reader(partition, options).map(Reader::new)
    }

    /// Creates a partition whose first record gets `next_lsn`, as a migration does, unless it exists. A partition that
    /// is to begin at LSN 0 need not be created: its first writer does so. Dropping the future gives up; the partition
    /// may be created all the same.
    ///
    /// # Errors
    /// As said at [`InitializeError`](crate::initialize::InitializeError).
    pub async fn initialize_partition(
        &self,
        partition: Partition,
        next_lsn: Lsn,
        options: &InitializeOptions,
    ) -> Result<Initialized, InitializePartitionError> {
        self.log.initialize_partition_async(partition, next_lsn, options).await
    }

    /// Ends the log for all its handles: writers abort (close those whose records matter before), calls under way are
    /// answered, and the future ends when no request is under way any more, after its deadline (30 s by default) at the
    /// latest. Dropping the future leaves the log ended; calling this again waits on.
    pub async fn shutdown(&self) {
        self.driver.shutdown().await;
    }

    /// The keys of a partition's objects.
    #[must_use]
    pub fn keys(&self, partition: Partition) -> LogKeys {
        self.log.keys(partition)
    }
}
