//! Time comes in as an argument; the core never asks for it.
use crate::ids::TimestampMs;
use std::time::Duration;

/// Monotonic nanoseconds since an origin that the driver chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonoTime(pub u64);

impl MonoTime {
    /// This instant plus `duration`, at most the end of the scale (584 years).
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// Time passed since `earlier`; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// The two clocks at one moment: deadlines use the first, stored timestamps the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Now {
    /// Never goes back.
    pub mono: MonoTime,
    /// May step in either direction.
    pub wall: TimestampMs,
}
