//! Blocking driver of bucketlog: an append-only, fenced log in an object store, for programs with or without a runtime.
//!
//! ```
//! use bucketlog_blocking::{Log, LogOptions, Lsn, Partition, ReaderOptions, Record, StreamId, WriterOptions};
//! use bucketlog_blocking::{now, store::Memory};
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let log = Log::open(Arc::new(Memory::new()), StreamId::new("orders")?, LogOptions::default());
//! let mut writer = log.writer(Partition(0), WriterOptions::default())?;
//! let appended = writer.append(Record::new(now(), "an order"))?;
//! writer.flush()?;
//! assert!(appended.durability.wait().is_ok());
//!
//! let reader = log.reader(Partition(0), ReaderOptions::default())?;
//! assert_eq!(reader.fetch(Lsn(0))?.value, "an order");
//! assert_eq!(writer.close()?, Lsn(1));
//! # Ok(())
//! # }
//! ```
//!
//! [`Log`] is the entrance, [`Writer`] owns one partition, [`Reader`] reads one. Whatever blocks has a twin that returns
//! a future; futures need no particular executor, for the log's own threads drive them. Everything goes through a
//! [`store::Store`]: a directory ([`store::LocalDir`], [`Log::open_dir`]), memory, or one of your own.
//!
//! The same in a task, on any executor:
//!
//! ```
//! # use bucketlog_blocking::reader::{Freshness, ReadLimit};
//! # use bucketlog_blocking::{Log, LogOptions, Lsn, Partition, ReaderOptions, Record, StreamId, WriterOptions};
//! # use bucketlog_blocking::{now, store::Memory};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let log = Log::open(std::sync::Arc::new(Memory::new()), StreamId::new("orders")?, LogOptions::default());
//! # pollster::block_on(async move {
//! let mut writer = log.writer_async(Partition(0), WriterOptions::default()).await?;
//! let appended = writer.append_async(Record::new(now(), "an order")).await?;
//! appended.durability.await?;
//!
//! let reader = log.reader(Partition(0), ReaderOptions::default())?;
//! let batch = reader.read_async(Lsn(0), ReadLimit::default(), Freshness::OnTail).await?;
//! assert_eq!(batch.records[0].1.value, "an order");
//! writer.close_async().await?;
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! There is one owner of a writer:
//!
//! ```compile_fail
//! fn two_owners(writer: bucketlog_blocking::Writer) -> (bucketlog_blocking::Writer, bucketlog_blocking::Writer) {
//!     (writer.clone(), writer)
//! }
//! ```
pub mod driver;
pub mod error;
pub mod initialize;
mod log;
pub mod metrics;
pub mod reader;
pub mod scrub;
pub mod store;
pub mod writer;

mod clock;
mod entropy;
mod host;
#[cfg(all(test, shuttle))]
mod shuttle;
mod sync;
mod trace;

pub use bucketlog_core as core;
pub use bucketlog_core::format::keys::StreamId;
pub use bucketlog_core::format::segment::{Codec, Header, Record};
pub use bucketlog_core::ids::{Epoch, Lsn, Partition, TimestampMs, WriterId};
pub use clock::now;
pub use log::{Log, LogOptions, Prefixes};
pub use reader::{Reader, ReaderOptions};
pub use writer::{Writer, WriterOptions};

/// The example in the project's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
