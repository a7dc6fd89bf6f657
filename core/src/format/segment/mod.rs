//! segformat v2: one immutable object of compressed, hashed blocks with an index and a trailer (objlog formats, 1).
//!
//! ```text
//! file preamble (64) | N x [block preamble (64) + stored bytes] | index preamble (64) + N x 64 | trailer (192)
//! ```
//!
//! Writing: [`BlockBuilder`] collects [`Record`]s, [`BlockCodec::seal`] compresses and hashes the result, and
//! [`SegmentAssembler`] lays sealed blocks out as an object. Reading goes the other way: [`Trailer::decode`] and
//! [`BlockIndex::decode`] (or [`open_whole`]) find a block, [`BlockIndex::block_payload`] takes it out of the object,
//! and [`BlockCodec::open`] turns it into a [`DecodedBlock`].
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::panic,
    clippy::unreachable
)]

mod assemble;
mod block;
mod builder;
mod codec;
mod index;
mod layout;
mod preamble;
mod record;
mod trailer;
mod whole;

pub use assemble::{EncodedSegment, SegmentAssembler};
pub use block::{DecodedBlock, HeaderRef, Headers, RecordRef, Records};
pub use builder::{BlockBuilder, RawBlock};
pub use codec::{BlockCodec, Codec, SealedBlock};
pub use index::{BlockEntry, BlockIndex};
pub use layout::BlockMeta;
pub use preamble::{FilePreamble, SegmentHeader};
pub use record::{Header, Record, RecordError};
pub use trailer::Trailer;
pub use whole::open_whole;
