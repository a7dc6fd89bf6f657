//! Blocking driver of bucketlog.
pub mod store;
