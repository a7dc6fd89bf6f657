//! What operators read. Without the feature `tracing` it costs nothing.
use bucketlog_core::writer::Halted;

/// A writer was dropped with records that are not durable.
#[cfg(feature = "tracing")]
pub(crate) fn given_up(unproven: u64) {
    tracing::warn!(unproven, "writer dropped before its records were durable; close() or flush() waits for them");
}

/// A writer came to its end. Lost races are everyday life, and so is an abort that the caller asked for.
#[cfg(feature = "tracing")]
pub(crate) fn halted(halted: &Halted) {
    use bucketlog_core::writer::HaltCause;
    match halted.cause {
        HaltCause::Superseded { .. } | HaltCause::Contended { .. } | HaltCause::Aborted => {
            tracing::debug!(%halted, "writer ended");
        }
        _ => tracing::error!(%halted, "writer halted"),
    }
}

/// A store complained of this machine's clock.
#[cfg(all(feature = "s3", feature = "tracing"))]
pub(crate) fn clock_differs(store_is_ahead_ms: i64) {
    tracing::warn!(store_is_ahead_ms, "this machine's clock differs from the store's, whose time signs from now on");
}

/// A store named its bucket's region, which is not the configured one.
#[cfg(all(feature = "s3", feature = "tracing"))]
pub(crate) fn region_differs(region: &str) {
    tracing::warn!(region, "the bucket lies in another region than was configured, for which requests are signed now");
}

#[cfg(all(feature = "s3", not(feature = "tracing")))]
pub(crate) fn clock_differs(_: i64) {}

#[cfg(all(feature = "s3", not(feature = "tracing")))]
pub(crate) fn region_differs(_: &str) {}

#[cfg(not(feature = "tracing"))]
pub(crate) fn given_up(_: u64) {}

#[cfg(not(feature = "tracing"))]
pub(crate) fn halted(_: &Halted) {}
