//! The two clocks that machines are told.
use crate::sync::Arc;
use bucketlog_core::boundary::{MonoTime, Now};
use bucketlog_core::ids::TimestampMs;
use std::fmt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The process's monotonic clock, counted from an origin, and a wall clock.
#[derive(Clone)]
pub(crate) struct Clock {
    origin: Instant,
    wall: Arc<dyn Fn() -> TimestampMs + Send + Sync>,
}

impl Clock {
    /// The system's clocks.
    pub(crate) fn system() -> Self {
        Self::with_wall(now)
    }

    /// The system's monotonic clock beside another wall clock.
    pub(crate) fn with_wall(wall: impl Fn() -> TimestampMs + Send + Sync + 'static) -> Self {
        Self { origin: Instant::now(), wall: Arc::new(wall) }
    }

    pub(crate) fn now(&self) -> Now {
        Now { mono: self.mono(), wall: (self.wall)() }
    }

    pub(crate) fn mono(&self) -> MonoTime {
        MonoTime::default().after(self.elapsed())
    }

    #[cfg(not(any(loom, shuttle)))]
    fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }

    #[cfg(any(loom, shuttle))]
    #[expect(clippy::unused_self, reason = "stands in for the method above")]
    fn elapsed(&self) -> Duration {
        crate::sync::elapsed()
    }

    /// A moment of the machines' scale as the standard library knows it.
    pub(crate) fn instant(&self, moment: MonoTime) -> Instant {
        const FAR: Duration = Duration::from_secs(365 * 24 * 3600);
        self.origin.checked_add(Duration::from_nanos(moment.0)).unwrap_or_else(|| Instant::now() + FAR)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// The system's time, for the timestamps of records.
///
/// A clock may be set back, and a writer refuses timestamps that go back unless it is told to
/// [clamp](crate::writer::TimestampPolicy::Clamp) them.
#[must_use]
pub fn now() -> TimestampMs {
    let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    TimestampMs(match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => millis(after),
        Err(before) => -millis(before.duration()),
    })
}
