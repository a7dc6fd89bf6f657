//! The owned record: what an application appends and gets back.
use crate::ids::TimestampMs;
use crate::limits::{
    HEADER_COUNT_LEN, HEADER_FIXED_LEN, MAX_HEADER_KEY_LEN, MAX_HEADER_VALUE_LEN, MAX_HEADERS, MAX_HEADERS_LEN,
    MAX_VALUE_LEN, RECORD_FIXED_LEN,
};
use bytes::Bytes;

/// One key-value pair beside a record's value. Keys need be neither ordered nor unique.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// 1 to 1,024 bytes.
    pub key: Bytes,
    /// 0 to 65,535 bytes.
    pub value: Bytes,
}

/// One record: what the application appends and gets back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Record {
    /// Milliseconds since the Unix epoch; never lower than the record's before it.
    pub timestamp: TimestampMs,
    /// At most 64, and at most 256 KiB when encoded.
    pub headers: Vec<Header>,
    /// At most 4 MiB.
    pub value: Bytes,
}

impl Record {
    /// A record without headers.
    #[must_use]
    pub fn new(timestamp: TimestampMs, value: impl Into<Bytes>) -> Self {
        Self { timestamp, headers: Vec::new(), value: value.into() }
    }

    /// The same record with one more header at the end.
    #[must_use]
    pub fn with_header(mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        self.headers.push(Header { key: key.into(), value: value.into() });
        self
    }

    /// Bytes this record takes in a raw block: 16 + encoded headers + value (objlog formats, 1.3).
    #[must_use]
    pub fn encoded_len(&self) -> u64 {
        (RECORD_FIXED_LEN as u64).saturating_add(self.headers_len()).saturating_add(self.value.len() as u64)
    }

    /// Bytes the headers take in a raw block: none without headers, otherwise 2 + 4 per header + keys + values.
    pub(super) fn headers_len(&self) -> u64 {
        if self.headers.is_empty() {
            return 0;
        }
        self.headers.iter().fold(HEADER_COUNT_LEN as u64, |len, header| {
            len.saturating_add(HEADER_FIXED_LEN as u64)
                .saturating_add(header.key.len() as u64)
                .saturating_add(header.value.len() as u64)
        })
    }

    /// Checks every limit of the format (objlog formats, 1.3).
    ///
    /// # Errors
    /// The first limit that the record passes.
    pub fn validate(&self) -> Result<(), RecordError> {
        let value_len = self.value.len();
        if value_len > MAX_VALUE_LEN {
            return Err(RecordError::ValueTooLarge { len: value_len as u64, max: MAX_VALUE_LEN as u64 });
        }
        if self.headers.len() > MAX_HEADERS {
            return Err(RecordError::TooManyHeaders { count: self.headers.len(), max: MAX_HEADERS });
        }
        self.headers.iter().enumerate().try_for_each(|(index, header)| header.validate(index))?;
        let headers_len = self.headers_len();
        if headers_len > MAX_HEADERS_LEN as u64 {
            return Err(RecordError::HeadersTooLarge { len: headers_len, max: MAX_HEADERS_LEN as u64 });
        }
        Ok(())
    }
}

impl Header {
    fn validate(&self, index: usize) -> Result<(), RecordError> {
        let (key_len, value_len) = (self.key.len(), self.value.len());
        if key_len == 0 {
            return Err(RecordError::HeaderKeyEmpty { index });
        }
        if key_len > MAX_HEADER_KEY_LEN {
            return Err(RecordError::HeaderKeyTooLarge { index, len: key_len, max: MAX_HEADER_KEY_LEN });
        }
        if value_len > MAX_HEADER_VALUE_LEN {
            return Err(RecordError::HeaderValueTooLarge { index, len: value_len, max: MAX_HEADER_VALUE_LEN });
        }
        Ok(())
    }
}

/// Why a record can't be stored by any segment. Lengths in bytes; `index` counts headers from 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The value is longer than 4 MiB.
    #[error("the value has {len} bytes; at most {max} are possible")]
    ValueTooLarge {
        /// Length of the value.
        len: u64,
        /// The limit.
        max: u64,
    },
    /// There are more than 64 headers.
    #[error("the record has {count} headers; at most {max} are possible")]
    TooManyHeaders {
        /// Number of headers.
        count: usize,
        /// The limit.
        max: usize,
    },
    /// The encoded headers are longer than 256 KiB.
    #[error("the headers take {len} bytes when encoded; at most {max} are possible")]
    HeadersTooLarge {
        /// Length of the encoded headers, with their count and lengths.
        len: u64,
        /// The limit.
        max: u64,
    },
    /// A header has no key.
    #[error("the key of header {index} is empty")]
    HeaderKeyEmpty {
        /// Which header.
        index: usize,
    },
    /// A header's key is longer than 1,024 bytes.
    #[error("the key of header {index} has {len} bytes; at most {max} are possible")]
    HeaderKeyTooLarge {
        /// Which header.
        index: usize,
        /// Length of the key.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// A header's value is longer than 65,535 bytes.
    #[error("the value of header {index} has {len} bytes; at most {max} are possible")]
    HeaderValueTooLarge {
        /// Which header.
        index: usize,
        /// Length of the value.
        len: usize,
        /// The limit.
        max: usize,
    },
}
