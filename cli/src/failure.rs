//! What went wrong, for people and for programs.
use bucketlog_core::format::FormatError;
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// A command that did not do what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    /// Stable name for programs.
    kind: &'static str,
    /// One line: what happened.
    what: String,
    /// One line: what to do.
    help: String,
    /// Further fields for programs.
    facts: Map<String, Value>,
    closed_pipe: bool,
}

#[derive(Clone, Copy, Debug)]
enum Exit {
    Failed = 1,
    Usage = 2,
    Damaged = 3,
}

impl Failure {
    /// Something other than a damaged object or wrong usage: exit code 1.
    pub(crate) fn new(kind: &'static str, what: impl Into<String>, help: impl Into<String>) -> Self {
        let (what, help) = (what.into(), help.into());
        Self { exit: Exit::Failed, kind, what, help, facts: Map::new(), closed_pipe: false }
    }

    /// Arguments that contradict each other or the input: exit code 2.
    pub(crate) fn usage(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, ..Self::new("usage", what, help) }
    }

    /// An object that breaks a rule of its format: exit code 3. `name` says which object.
    pub(crate) fn damaged(name: &str, error: &FormatError) -> Self {
        let detail = error.detail.clone().into_owned();
        Self::not_an_object(name, error.kind.name(), error.section.name(), error.offset, detail)
    }

    /// Like [`Failure::damaged`], also for bytes that no format claims.
    pub(crate) fn not_an_object(
        name: &str,
        kind: &'static str,
        section: &'static str,
        offset: u64,
        detail: String,
    ) -> Self {
        let what = format!("{name} is damaged: {kind} in {section} at byte {offset}: {detail}");
        Self { exit: Exit::Damaged, ..Self::new(kind, what, damage_help(kind)) }
            .with("section", section)
            .with("offset", offset)
            .with("detail", detail)
    }

    /// The same with one more field for programs.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    /// The same with more in the line that says what happened.
    pub(crate) fn and(mut self, more: &str) -> Self {
        self.what.push_str(more);
        self
    }

    /// Whether the reader of stdout went away, which is its right: `bucketlog read | head`.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.closed_pipe
    }

    pub(crate) fn exit_code(&self) -> u8 {
        self.exit as u8
    }

    /// JSON goes to stdout, where a program reads the results; text, and what stdout does not take, goes to stderr.
    pub(crate) fn print(&self, json: bool, out: &mut dyn Write) -> io::Result<()> {
        if json && self.print_json(out).is_ok() {
            return Ok(());
        }
        // What was already printed comes first; if that fails there is an error to tell all the same.
        let _ = out.flush();
        writeln!(io::stderr(), "error: {}\n help: {}", self.what, self.help)
    }

    fn print_json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, &ErrorLine { error: self.report() })?;
        writeln!(out)?;
        out.flush()
    }

    fn report(&self) -> Map<String, Value> {
        let mut report = self.facts.clone();
        report.insert("kind".to_owned(), self.kind.into());
        report.entry("detail").or_insert_with(|| self.what.clone().into());
        report.insert("help".to_owned(), self.help.clone().into());
        report
    }
}

#[derive(Serialize)]
struct ErrorLine {
    error: Map<String, Value>,
}

fn damage_help(kind: &str) -> &'static str {
    match kind {
        "unrecognized" => "check that this is a segment, head or page and not another file",
        "unsupported_version"
        | "unsupported_codec"
        | "unsupported_hash"
        | "unsupported_record_format"
        | "unsupported_layout" => "a newer program may have written it: use a newer bucketlog",
        "missing" => "restore the object from a copy; inspect the head to see what refers to it",
        "truncated" => "fetch the object again: the copy is probably cut short",
        _ => "fetch the object again and compare; if it stays so, restore it from a replica or backup",
    }
}

/// Writing the result failed.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let closed_pipe = error.kind() == io::ErrorKind::BrokenPipe;
        let what = format!("can't write the output: {error}");
        Self { closed_pipe, ..Self::new("output", what, "check the place that stdout goes to") }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}
