//! Blocking driver of bucketlog: an append-only, fenced log in an object store, for programs with or without a runtime.
//!
//! ```
//! use bucketlog_blocking::{Log, LogOptions, Lsn, Partition, Record, StreamId, TimestampMs};
//! use bucketlog_blocking::{reader::ReaderOptions, store::Memory, writer::WriterOptions};
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let log = Log::open(Arc::new(Memory::new()), StreamId::new("orders")?, LogOptions::default());
//! let mut writer = log.writer(Partition(0), WriterOptions::default())?;
//! let appended = writer.append(Record::new(TimestampMs(1_700_000_000_000), "an order"))?;
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
//! [`store::Store`].
//!
//! There is one owner of a writer:
//!
//! ```compile_fail
//! fn two_owners(writer: bucketlog_blocking::Writer) -> (bucketlog_blocking::Writer, bucketlog_blocking::Writer) {
//!     (writer.clone(), writer)
//! }
//! ```
pub mod error;
pub mod initialize;
mod log;
pub mod metrics;
pub mod reader;
pub mod store;
pub mod writer;

mod clock;
mod entropy;
mod host;
mod sync;
mod trace;

pub use bucketlog_core as core;
pub use bucketlog_core::format::keys::StreamId;
pub use bucketlog_core::format::segment::{Codec, Header, Record};
pub use bucketlog_core::ids::{Epoch, Lsn, Partition, TimestampMs, WriterId};
pub use log::{Log, LogOptions, Prefixes};
pub use reader::Reader;
pub use writer::Writer;

/// The example in the project's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
