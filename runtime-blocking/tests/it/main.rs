//! Integration tests of the blocking driver.
#![cfg(not(any(loom, shuttle)))]
mod conformance;
mod counted;
mod doctor;
mod driver;
mod drops;
mod executors;
mod flawed;
mod flawed_uploads;
mod initialize;
mod local_dir;
mod log;
mod memory;
mod model;
mod prove_store;
mod reader;
mod requests;
#[cfg(feature = "s3")]
mod s3;
mod scrub;
mod store_url;
#[cfg(feature = "tracing")]
mod traces;
mod waiters;
mod world;
mod writer;

use std::time::{Duration, Instant};

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}
