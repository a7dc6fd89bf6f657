//! Sans-IO protocol core of bucketlog.
pub mod boundary;
pub mod format;
pub mod ids;
pub mod limits;
