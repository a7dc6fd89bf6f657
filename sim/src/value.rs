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

    /// The same as number `position` of a batch of `size`.
    #[must_use]
    pub fn in_batch(self, position: u8, size: u8) -> Self {
        Self(self.0 | u64::from(position) << 56 | u64::from(size) << 48)
    }

    /// Whether it and the records before it can be the end of a log or of a segment: no batch is cut in two.
    #[must_use]
    pub fn ends_batch(self) -> bool {
        let [position, size, ..] = self.0.to_be_bytes();
        size == 0 || position + 1 == size
    }

    /// Whether it can come after `before` in a segment; `None` stands for its beginning.
    #[must_use]
    pub fn follows(self, before: Option<Self>) -> bool {
        let [position, size, ..] = self.0.to_be_bytes();
        match before {
            Some(before) if position > 0 => before == Self(self.0 - (1 << 56) - 1),
            _ => (size == 0 || position == 0) && before.is_none_or(Self::ends_batch),
        }
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
        let [position, size, _, site, ..] = self.0.to_be_bytes();
        write!(f, "{site}:{}", self.0 & 0xffff_ffff)?;
        if size > 0 { write!(f, "[{}/{size}]", position + 1) } else { Ok(()) }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_whole_where_its_records_follow_each_other() {
        let batch: Vec<Value> = (0..3_u8).map(|i| Value::new(2, 7 + u32::from(i)).in_batch(i, 3)).collect();
        let alone = Value::new(2, 6);
        assert!(batch[0].follows(None) && batch[0].follows(Some(alone)) && batch[1].follows(Some(batch[0])));
        assert!(!batch[1].follows(None) && !batch[1].follows(Some(alone)) && !batch[2].follows(Some(batch[0])));
        assert!(alone.follows(Some(batch[2])) && !alone.follows(Some(batch[1])));
        assert!(alone.ends_batch() && batch[2].ends_batch() && !batch[0].ends_batch());
        assert_eq!(batch[1].to_string(), "2:8[2/3]");
    }
}
