//! Integration tests of the blocking driver.
mod conformance;
mod counted;
mod flawed;
mod local_dir;
mod memory;
mod store_url;

use std::time::{Duration, Instant};

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}
