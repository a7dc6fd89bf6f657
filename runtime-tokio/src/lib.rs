//! Tokio driver of bucketlog: an append-only, fenced log in an object store, for async services.
//!
//! ```
//! use bucketlog_tokio::{Log, LogOptions, Lsn, Partition, ReaderOptions, Record, StreamId, WriterOptions};
//! use bucketlog_tokio::{now, store::Memory};
//! use futures_util::TryStreamExt;
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let log = Log::open(Arc::new(Memory::new()), StreamId::new("orders")?, LogOptions::default())?;
//! let mut writer = log.writer(Partition(0), WriterOptions::default()).await?;
//! let appended = writer.append(Record::new(now(), "an order")).await?;
//! appended.durability.await?;
//!
//! let reader = log.reader(Partition(0), ReaderOptions::default())?;
//! let records: Vec<_> = reader.records(Lsn(0)).try_collect().await?;
//! assert_eq!(records[0].1.value, "an order");
//! assert_eq!(writer.close().await?, Lsn(1));
//! log.shutdown().await;
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! [`Log`] is the entrance, [`Writer`] owns one partition, [`Reader`] reads one. Everything goes through a
//! [`store::Store`]: a bucket over reqwest ([`store::s3::S3`]), a directory ([`store::LocalDir`], [`Log::open_dir`]),
//! memory, or one of your own.
//!
//! **Runtime.** A log works on the runtime that it is opened in, or on the one whose handle it is given
//! ([`LogOptions::runtime`]); current-thread and multi-thread runtimes will do, and no thread or runtime is started but by
//! tokio itself. The runtime needs timers, and for buckets IO (`enable_all`). Handles may be used and dropped anywhere,
//! also outside of it.
//!
//! **Cancellation.** Every future may be dropped at any moment. What it leaves behind is said at each method; in short: an
//! append that was not yet accepted is not in the log, and everything else is only a wait.
//!
//! What is known of a record, and who fenced whom, is decided by the core and by the same handles as in the blocking
//! driver (`bucketlog-blocking`); errors and options are its types.
mod codecs;
mod driver;
mod log;
pub mod reader;
pub mod store;
pub mod writer;

pub use bucketlog_blocking::{Codec, Epoch, Header, Lsn, Partition, Record, StreamId, TimestampMs, WriterId};
pub use bucketlog_blocking::{Prefixes, error, initialize, metrics, now};
pub use bucketlog_core as core;
pub use log::{Log, LogOptions, OpenLogError};
pub use reader::{Reader, ReaderOptions};
pub use writer::{Writer, WriterOptions};
