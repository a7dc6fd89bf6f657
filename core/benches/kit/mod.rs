//! What the benches of all crates share: paired measurements, the table of results, batches of records.
//!
//! Every figure is held against a floor measured on the same bytes in the same run. Floor and figure take turns, so that
//! a change of the machine's pace meets both; what counts is the median of their ratios, round by round.
#![allow(dead_code, unreachable_pub, reason = "each bench takes from it what it needs")]

pub mod batch;
pub mod measure;
pub mod report;
pub mod workers;
