//! Names and jitter of one incarnation, all derived from 32 fresh bytes that the driver brings.
use crate::ids::{SegmentId, WriterId};
use sha2::{Digest, Sha256};
use std::time::Duration;

/// A seed that never gives the same name twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Entropy {
    seed: [u8; 32],
    names: u64,
    jitter: u64,
}

impl Entropy {
    pub(crate) fn from_seed(seed: [u8; 32]) -> Self {
        let jitter = seed
            .chunks_exact(8)
            .fold(0, |sum, chunk| chunk.iter().fold(sum, |acc: u64, byte| acc.rotate_left(8) ^ u64::from(*byte)));
        Self { seed, names: 0, jitter }
    }

    /// Name of this incarnation of a writer: the same at every call.
    pub(crate) fn writer_id(&self) -> WriterId {
        WriterId(self.name(b"writer", 0))
    }

    /// A fresh segment name.
    pub(crate) fn segment_id(&mut self) -> SegmentId {
        self.names += 1;
        SegmentId(self.name(b"segment", self.names))
    }

    /// 16 bytes in the shape of a random UUID (version 4), as the original writer uses them.
    fn name(&self, kind: &[u8], number: u64) -> [u8; 16] {
        let digest =
            Sha256::new().chain_update(kind).chain_update(self.seed).chain_update(number.to_be_bytes()).finalize();
        let mut id = [0; 16];
        id.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
        id[6] = id[6] & 0x0f | 0x40;
        id[8] = id[8] & 0x3f | 0x80;
        id
    }

    /// A number that differs between incarnations; for jitter only.
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.jitter = self.jitter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.jitter;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between half of `duration` and all of it.
    pub(crate) fn jittered(&mut self, duration: Duration) -> Duration {
        let half = duration / 2;
        let nanos = u64::try_from(half.as_nanos()).unwrap_or(u64::MAX);
        half + Duration::from_nanos(self.next_u64() % nanos.saturating_add(1))
    }
}
