//! Blocking driver of bucketlog.
pub mod error;
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

pub use log::{Log, LogOptions, Prefixes};
pub use reader::Reader;
pub use writer::Writer;

/// The example in the project's README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
