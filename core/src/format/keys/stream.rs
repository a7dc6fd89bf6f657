//! Canonical stream ids.
use crate::limits::MAX_STREAM_ID_LEN;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A canonical stream id: 1 to 512 bytes of UTF-8 in non-empty segments between slashes, none of them `.` or `..`,
/// without control characters and without a slash at either end (objlog formats 3). Case and normal form are kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(Arc<str>);

impl StreamId {
    /// From raw bytes or text: drops slashes at either end, then checks every rule.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn new(id: impl AsRef<[u8]>) -> Result<Self, StreamIdError> {
        let id = str::from_utf8(id.as_ref()).map_err(|_| StreamIdError::NotUtf8)?.trim_matches('/');
        if id.is_empty() {
            return Err(StreamIdError::Empty);
        }
        if id.len() > MAX_STREAM_ID_LEN {
            return Err(StreamIdError::TooLong(id.len()));
        }
        // The same set as Go's unicode.IsControl: C0, DEL and C1.
        if let Some(control) = id.chars().find(|c| c.is_control()) {
            return Err(StreamIdError::Control(control));
        }
        match id.split('/').find(|segment| matches!(*segment, "" | "." | "..")) {
            None => Ok(Self(id.into())),
            Some("") => Err(StreamIdError::EmptySegment),
            Some(_) => Err(StreamIdError::DotSegment),
        }
    }

    /// The canonical text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for StreamId {
    type Err = StreamIdError;

    fn from_str(id: &str) -> Result<Self, StreamIdError> {
        Self::new(id)
    }
}

/// Why text is not a stream id.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum StreamIdError {
    /// The bytes are not UTF-8.
    #[error("a stream id must be UTF-8")]
    NotUtf8,
    /// Nothing, or nothing but slashes.
    #[error("a stream id must not be empty")]
    Empty,
    /// More than 512 bytes without the outer slashes.
    #[error("a stream id has at most {MAX_STREAM_ID_LEN} bytes, this one {0}")]
    TooLong(usize),
    /// A C0 or C1 control character, or DEL.
    #[error("a stream id must not contain the control character {0:?}")]
    Control(char),
    /// Two slashes in a row.
    #[error("a stream id must not contain an empty path segment")]
    EmptySegment,
    /// A segment `.` or `..`.
    #[error("a stream id must not contain the path segments \".\" and \"..\"")]
    DotSegment,
}
