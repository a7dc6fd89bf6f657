//! The records of a simulated log: each names who appended it and as which, so that none is like another.
use std::fmt;

/// One record's value, 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u64);

impl Value {
    /// Record number `index` of a process.
    #[must_use]
    pub fn new(site: u8, index: u32) -> Self {
        Self(u64::from(site) << 32 | u64::from(index))
    }

    /// The bytes that are stored.
    #[must_use]
    pub fn encode(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// The value with these bytes.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(u64::from_be_bytes).map(Self)
    }

    /// Extends the hash of the records before it: equal results mean equal prefixes.
    #[must_use]
    pub fn chain(self, before: u64) -> u64 {
        let mixed = (before ^ self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ before.rotate_left(17)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0 >> 32, self.0 & 0xffff_ffff)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({self})")
    }
}
