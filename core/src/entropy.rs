//! Randomness from a seed that came in: the core never asks for any.

/// A stream of numbers that depends only on its seed (SplitMix64 over the four words of the seed). Good for jitter and
/// for names that must differ; not for secrets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Entropy {
    words: [u64; 4],
    turn: usize,
}

impl Entropy {
    /// Starts the stream of this seed.
    pub(crate) fn from_seed(seed: [u8; 32]) -> Self {
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(seed.chunks_exact(8)) {
            *word = bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        }
        Self { words, turn: 0 }
    }

    /// The next number.
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.turn = (self.turn + 1) % self.words.len();
        let word = &mut self.words[self.turn];
        *word = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (*word ^ (*word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}
