//! Newtypes for every number and name of the protocol, so that an epoch is never taken for a generation.
use std::fmt;

macro_rules! numbers { ($($(#[$doc:meta])* $name:ident($int:ty);)*) => { $(
    $(#[$doc])*
    #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct $name(pub $int);
    impl fmt::Display for $name {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { self.0.fmt(f) }
    }
    impl fmt::Debug for $name {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, concat!(stringify!($name), "({})"), self.0) }
    }
)* } }

numbers! {
    /// Log sequence number: the position of one record in its partition, dense from the partition's start.
    ///
    /// Records occupy `0..=2^64-2` (objlog formats, "LSN limits"); `2^64-1` appears only as the `next_lsn` of a
    /// partition that is full.
    Lsn(u64);
    /// One independent log of a stream.
    Partition(u32);
    /// Fencing counter: grows by one with every claim of the head; 0 means that nobody ever claimed it.
    Epoch(u64);
    /// Grows by one with every change of the head, whatever its kind.
    Generation(u64);
    /// Signed milliseconds since the Unix epoch.
    TimestampMs(i64);
}

impl Lsn {
    /// The largest LSN that a record may have: 2^64-2.
    pub const MAX_RECORD: Self = Self(u64::MAX - 1);
    /// The `next_lsn` of a full partition: 2^64-1.
    pub const EXHAUSTED: Self = Self(u64::MAX);

    /// This position plus `n`, or `None` past 2^64-1.
    #[must_use]
    pub const fn checked_add(self, n: u64) -> Option<Self> {
        match self.0.checked_add(n) {
            Some(n) => Some(Self(n)),
            None => None,
        }
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

macro_rules! byte_ids { ($($(#[$doc:meta])* $name:ident($len:literal);)*) => { $(
    $(#[$doc])*
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct $name(pub [u8; $len]);
    impl $name {
        /// Whether every byte is zero, which no format accepts for a name in use.
        #[must_use]
        pub fn is_zero(&self) -> bool { self.0 == [0; $len] }
    }
    impl fmt::Display for $name {
        /// Lower-case hexadecimal digits, as in object keys.
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            // One write for all digits: object keys are made on the way of every lookup.
            let mut digits = [0; 2 * $len];
            for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
                pair.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            }
            f.write_str(std::str::from_utf8(&digits).unwrap_or_default())
        }
    }
    impl fmt::Debug for $name {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, concat!(stringify!($name), "({})"), self) }
    }
)* } }

byte_ids! {
    /// Names one incarnation of a writer; the head holds the current owner's.
    WriterId(16);
    /// Random name of one segment.
    SegmentId(16);
    /// Content name of a catalog page: the first 16 bytes of SHA-256 over everything before its trailer.
    PageId(16);
    /// SHA-256 of the canonical stream id.
    StreamKey(32);
    /// SHA-256 of the normalised data root.
    DataRootKey(32);
}
