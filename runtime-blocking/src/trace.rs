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

#[cfg(not(feature = "tracing"))]
pub(crate) fn given_up(_: u64) {}

#[cfg(not(feature = "tracing"))]
pub(crate) fn halted(_: &Halted) {}
