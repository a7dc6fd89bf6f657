//! How a broken rule becomes an error with the offset of its field.
use crate::format::{FormatError, FormatErrorKind, Section};

/// A broken rule, `at` bytes into some structure whose own place the rule does not know.
#[derive(Debug)]
pub(super) struct Flaw {
    kind: FormatErrorKind,
    at: u64,
    detail: String,
}

impl Flaw {
    /// The error, given where the structure lies in its object.
    #[cold]
    pub(super) fn within(self, section: Section, base: u64) -> FormatError {
        FormatError::new(self.kind, section, base.saturating_add(self.at), self.detail)
    }
}

/// The rule `holds`, or the field `at` is [`FormatErrorKind::Invalid`].
#[inline]
pub(super) fn require(holds: bool, at: u64, detail: impl FnOnce() -> String) -> Result<(), Flaw> {
    require_kind(FormatErrorKind::Invalid, holds, at, detail)
}

/// The rule `holds`, or the field `at` is wrong in the way of `kind`.
#[inline]
pub(super) fn require_kind(
    kind: FormatErrorKind,
    holds: bool,
    at: u64,
    detail: impl FnOnce() -> String,
) -> Result<(), Flaw> {
    if holds { Ok(()) } else { Err(broken(kind, at, detail)) }
}

/// Out of the way of the rules that hold.
#[cold]
#[inline(never)]
fn broken(kind: FormatErrorKind, at: u64, detail: impl FnOnce() -> String) -> Flaw {
    Flaw { kind, at, detail: detail() }
}

/// Two places say the same of a field, or it is a [`FormatErrorKind::Mismatch`].
#[inline]
pub(super) fn agree<T: Copy + PartialEq + std::fmt::Display>(
    name: &str,
    at: u64,
    expected: T,
    found: T,
) -> Result<(), Flaw> {
    require_kind(FormatErrorKind::Mismatch, expected == found, at, || format!("{name} {found}, expected {expected}"))
}
