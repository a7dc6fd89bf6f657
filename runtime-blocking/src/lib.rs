//! Blocking driver of bucketlog.
pub mod store;

mod clock;
mod host;
mod sync;
