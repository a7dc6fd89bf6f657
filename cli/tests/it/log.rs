//! A log in a directory of its own, driven by the command.
use crate::run::{Finished, bucketlog, run, run_with_input};
use bucketlog_fixtures::servers::{ACCESS_KEY, BUCKET, SECRET_KEY};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// One stream in a fresh store.
pub(crate) struct Log {
    directory: TempDir,
    /// Instead of the directory.
    bucket: Option<String>,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary directory"), bucket: None }
    }

    /// In a part of the test bucket of a server at this endpoint.
    pub(crate) fn in_bucket(endpoint: &str, prefix: &str) -> Self {
        // Without checksums SeaweedFS takes a write whose body never came for an empty one.
        let url = format!("s3://{BUCKET}/{prefix}?endpoint={endpoint}&region=us-east-1&checksums=crc32c");
        Self { bucket: Some(url), ..Self::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A subcommand on this log.
    pub(crate) fn command(&self, subcommand: &str) -> Command {
        let mut command = bucketlog();
        command.arg(subcommand).args(["--stream", "test/lines"]).arg("--store");
        match &self.bucket {
            None => command.arg(self.directory.path()),
            Some(url) => command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY).arg(url),
        };
        command
    }

    pub(crate) fn append(&self, args: &[&str], input: &[u8]) -> Finished {
        run_with_input(self.command("append").args(args), input)
    }

    /// What `read` prints.
    #[track_caller]
    pub(crate) fn read(&self, args: &[&str]) -> Vec<u8> {
        run(self.command("read").args(args)).ok().stdout
    }

    /// The records that `read --json` prints.
    #[track_caller]
    pub(crate) fn records(&self, args: &[&str]) -> Vec<Value> {
        let printed = self.read(&[args, &["--json"]].concat());
        json_lines(&printed)
    }

    #[track_caller]
    pub(crate) fn next_lsn(&self) -> u64 {
        number(&run(self.command("head").arg("--json")).ok().json()["next_lsn"])
    }

    /// The stored files whose names end so.
    pub(crate) fn files(&self, suffix: &str) -> Vec<PathBuf> {
        let mut folders = vec![self.directory.path().to_owned()];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
                if entry.is_dir() {
                    folders.push(entry);
                } else if entry.to_string_lossy().ends_with(suffix) {
                    files.push(entry);
                }
            }
        }
        files
    }
}

/// Every line as JSON.
#[track_caller]
pub(crate) fn json_lines(text: &[u8]) -> Vec<Value> {
    let parse = |line: &[u8]| serde_json::from_slice(line).expect("each line is JSON");
    text.split_inclusive(|byte| *byte == b'\n').map(parse).collect()
}

/// A number in decimal text.
#[track_caller]
pub(crate) fn number(value: &Value) -> u64 {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{value} is no number in text"))
}
