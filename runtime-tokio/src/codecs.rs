//! Compressors that are used again.
use bucketlog_core::format::segment::BlockCodec;
use std::sync::{Mutex, PoisonError};

/// As many as were needed at once; making one takes longer than a small block.
#[derive(Debug, Default)]
pub(crate) struct Codecs(Mutex<Vec<BlockCodec>>);

impl Codecs {
    /// Lends one; it does not come back from a panic.
    pub(crate) fn with<T>(&self, run: impl FnOnce(&mut BlockCodec) -> T) -> T {
        let idle = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let mut codec = taken.unwrap_or_default();
        let result = run(&mut codec);
        idle().push(codec);
        result
    }
}
