//! Byte formats: segformat v2, catformat v1 and the object keys. Pure functions over bytes; nothing here may panic.
pub mod catalog;
mod error;
mod hash;
pub mod keys;
mod read;
pub mod segment;

pub use error::{FormatError, FormatErrorKind, Section};
pub use hash::{HashAlgo, Hasher};
