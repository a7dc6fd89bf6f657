//! A body in pieces, read in order.
use bytes::Bytes;
use std::io::{self, Read};

/// Reads pieces one after the other where they lie.
pub(super) struct Rope<'a> {
    pieces: &'a [Bytes],
    /// Read bytes of the first piece.
    read: usize,
}

impl<'a> Rope<'a> {
    pub(super) fn new(pieces: &'a [Bytes]) -> Self {
        Self { pieces, read: 0 }
    }
}

impl Read for Rope<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while let [piece, rest @ ..] = self.pieces {
            let left = &piece[self.read..];
            let n = left.len().min(buffer.len() - filled);
            buffer[filled..filled + n].copy_from_slice(&left[..n]);
            filled += n;
            if n < left.len() {
                self.read += n;
                break;
            }
            (self.pieces, self.read) = (rest, 0);
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_in_order_through_any_buffer() {
        let pieces: Vec<Bytes> = ["", "abc", "", "defgh", "i", ""].map(Bytes::from).into();
        for size in 1..=10 {
            let mut rope = Rope::new(&pieces);
            let mut read = Vec::new();
            let mut buffer = vec![0; size];
            loop {
                let n = rope.read(&mut buffer).unwrap();
                if n == 0 {
                    break;
                }
                read.extend_from_slice(&buffer[..n]);
            }
            assert_eq!(read, b"abcdefghi");
        }
    }
}
