//! Blocking driver of bucketlog.
pub mod error;
mod log;
pub mod metrics;
pub mod store;
pub mod writer;

mod clock;
mod host;
mod sync;
mod trace;

pub use log::{Log, LogOptions, Prefixes};
pub use writer::Writer;
