//! Straight big-endian stores into a buffer of known size.
use std::mem;

/// Fills a fixed buffer front to back.
pub(super) struct Fill<'a>(&'a mut [u8]);

impl<'a> Fill<'a> {
    /// Over `buffer`, whose length is the structure's: every byte is stored exactly once.
    pub(super) fn new(buffer: &'a mut [u8]) -> Self {
        Self(buffer)
    }

    #[inline]
    pub(super) fn bytes<const N: usize>(&mut self, value: [u8; N]) {
        debug_assert!(self.0.len() >= N, "a structure's fields add up to its length");
        if let Some((field, rest)) = mem::take(&mut self.0).split_first_chunk_mut() {
            *field = value;
            self.0 = rest;
        }
    }

    #[inline]
    pub(super) fn reserved<const N: usize>(&mut self) {
        self.bytes([0; N]);
    }

    #[inline]
    pub(super) fn u8(&mut self, value: u8) {
        self.bytes([value]);
    }

    #[inline]
    pub(super) fn u16(&mut self, value: u16) {
        self.bytes(value.to_be_bytes());
    }

    #[inline]
    pub(super) fn u32(&mut self, value: u32) {
        self.bytes(value.to_be_bytes());
    }

    #[inline]
    pub(super) fn u64(&mut self, value: u64) {
        self.bytes(value.to_be_bytes());
    }

    #[inline]
    pub(super) fn i64(&mut self, value: i64) {
        self.bytes(value.to_be_bytes());
    }
}
