//! The `bucketlog` command; everything is in the library beside it.
use std::io::{BufWriter, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut out = BufWriter::with_capacity(1 << 16, stdout().lock());
    bucketlog_cli::run(std::env::args_os(), &mut out)
}
