//! A checked big-endian cursor: the only way parsers look at fixed-width fields.
use super::{FormatError, FormatErrorKind, Section};

/// Reads fields one after another; every error carries its absolute offset.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    section: Section,
    offset: u64,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`, which lie `base_offset` bytes from the start of the object.
    pub(crate) const fn new(bytes: &'a [u8], section: Section, base_offset: u64) -> Self {
        Self { rest: bytes, section, offset: base_offset }
    }

    /// The next `N` bytes.
    pub(crate) fn bytes<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        let Some((field, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.truncated(N));
        };
        self.rest = rest;
        self.offset = self.offset.saturating_add(N as u64);
        Ok(*field)
    }

    /// The next 16-bit field.
    pub(crate) fn u16(&mut self) -> Result<u16, FormatError> {
        self.bytes().map(u16::from_be_bytes)
    }

    /// The next 32-bit field.
    pub(crate) fn u32(&mut self) -> Result<u32, FormatError> {
        self.bytes().map(u32::from_be_bytes)
    }

    /// The next 64-bit field.
    pub(crate) fn u64(&mut self) -> Result<u64, FormatError> {
        self.bytes().map(u64::from_be_bytes)
    }

    /// The next signed 64-bit field.
    pub(crate) fn i64(&mut self) -> Result<i64, FormatError> {
        self.bytes().map(i64::from_be_bytes)
    }

    /// Fails unless the next bytes are `magic`.
    pub(crate) fn magic<const N: usize>(&mut self, magic: &[u8; N]) -> Result<(), FormatError> {
        let at = self.offset;
        let found = self.bytes::<N>()?;
        self.expect(found == *magic, FormatErrorKind::Invalid, at, || {
            format!("magic is \"{}\", not \"{}\"", found.escape_ascii(), magic.escape_ascii())
        })
    }

    /// Fails with `kind` unless the next 16-bit field called `name` is `wanted`.
    pub(crate) fn fixed_u16(&mut self, kind: FormatErrorKind, name: &str, wanted: u16) -> Result<(), FormatError> {
        let at = self.offset;
        let found = self.u16()?;
        self.expect(found == wanted, kind, at, || format!("{name} is {found}, not {wanted}"))
    }

    /// Fails unless the next 32-bit field called `name` is `wanted`.
    pub(crate) fn fixed_u32(&mut self, name: &str, wanted: u32) -> Result<(), FormatError> {
        let at = self.offset;
        let found = self.u32()?;
        self.expect(found == wanted, FormatErrorKind::Invalid, at, || format!("{name} is {found}, not {wanted}"))
    }

    /// Fails unless the next `N` bytes are zero.
    pub(crate) fn reserved<const N: usize>(&mut self) -> Result<(), FormatError> {
        let at = self.offset;
        let found = self.bytes::<N>()?;
        match found.iter().zip(at..).find(|(byte, _)| **byte != 0) {
            None => Ok(()),
            Some((byte, at)) => {
                Err(self.error(FormatErrorKind::Invalid, at, format!("reserved byte is {byte:#04x}, not zero")))
            }
        }
    }

    fn expect(
        &self,
        holds: bool,
        kind: FormatErrorKind,
        at: u64,
        detail: impl FnOnce() -> String,
    ) -> Result<(), FormatError> {
        if holds { Ok(()) } else { Err(self.error(kind, at, detail())) }
    }

    fn error(&self, kind: FormatErrorKind, at: u64, detail: String) -> FormatError {
        FormatError::new(kind, self.section, at, detail)
    }

    #[cold]
    fn truncated(&self, wanted: usize) -> FormatError {
        let detail = format!("a field of {wanted} bytes is cut after {}", self.rest.len());
        self.error(FormatErrorKind::Truncated, self.offset, detail)
    }
}
