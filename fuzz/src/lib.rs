//! What each fuzz target does with its input. Nothing may panic, whatever the bytes; what a decoder accepts must keep its laws.
//!
//! A random change almost never keeps a hash right, so every target also tries its input with the hashes made right: only
//! then do the rules behind them see anything.
mod catalog;
mod names;
mod s3;
mod segment;

pub use catalog::{head, page};
pub use names::{key, stream_id};
pub use s3::{REQUESTS, s3_answer};
pub use segment::{segment_block, segment_index, segment_preamble, segment_trailer, segment_whole};

use bucketlog_core::format::HashAlgo;
use std::ops::Range;

/// The big-endian number of up to 8 bytes at `range`.
fn number(bytes: &[u8], range: Range<usize>) -> Option<u64> {
    Some(bytes.get(range)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn algorithm(bytes: &[u8], at: usize) -> Option<HashAlgo> {
    HashAlgo::from_id(u16::try_from(number(bytes, at..at + 2)?).ok()?)
}

/// Stores the hash of `covered` at `at`, which counts as zero if it is covered itself. Does nothing out of bounds.
fn put_hash(bytes: &mut [u8], hash: HashAlgo, covered: Range<usize>, at: usize) -> Option<()> {
    if covered.contains(&at) {
        bytes.get_mut(at..at.checked_add(8)?)?.fill(0);
    }
    let value = hash.hash(bytes.get(covered)?);
    bytes.get_mut(at..at.checked_add(8)?)?.copy_from_slice(&value.to_be_bytes());
    Some(())
}
