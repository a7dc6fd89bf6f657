//! The two hashes of the formats.
use twox_hash::XxHash64;

/// Hash algorithm of a segment or catalog object (objlog formats, "Conventions").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HashAlgo {
    /// CRC-32C (Castagnoli), zero-extended to 64 bits; id 0.
    Crc32c,
    /// XXH64 with seed 0; id 1, and the default.
    #[default]
    Xxh64,
}

impl HashAlgo {
    /// The id stored in objects.
    #[must_use]
    pub const fn id(self) -> u16 {
        match self {
            Self::Crc32c => 0,
            Self::Xxh64 => 1,
        }
    }

    /// The algorithm with this id.
    #[must_use]
    pub const fn from_id(id: u16) -> Option<Self> {
        match id {
            0 => Some(Self::Crc32c),
            1 => Some(Self::Xxh64),
            _ => None,
        }
    }

    /// Stable lower-case name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Crc32c => "crc32c",
            Self::Xxh64 => "xxh64",
        }
    }

    /// Hash of `bytes`.
    #[must_use]
    pub fn hash(self, bytes: &[u8]) -> u64 {
        match self {
            Self::Crc32c => u64::from(crc32c::crc32c(bytes)),
            Self::Xxh64 => XxHash64::oneshot(0, bytes),
        }
    }

    /// A hash over bytes that arrive in pieces.
    #[must_use]
    pub fn hasher(self) -> Hasher {
        match self {
            Self::Crc32c => Hasher::Crc32c(0),
            Self::Xxh64 => Hasher::Xxh64(XxHash64::with_seed(0)),
        }
    }
}

/// A running hash.
#[derive(Clone, Debug)]
pub enum Hasher {
    /// Running CRC-32C.
    Crc32c(u32),
    /// Running XXH64.
    Xxh64(XxHash64),
}

impl Hasher {
    /// Takes in the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Crc32c(crc) => *crc = crc32c::crc32c_append(*crc, bytes),
            Self::Xxh64(state) => std::hash::Hasher::write(state, bytes),
        }
    }

    /// The hash of everything taken in.
    #[must_use]
    pub fn finish(&self) -> u64 {
        match self {
            Self::Crc32c(crc) => u64::from(*crc),
            Self::Xxh64(state) => std::hash::Hasher::finish(state),
        }
    }
}
