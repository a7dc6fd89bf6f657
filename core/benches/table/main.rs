//! All figures of the core, each beside its floor: `cargo bench -p bucketlog-core`.
//!
//! Names choose benches, `--json` prints a JSON object a line; `cargo bench -p bucketlog-core -- defaults` prints the
//! tables that the default level and block size were chosen by (docs/decisions/0004-defaults.md).
mod catalog;
mod defaults;
mod encode;
#[path = "../kit/mod.rs"]
mod kit;
mod lookup;
mod reader;
mod scan;

use kit::report::Report;

fn main() {
    let mut report = Report::from_args();
    if report.wants("encode", true) {
        encode::run(&mut report);
    }
    if report.wants("scan", true) {
        scan::run(&mut report);
    }
    if report.wants("lookup", true) {
        lookup::run(&mut report);
    }
    if report.wants("catalog", true) {
        catalog::run(&mut report);
    }
    if report.wants("defaults", false) {
        defaults::run();
    }
    report.finish();
}
