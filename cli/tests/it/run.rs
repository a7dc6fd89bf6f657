//! Runs the built binary.
use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

/// The binary, with nothing of the tester's own environment that changes what it does.
pub(crate) fn bucketlog() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bucketlog"));
    command.env_remove("BUCKETLOG_STORE").env_remove("BUCKETLOG_STREAM").stdin(Stdio::null());
    command
}

/// What a finished run left behind.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Finished {
    /// stdout as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {:?}", String::from_utf8_lossy(&self.stdout)))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The same after a check that the run succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "stdout: {}\nstderr: {}", self.text(), self.stderr);
        self
    }
}

impl From<Output> for Finished {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs to the end.
pub(crate) fn run(command: &mut Command) -> Finished {
    command.output().expect("the binary starts").into()
}

/// Runs to the end with this on stdin.
pub(crate) fn run_with_input(command: &mut Command, input: &[u8]) -> Finished {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    std::thread::scope(|scope| {
        // A run that ends early closes the pipe; its exit code tells why.
        scope.spawn(move || stdin.write_all(input).is_ok());
        child.wait_with_output().expect("the binary ends").into()
    })
}
