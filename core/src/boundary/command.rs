//! The vocabulary of commands. No unconditional write can be expressed: an object is created if absent, or swapped.
use super::op::{Op, OpId, Request, sealed};
use super::upload::{
    AbortUpload, CompleteUpload, CreateUpload, CreateUploadReply, ListUploads, ListUploadsReply, UploadPart,
    UploadPartReply,
};
use super::{ByteRange, Completion, Fault, Key, MonoTime, ObjectMeta, SwapCondition, Version};
use crate::format::segment::{BlockCodec, BlockMeta, Codec, DecodedBlock, RawBlock, SealedBlock};
use crate::format::{FormatError, HashAlgo};
use bytes::Bytes;
use std::sync::Arc;

macro_rules! requests { ($($(#[$doc:meta])* $name:ident => $reply:ty;)*) => {
    $(impl sealed::Sealed for $name {}
      impl Request for $name {
          type Reply = $reply;
          fn outcome(result: Result<$reply, Fault>) -> Outcome { Outcome::$name(result) }
          fn result(outcome: Outcome) -> Option<Result<$reply, Fault>> {
              match outcome { Outcome::$name(result) => Some(result), _ => None }
          }
      })*

    #[doc(hidden)]
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub enum Outcome { $($name(Result<$reply, Fault>)),* }

    /// One thing that the driver should do.
    #[derive(Debug)]
    #[cfg_attr(feature = "model", derive(Clone, PartialEq, Eq, Hash))]
    #[non_exhaustive]
    pub enum Command {
        $($(#[$doc])* $name(Op<$name>),)*
        /// A hint: the answer to this operation no longer matters. Ignoring it is correct.
        Cancel(OpId),
    }

    impl Command {
        /// Answers with a fault, whatever the kind; `None` for a [`Command::Cancel`], which has no answer.
        #[must_use]
        pub fn fail(self, fault: Fault) -> Option<Completion> {
            match self {
                $(Self::$name(op) => Some(op.split().1.done(Err(fault))),)*
                Self::Cancel(_) => None,
            }
        }

        /// Name of the operation.
        #[must_use]
        pub fn id(&self) -> OpId {
            match self {
                $(Self::$name(op) => op.id(),)*
                Self::Cancel(id) => *id,
            }
        }

        /// When the core stops waiting for the operation; `None` for a [`Command::Cancel`].
        #[must_use]
        pub fn deadline(&self) -> Option<MonoTime> {
            match self {
                $(Self::$name(op) => Some(op.deadline()),)*
                Self::Cancel(_) => None,
            }
        }
    }
} }

requests! {
    /// Read an object or a part of it.
    Get => GetReply;
    /// Ask for an object's size and version.
    Stat => StatReply;
    /// List keys below a prefix.
    List => ListReply;
    /// Delete an object.
    Delete => ();
    /// Delete many objects.
    DeleteMany => DeleteManyReply;
    /// Store an immutable object if its key is free.
    Create => CreateReply;
    /// Replace an object by compare-and-swap.
    Swap => SwapReply;
    /// Begin the upload of an immutable object in parts.
    CreateUpload => CreateUploadReply;
    /// Store one part of an upload.
    UploadPart => UploadPartReply;
    /// Make the parts of an upload an object if its key is free.
    CompleteUpload => CreateReply;
    /// Throw an upload and its parts away.
    AbortUpload => ();
    /// List the uploads that are neither completed nor aborted.
    ListUploads => ListUploadsReply;
    /// Compress and hash a block; CPU work without IO.
    EncodeBlock => Result<SealedBlock, FormatError>;
    /// Check and decompress a block; CPU work without IO.
    DecodeBlock => Result<Arc<DecodedBlock>, FormatError>;
}

/// Read an object or a part of it. A missing object is [`super::RefusalKind::NotFound`]; a false `if_match` is
/// [`super::RefusalKind::Precondition`]; a range that starts past the end is [`super::RefusalKind::Invalid`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Get {
    /// What to read.
    pub key: Key,
    /// Which part.
    pub range: ByteRange,
    /// Only if the object is still in this state.
    pub if_match: Option<Version>,
    /// Only if the object is no longer in this state; else [`GetReply::NotModified`].
    pub if_none_match: Option<Version>,
    /// The driver buffers at most this many bytes; a longer body is [`super::RefusalKind::Invalid`].
    pub max_len: u64,
}

impl Get {
    /// An unconditional read.
    #[must_use]
    pub fn new(key: Key, range: ByteRange, max_len: u64) -> Self {
        Self { key, range, if_match: None, if_none_match: None, max_len }
    }
}

/// Answer to [`Get`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GetReply {
    /// The bytes asked for.
    Found {
        /// Exactly the requested range, cut at the object's end.
        body: Bytes,
        /// State of the object that the bytes belong to, where the store tells.
        version: Option<Version>,
        /// Size of the whole object, bytes.
        total_size: u64,
    },
    /// The object is still in the state named by `if_none_match`.
    NotModified,
}

/// Ask for an object's size and version; a missing object is [`super::RefusalKind::NotFound`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stat {
    /// Which object.
    pub key: Key,
}

/// Answer to [`Stat`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StatReply {
    /// What the store knows of the object.
    pub meta: ObjectMeta,
}

/// List keys below a prefix, in ascending byte order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct List {
    /// Text that every listed key begins with.
    pub prefix: Key,
    /// Only keys greater than this one.
    pub after: Option<Key>,
    /// At most this many rows; 1 to 1,000.
    pub limit: u16,
}

/// Answer to [`List`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListReply {
    /// Strictly ascending by key.
    pub objects: Vec<ObjectMeta>,
    /// Whether keys follow after the last row.
    pub more: bool,
}

/// Delete an object; a missing one counts as deleted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Delete {
    /// Which object.
    pub key: Key,
}

/// Delete many objects; missing ones count as deleted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeleteMany {
    /// Which objects; 1 to 1,000 (S3's limit).
    pub keys: Vec<Key>,
}

/// Answer to [`DeleteMany`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeleteManyReply {
    /// What became of each key, in the order asked for.
    pub outcomes: Vec<Result<(), Fault>>,
}

/// Store an immutable object if its key is free; else [`super::RefusalKind::Precondition`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Create {
    /// Where.
    pub key: Key,
    /// The object is the concatenation of these pieces.
    pub body: Vec<Bytes>,
}

/// Answer to [`Create`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreateReply {
    /// State now stored, where the store tells.
    pub version: Option<Version>,
}

/// Replace an object by compare-and-swap; a false condition is [`super::RefusalKind::Precondition`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Swap {
    /// Which object.
    pub key: Key,
    /// Its new content.
    pub body: Bytes,
    /// What must be true for the swap to take place.
    pub condition: SwapCondition,
}

/// Answer to [`Swap`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SwapReply {
    /// State now stored, where the store tells.
    pub version: Option<Version>,
}

/// Compress and hash a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EncodeBlock {
    /// Uncompressed content.
    pub block: RawBlock,
    /// Compression.
    pub codec: Codec,
    /// zstd level, 1 to 19; ignored without compression.
    pub level: i32,
    /// Hash of the stored bytes.
    pub hash: HashAlgo,
}

impl EncodeBlock {
    /// Does the work on this thread.
    ///
    /// # Errors
    /// A block that the format can't hold, or a failure inside the compressor.
    pub fn run(&self, codec: &mut BlockCodec) -> Result<SealedBlock, FormatError> {
        codec.seal(&self.block, self.codec, self.level, self.hash)
    }
}

/// Check and decompress a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DecodeBlock {
    /// What the index says of the block.
    pub meta: BlockMeta,
    /// The stored bytes.
    pub stored: Bytes,
    /// Compression.
    pub codec: Codec,
    /// Hash of the stored bytes.
    pub hash: HashAlgo,
    /// Where the stored bytes begin in their object, for errors.
    pub offset: u64,
}

impl DecodeBlock {
    /// Does the work on this thread.
    ///
    /// # Errors
    /// Bytes that are not the block the index describes.
    pub fn run(&self, codec: &mut BlockCodec) -> Result<Arc<DecodedBlock>, FormatError> {
        codec.open(&self.meta, &self.stored, self.codec, self.hash, self.offset).map(Arc::new)
    }
}
