//! What happened, as a hash that tells runs apart and, on request, as lines for people.
use std::fmt;
use std::hash::Hasher;
use twox_hash::XxHash64;

/// Takes notes.
#[derive(Clone, Debug)]
pub(super) struct Journal {
    hasher: XxHash64,
    lines: Option<Vec<String>>,
}

impl Journal {
    pub(super) fn new(keeps_lines: bool) -> Self {
        Self { hasher: XxHash64::with_seed(0), lines: keeps_lines.then(Vec::new) }
    }

    /// A step begins; in the lines it stands for itself, and what happens in it is a comment.
    pub(super) fn heading(&mut self, step: fmt::Arguments<'_>) {
        self.write("", step);
    }

    pub(super) fn note(&mut self, what: fmt::Arguments<'_>) {
        self.write("#   ", what);
    }

    fn write(&mut self, prefix: &str, what: fmt::Arguments<'_>) {
        // Neither a hasher nor a string can fail.
        let _ = fmt::write(&mut Digest(&mut self.hasher), what);
        if let Some(lines) = &mut self.lines {
            lines.push(format!("{prefix}{what}"));
        }
    }

    pub(super) fn hash(&self) -> u64 {
        self.hasher.finish()
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.lines.unwrap_or_default()
    }
}

struct Digest<'a>(&'a mut XxHash64);

impl fmt::Write for Digest<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
