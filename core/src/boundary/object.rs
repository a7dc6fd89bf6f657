//! Names and conditions of stored objects.
use crate::ids::TimestampMs;
use std::{fmt, sync::Arc};

macro_rules! texts { ($($(#[$doc:meta])* $name:ident;)*) => { $(
    $(#[$doc])*
    #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct $name(Arc<str>);
    impl $name {
        /// The text, byte for byte.
        #[must_use]
        pub fn as_str(&self) -> &str { &self.0 }
    }
    impl<T: Into<Arc<str>>> From<T> for $name {
        fn from(text: T) -> Self { Self(text.into()) }
    }
    impl fmt::Display for $name {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(&self.0) }
    }
    impl fmt::Debug for $name {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, "{:?}", &*self.0) }
    }
)* } }

texts! {
    /// Name of an object inside its bucket or directory; parts are separated by `/`.
    Key;
    /// A store's token for one state of one object (an ETag, a generation). Opaque: compared and echoed byte for byte.
    Version;
    /// A store's name for one multipart upload. Opaque.
    UploadId;
    /// A store's token for one stored part. Opaque: echoed byte for byte when the upload is completed.
    PartTag;
}

/// The part of an object that a read asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteRange {
    /// The whole object.
    All,
    /// Bytes `from..to`; `from < to`. An object that ends before `to` gives fewer bytes, never an error, unless it
    /// ends at or before `from`.
    FromTo(u64, u64),
    /// The last `n` bytes, `n > 0`; a shorter object is given whole.
    Suffix(u64),
}

/// What must be true of the object for a swap to take place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SwapCondition {
    /// The key must not exist.
    Absent,
    /// The object must be in this state.
    Matches(Version),
}

/// One row of a listing, or the answer to a stat.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectMeta {
    /// The object's key.
    pub key: Key,
    /// Bytes.
    pub size: u64,
    /// Its state, where the store tells.
    pub version: Option<Version>,
    /// When it was stored, by the store's clock.
    pub modified: Option<TimestampMs>,
}
