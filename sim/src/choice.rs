//! Where choices come from. A run is a pure function of its set-up and its choices.

/// Decides everything that the code under test does not decide.
pub trait Choices {
    /// Picks a position in a menu, given the weight of each offer; `None` ends the run. An offer of weight 0 is never
    /// picked.
    fn pick(&mut self, weights: &mut dyn Iterator<Item = u32>) -> Option<usize>;
}

/// A small generator (SplitMix64): the same seed gives the same run on every machine, for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    /// Starts from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which must be positive.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound
    }
}

/// Seeded choices, a given number of them.
#[derive(Clone, Debug)]
pub struct Seeded {
    random: Random,
    left: u64,
    weights: Vec<u32>,
}

impl Seeded {
    /// At most `steps` choices.
    #[must_use]
    pub fn new(seed: u64, steps: u64) -> Self {
        Self { random: Random::new(seed), left: steps, weights: Vec::new() }
    }
}

impl Choices for Seeded {
    fn pick(&mut self, weights: &mut dyn Iterator<Item = u32>) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        self.weights.clear();
        self.weights.extend(weights);
        let total: u64 = self.weights.iter().map(|weight| u64::from(*weight)).sum();
        if total == 0 {
            return None;
        }
        let mut drawn = self.random.below(total);
        self.weights.iter().position(|weight| match drawn.checked_sub(u64::from(*weight)) {
            Some(rest) => {
                drawn = rest;
                false
            }
            None => true,
        })
    }
}

/// Choices from bytes, for fuzzers and property tests: one byte each, shorter input gives a shorter run.
#[derive(Clone, Debug)]
pub struct ByteEntropy<'a>(&'a [u8]);

impl<'a> ByteEntropy<'a> {
    /// Spends `bytes` from the front.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

impl Choices for ByteEntropy<'_> {
    fn pick(&mut self, weights: &mut dyn Iterator<Item = u32>) -> Option<usize> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        let offers: Vec<usize> = weights.enumerate().filter(|(_, weight)| *weight > 0).map(|(i, _)| i).collect();
        let index = usize::from(*first).checked_rem(offers.len())?;
        offers.get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeded_choices_follow_the_weights_and_end() {
        let mut seeded = Seeded::new(7, 1_000);
        let mut counts = [0; 3];
        while let Some(picked) = seeded.pick(&mut [1, 0, 9].into_iter()) {
            counts[picked] += 1;
        }
        assert_eq!(counts.iter().sum::<u32>(), 1_000);
        assert!(counts[1] == 0 && counts[2] > 5 * counts[0], "{counts:?}");
    }

    #[test]
    fn bytes_pick_among_the_offers_that_have_weight() {
        let mut bytes = ByteEntropy::new(&[0, 1, 2]);
        let picks: Vec<_> = std::iter::from_fn(|| bytes.pick(&mut [0, 5, 5].into_iter())).collect();
        assert_eq!(picks, [1, 2, 1]);
    }

    #[test]
    fn nothing_to_choose_ends_a_run() {
        assert_eq!(Seeded::new(1, 9).pick(&mut [0, 0].into_iter()), None);
        assert_eq!(ByteEntropy::new(&[3]).pick(&mut [0].into_iter()), None);
    }
}
