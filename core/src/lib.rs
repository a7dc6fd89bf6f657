//! Sans-IO protocol core of bucketlog.
pub mod backoff;
pub mod boundary;
mod entropy;
pub mod format;
pub mod ids;
pub mod limits;
pub mod metric;
pub mod reader;
pub mod writer;
