//! Counters of a running append, and the progress bar on a terminal.
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often the bar moves without news.
const TICK: Duration = Duration::from_millis(200);

/// Shared by the thread that appends and the one that prints.
pub(super) struct Meter {
    bytes: AtomicU64,
    records: AtomicU64,
    /// Shows on stderr, and there only if it is a terminal.
    bar: ProgressBar,
}

impl Meter {
    /// `total`: bytes of the whole input, where that is known.
    pub(super) fn new(total: Option<u64>) -> Self {
        let (bar, template) = match total {
            Some(total) => (
                ProgressBar::new(total),
                "{bar:20} {percent:>3} %  {bytes} of {total_bytes}  {bytes_per_sec}  ETA {eta}  {wide_msg}",
            ),
            None => (ProgressBar::no_length(), "{spinner} {elapsed}  {bytes}  {bytes_per_sec}  {wide_msg}"),
        };
        // The templates are constants that parse.
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        if !bar.is_hidden() {
            bar.enable_steady_tick(TICK);
        }
        Self { bytes: AtomicU64::new(0), records: AtomicU64::new(0), bar }
    }

    pub(super) fn read(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.bar.inc(bytes);
    }

    pub(super) fn accepted(&self) {
        self.records.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn committed(&self, records: u64) {
        if !self.bar.is_hidden() {
            self.bar.set_message(format!("{} durable", HumanCount(records)));
        }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }
}
