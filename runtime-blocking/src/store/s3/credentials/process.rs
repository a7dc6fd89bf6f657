//! A program that prints keys (AWS's `credential_process`).
use super::{Keys, NoKeys, document};
use std::process::{Command, Stdio};

/// Runs the command line and reads what it prints. Nothing of its output shows in errors.
pub(super) fn run(command: &str) -> Result<Keys, NoKeys> {
    let output = Command::new("sh").arg("-c").arg(command).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| NoKeys(format!("credential_process did not start: {error}")))?;
    if !output.status.success() {
        return Err(NoKeys(format!("credential_process ended with {}", output.status)));
    }
    document::parse(&output.stdout, "credential_process")
}
