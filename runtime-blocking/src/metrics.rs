//! Where monitoring hears of finished work.
pub use bucketlog_core::metric::Metric;
use std::fmt::Debug;

/// Receives what machines report, under objlog's event names (objlog protocol 12).
///
/// Called from workers and from threads that use the handles, never under a lock of the log, so it may use the handles;
/// it should return soon. A panic is caught.
pub trait MetricsSink: Debug + Send + Sync {
    /// One finished piece of work.
    fn record(&self, metric: &Metric);
}
