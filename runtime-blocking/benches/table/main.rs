//! All figures of the blocking driver, each beside its floor: `cargo bench -p bucketlog-blocking`.
//!
//! Names choose benches, `--json` prints a JSON object a line.
mod durable;
#[path = "../../../core/benches/kit/mod.rs"]
mod kit;
mod pipeline;

use kit::report::Report;

fn main() {
    if std::env::args().any(|arg| arg == pipeline::CHILD) {
        return pipeline::run_alone();
    }
    let mut report = Report::from_args();
    if report.wants("pipeline", true) {
        pipeline::run(&mut report);
    }
    if report.wants("durable", true) {
        durable::run(&mut report);
    }
    report.finish();
}

/// Options of a log whose computations may use two cores.
fn two_workers() -> bucketlog_blocking::LogOptions {
    bucketlog_blocking::LogOptions { cpu_threads: 2, ..Default::default() }
}
