//! The entrance: one stream in one store.
use crate::clock::Clock;
use crate::driver::Driver;
use crate::entropy::{EntropyError, fresh_entropy};
use crate::error::OpenError;
use crate::host::{Backend, Limits, Pool};
use crate::initialize::{InitializeFuture, InitializeOptions, InitializePartitionError, Initialized};
use crate::metrics::MetricsSink;
use crate::reader::{Reader, ReaderOptions};
use crate::store::{LocalDir, Store};
use crate::writer::{OpenFuture, Writer, WriterOptions};
use bucketlog_core::format::keys::{LogKeys, StreamId};
use bucketlog_core::ids::{Lsn, Partition};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;

/// Options that all handles of a log share.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Threads that wait for the store; default 8. They are started as there is work for them. With 0 only blocking
    /// callers make progress, one request at a time each.
    pub threads: usize,
    /// Blocks compressed or decompressed at once, by those threads and by waiting callers; at least 1, by default the
    /// number of cores.
    pub cpu_threads: usize,
    /// Segments and pages uploaded at once, over all writers; at least 1, default 4.
    pub max_uploads: usize,
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
        let cpu_threads = available_parallelism().map_or(1, usize::from);
        Self {
            threads: 8,
            cpu_threads,
            max_uploads: 4,
            prefixes: Prefixes::default(),
            prove_store: true,
            metrics: None,
        }
    }
}

/// Where the objects of a log lie in their store (objlog formats 3). All who use a log must agree on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefixes {
    /// Prefix of heads and pages. Default `objlog/catalog`.
    pub catalog: String,
    /// Prefix of segments. Default `objlog`.
    pub data_root: String,
}

impl Default for Prefixes {
    fn default() -> Self {
        Self { catalog: LogKeys::DEFAULT_CATALOG_PREFIX.to_owned(), data_root: LogKeys::DEFAULT_DATA_ROOT.to_owned() }
    }
}

/// One stream in one store: the entrance to its writers and readers. Cloning is cheap.
///
/// All handles of a log share its threads and limits. They may be dropped in any order; the threads end with the last
/// of them. An idle log does nothing.
#[derive(Clone, Debug)]
pub struct Log {
    backend: Backend,
    stream: StreamId,
    prefixes: Arc<Prefixes>,
    /// Whether the store is still to be proven.
    unproven: Arc<AtomicBool>,
}

impl Log {
    /// Opens a stream in a local directory, which is created if need be.
    ///
    /// # Errors
    /// The directory can't be used.
    pub fn open_dir(path: impl AsRef<Path>, stream: StreamId) -> io::Result<Self> {
        Ok(Self::open(Arc::new(LocalDir::open(path)?), stream, LogOptions::default()))
    }

    /// Opens the stream. No request is made before a writer or reader needs one.
    pub fn open(store: Arc<dyn Store>, stream: StreamId, options: LogOptions) -> Self {
        let limits =
            Limits { threads: options.threads, computations: options.cpu_threads, uploads: options.max_uploads };
        let pool = Pool::new(store, Clock::system(), limits, options.metrics);
        Self::over(Backend::Threads(pool), stream, options.prefixes, options.prove_store)
    }

    /// Opens the stream over another runtime's driver instead of this crate's threads. Of the options, those that speak
    /// of threads and of limits mean nothing then: they are the driver's business.
    pub fn driven_by(driver: Arc<dyn Driver>, stream: StreamId, options: LogOptions) -> Self {
        let backend = Backend::foreign(driver, options.metrics);
        Self::over(backend, stream, options.prefixes, options.prove_store)
    }

    fn over(backend: Backend, stream: StreamId, prefixes: Prefixes, prove_store: bool) -> Self {
        let unproven = Arc::new(AtomicBool::new(prove_store));
        Self { backend, stream, prefixes: Arc::new(prefixes), unproven }
    }

    /// The stream's name.
    #[must_use]
    pub fn stream(&self) -> &StreamId {
        &self.stream
    }

    /// Claims a partition for writing, which fences its present owner, and blocks until that is decided: one read and
    /// one swap of the head where nobody else claims it.
    ///
    /// # Errors
    /// A bad option, or a claim that failed. A claim that ended without an answer may yet fence the present owner.
    pub fn writer(&self, partition: Partition, options: WriterOptions) -> Result<Writer, OpenError> {
        self.claim(partition, options)?.opened()
    }

    /// [`Log::writer`] for tasks.
    pub fn writer_async(&self, partition: Partition, options: WriterOptions) -> OpenFuture {
        OpenFuture::new(self.claim(partition, options))
    }

    fn claim(&self, partition: Partition, mut options: WriterOptions) -> Result<Writer, OpenError> {
        options.prove_store |= self.unproven.swap(false, Ordering::Relaxed);
        Writer::claim(&self.backend, self.keys(partition), options)
    }

    /// A reader of a partition. It makes no request before it is asked.
    ///
    /// # Errors
    /// The operating system gave no random bytes.
    pub fn reader(&self, partition: Partition, options: ReaderOptions) -> Result<Reader, EntropyError> {
        Ok(Reader::new(&self.backend, self.keys(partition), options, fresh_entropy()?))
    }

    /// Creates a partition whose first record gets `next_lsn`, as a migration does, unless it exists. A partition that
    /// is to begin at LSN 0 need not be created: its first writer does so.
    ///
    /// # Errors
    /// As said at [`InitializeError`](crate::error::InitializeError).
    pub fn initialize_partition(
        &self,
        partition: Partition,
        next_lsn: Lsn,
        options: &InitializeOptions,
    ) -> Result<Initialized, InitializePartitionError> {
        self.initialize_partition_async(partition, next_lsn, options).wait()
    }

    /// [`Log::initialize_partition`] for tasks.
    pub fn initialize_partition_async(
        &self,
        partition: Partition,
        next_lsn: Lsn,
        options: &InitializeOptions,
    ) -> InitializeFuture {
        InitializeFuture::new(&self.backend, self.keys(partition), next_lsn, options)
    }

    /// The keys of a partition's objects.
    #[must_use]
    pub fn keys(&self, partition: Partition) -> LogKeys {
        LogKeys::with_prefixes(&self.prefixes.catalog, &self.prefixes.data_root, &self.stream, partition)
    }
}
