//! How many requests of a kind may be under way.
use crate::mutant::mutant;

/// Additive increase, multiplicative decrease: a throttle halves it, at most once for the requests that were under way
/// together, and each windowful of successes brings back one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Window {
    size: u32,
    most: u32,
    /// Successes since it grew last.
    credit: u32,
    /// Throttles that belong to requests of before it was narrowed.
    stale: u32,
}

impl Window {
    /// As wide as it may get; `most` of 0 counts as 1.
    pub(crate) fn new(most: u32) -> Self {
        let most = most.max(1);
        Self { size: most, most, credit: 0, stale: 0 }
    }

    pub(crate) fn size(self) -> u32 {
        self.size
    }

    pub(crate) fn succeeded(&mut self) {
        self.stale = self.stale.saturating_sub(1);
        self.credit += 1;
        if self.credit >= self.size {
            (self.size, self.credit) = ((self.size + 1).min(self.most), 0);
        }
    }

    /// A request came to nothing in another way.
    pub(crate) fn failed(&mut self) {
        self.stale = self.stale.saturating_sub(1);
    }

    /// `under_way`: other requests of this kind whose answers are still to be looked at.
    pub(crate) fn throttled(&mut self, under_way: u32) {
        if self.stale > 0 {
            self.stale -= 1;
        } else if !mutant("the window never narrows") {
            (self.size, self.credit, self.stale) = ((self.size / 2).max(1), 0, under_way);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Window;

    #[test]
    fn throttles_of_one_round_halve_it_once() {
        let mut window = Window::new(8);
        for under_way in (0..8).rev() {
            window.throttled(under_way);
        }
        assert_eq!(window.size(), 4);
        window.throttled(3);
        assert_eq!(window.size(), 2);
    }

    #[test]
    fn it_never_closes_and_never_passes_its_bound() {
        let mut window = Window::new(4);
        (0..10).for_each(|_| window.throttled(0));
        assert_eq!(window.size(), 1);
        (0..100).for_each(|_| window.succeeded());
        assert_eq!(window.size(), 4);
        assert_eq!(Window::new(0).size(), 1);
    }

    #[test]
    fn a_windowful_of_successes_brings_back_one() {
        let mut window = Window::new(8);
        window.throttled(0);
        (0..3).for_each(|_| window.succeeded());
        assert_eq!(window.size(), 4);
        window.succeeded();
        assert_eq!(window.size(), 5);
    }
}
