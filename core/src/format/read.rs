//! A checked reader of big-endian fields.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::panic
)]
use super::{FormatError, FormatErrorKind, Section};

/// Reads fields front to back and knows where in the object it stands.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    section: Section,
    offset: u64,
}

impl<'a> Cursor<'a> {
    /// Over `bytes`, which start `base_offset` bytes into the object.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], section: Section, base_offset: u64) -> Self {
        Self { rest: bytes, section, offset: base_offset }
    }

    /// Offset of the next byte from the start of the object.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The part of the object that errors are reported in.
    pub(crate) fn section(&self) -> Section {
        self.section
    }

    /// Reports later errors in `section`.
    pub(crate) fn enter(&mut self, section: Section) {
        self.section = section;
    }

    /// Bytes not read yet.
    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], FormatError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(|| self.truncated(len))?;
        self.advance(rest, len);
        Ok(taken)
    }

    /// The next `N` bytes.
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        self.chunk().copied()
    }

    /// The next `N` bytes, where they are.
    #[inline]
    pub(crate) fn chunk<const N: usize>(&mut self) -> Result<&'a [u8; N], FormatError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(|| self.truncated(N))?;
        self.advance(rest, N);
        Ok(taken)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, FormatError> {
        self.array().map(|[byte]| byte)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, FormatError> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, FormatError> {
        self.array().map(u32::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64, FormatError> {
        self.array().map(u64::from_be_bytes)
    }

    #[inline]
    pub(crate) fn i64(&mut self) -> Result<i64, FormatError> {
        self.array().map(i64::from_be_bytes)
    }

    /// Fails unless the next bytes are `magic`.
    pub(crate) fn magic<const N: usize>(&mut self, magic: &[u8; N]) -> Result<(), FormatError> {
        let at = self.offset;
        let found = self.array::<N>()?;
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

    /// The next `N` bytes, which are reserved and must be zero.
    #[inline]
    pub(crate) fn reserved<const N: usize>(&mut self) -> Result<(), FormatError> {
        let start = self.offset;
        let bytes = self.array::<N>()?;
        if bytes == [0; N] { Ok(()) } else { Err(self.not_zero(&bytes, start)) }
    }

    #[cold]
    fn not_zero(&self, bytes: &[u8], start: u64) -> FormatError {
        let (byte, at) = bytes.iter().zip(start..).find(|(byte, _)| **byte != 0).unwrap_or((&0, start));
        self.error(FormatErrorKind::Invalid, at, format!("reserved bytes must be zero, found {byte:#04x}"))
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

    /// An error of this section at an absolute offset.
    pub(crate) fn error(&self, kind: FormatErrorKind, offset: u64, detail: String) -> FormatError {
        FormatError::new(kind, self.section, offset, detail)
    }

    #[cold]
    fn truncated(&self, wanted: usize) -> FormatError {
        let detail = format!("{wanted} bytes expected, {} left", self.rest.len());
        self.error(FormatErrorKind::Truncated, self.offset, detail)
    }

    #[inline]
    fn advance(&mut self, rest: &'a [u8], by: usize) {
        self.rest = rest;
        self.offset = self.offset.saturating_add(by as u64);
    }
}
