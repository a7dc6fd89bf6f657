//! Cuts input into records.
use crate::failure::Failure;
use crate::framing::Framing;
use bucketlog_core::limits::MAX_VALUE_LEN;
use bytes::{Buf as _, Bytes, BytesMut};
use memchr::memmem::Finder;

/// Bytes of a length before a record.
const PREFIX: usize = 4;

/// Cuts chunks into records. A record inside one chunk shares its memory; one that began in an earlier chunk is copied.
pub(super) struct Splitter {
    cut: Cut,
    /// The start of a record whose end has not come yet.
    begun: BytesMut,
    chunk: Bytes,
    /// Bytes at the start of `begun` that hold no delimiter.
    searched: usize,
}

enum Cut {
    After(Box<Finder<'static>>),
    Prefixed,
}

impl Splitter {
    pub(super) fn new(framing: Framing) -> Self {
        let cut = match framing {
            Framing::Delimited(delimiter) => Cut::After(Box::new(Finder::new(&delimiter).into_owned())),
            Framing::LengthPrefixed => Cut::Prefixed,
        };
        Self { cut, begun: BytesMut::new(), chunk: Bytes::new(), searched: 0 }
    }

    /// Takes the next bytes, once [`Splitter::next_record`] has given all records of those before.
    pub(super) fn feed(&mut self, chunk: Bytes) {
        if self.begun.is_empty() {
            self.chunk = chunk;
        } else {
            self.begun.extend_from_slice(&chunk);
            self.chunk = std::mem::take(&mut self.begun).freeze();
        }
    }

    /// The next whole record.
    pub(super) fn next_record(&mut self) -> Result<Option<Bytes>, Failure> {
        let found = match &self.cut {
            Cut::After(delimiter) => {
                let len = delimiter.needle().len();
                let end = delimiter.find(&self.chunk[self.searched..]).map(|at| self.searched + at);
                check_len(end.unwrap_or_else(|| self.chunk.len().saturating_sub(len)))?;
                end.map(|end| (0, end, end + len))
            }
            Cut::Prefixed => match self.chunk.first_chunk::<PREFIX>() {
                None => None,
                Some(prefix) => {
                    let len = usize::try_from(u32::from_be_bytes(*prefix)).unwrap_or(usize::MAX);
                    check_len(len)?;
                    let end = PREFIX + len;
                    (self.chunk.len() >= end).then_some((PREFIX, end, end))
                }
            },
        };
        let Some((from, to, next)) = found else {
            self.keep();
            return Ok(None);
        };
        self.searched = 0;
        let value = self.chunk.slice(from..to);
        self.chunk.advance(next);
        Ok(Some(value))
    }

    /// The last record of a source that does not end with a delimiter.
    pub(super) fn end_source(&mut self) -> Result<Option<Bytes>, Failure> {
        self.searched = 0;
        let rest = std::mem::take(&mut self.begun).freeze();
        if rest.is_empty() {
            return Ok(None);
        }
        match self.cut {
            Cut::After(_) => check_len(rest.len()).map(|()| Some(rest)),
            Cut::Prefixed => {
                let what = format!("the input ends inside a record: {} bytes are left over", rest.len());
                Err(Failure::new(
                    "input",
                    what,
                    "check that every record has its length as 4 bytes, big-endian, before it",
                ))
            }
        }
    }

    fn keep(&mut self) {
        let overlap = match &self.cut {
            Cut::After(delimiter) => delimiter.needle().len() - 1,
            Cut::Prefixed => 0,
        };
        self.searched = self.chunk.len().saturating_sub(overlap);
        self.begun = BytesMut::from(std::mem::take(&mut self.chunk));
    }
}

/// Before a record's bytes are collected: the limit of the format bounds memory.
fn check_len(len: usize) -> Result<(), Failure> {
    if len <= MAX_VALUE_LEN {
        return Ok(());
    }
    let what = format!("a record has more than {MAX_VALUE_LEN} bytes, the limit of the format");
    Err(Failure::new("record", what, "check --delimiter or --length-prefixed, or cut the record into smaller ones"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delimited(delimiter: &[u8]) -> Framing {
        Framing::Delimited(delimiter.to_vec())
    }

    /// Feeds the input in pieces of `size` bytes.
    fn split(framing: &Framing, input: &[u8], size: usize) -> Result<Vec<Vec<u8>>, Failure> {
        let mut splitter = Splitter::new(framing.clone());
        let mut records = Vec::new();
        for piece in input.chunks(size) {
            splitter.feed(Bytes::copy_from_slice(piece));
            while let Some(record) = splitter.next_record()? {
                records.push(record.to_vec());
            }
        }
        records.extend(splitter.end_source()?.map(Vec::from));
        Ok(records)
    }

    #[track_caller]
    fn check(framing: &Framing, input: &[u8], expected: &[&[u8]]) {
        for size in 1..=input.len().max(1) {
            assert_eq!(split(framing, input, size).expect("valid input"), expected, "pieces of {size}");
        }
    }

    #[test]
    fn records_end_at_delimiters_wherever_the_pieces_do() {
        check(&delimited(b"\n"), b"a\n\nlonger\nlast", &[b"a", b"", b"longer", b"last"]);
        check(&delimited(b"\n"), b"", &[]);
        check(&delimited(b"\n"), b"\n", &[b""]);
        check(&delimited(b"--"), b"a-b----c-", &[b"a-b", b"", b"c-"]);
        check(&delimited(b"aab"), b"aaabxaab", &[b"a", b"x"]);
    }

    #[test]
    fn lengths_before_records_are_followed_wherever_the_pieces_end() {
        check(&Framing::LengthPrefixed, b"\0\0\0\x02a\n\0\0\0\0\0\0\0\x01z", &[b"a\n", b"", b"z"]);
    }

    #[test]
    fn input_that_ends_inside_a_prefixed_record_is_refused() {
        for input in [&b"\0\0"[..], b"\0\0\0\x02a"] {
            assert!(split(&Framing::LengthPrefixed, input, 100).is_err(), "{input:?}");
        }
    }

    #[test]
    fn a_record_above_the_limit_is_refused_before_it_is_collected() {
        let line = vec![b'x'; MAX_VALUE_LEN];
        assert_eq!(split(&delimited(b"\n"), &line, 1 << 16).expect("at the limit"), std::slice::from_ref(&line));
        let longer = [&line[..], b"x"].concat();
        assert!(split(&delimited(b"\n"), &longer, 1 << 16).is_err());
        assert!(split(&Framing::LengthPrefixed, b"\x7f\xff\xff\xff", 4).is_err());
    }
}
