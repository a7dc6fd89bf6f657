//! Where one record ends and the next begins in files and pipes.
use clap::Args;
use std::str::FromStr;

/// How records are told apart.
#[derive(Args, Clone, Debug)]
pub(crate) struct FramingArgs {
    /// Bytes that end each record: any text, with the escapes \n \r \t \0 \\ and \xHH
    #[arg(long, value_name = "TEXT", default_value = "\\n")]
    delimiter: Delimiter,
    /// Each record has its length before it, as 4 bytes, big-endian
    #[arg(long, conflicts_with = "delimiter")]
    length_prefixed: bool,
}

impl FramingArgs {
    pub(crate) fn framing(&self) -> Framing {
        if self.length_prefixed { Framing::LengthPrefixed } else { Framing::Delimited(self.delimiter.0.clone()) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Never empty.
    Delimited(Vec<u8>),
    LengthPrefixed,
}

#[derive(Clone, Debug)]
struct Delimiter(Vec<u8>);

impl FromStr for Delimiter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut bytes = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => bytes.push(escape(&mut chars)?),
                c => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        if bytes.is_empty() { Err("a delimiter has at least one byte".to_owned()) } else { Ok(Self(bytes)) }
    }
}

/// The byte that the rest of an escape stands for.
fn escape(chars: &mut std::str::Chars<'_>) -> Result<u8, String> {
    match chars.next() {
        Some('n') => Ok(b'\n'),
        Some('r') => Ok(b'\r'),
        Some('t') => Ok(b'\t'),
        Some('0') => Ok(0),
        Some('\\') => Ok(b'\\'),
        Some('x') => {
            let digits: String = chars.take(2).collect();
            let both = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            let byte = if both { u8::from_str_radix(&digits, 16).ok() } else { None };
            byte.ok_or_else(|| "\\x needs two hexadecimal digits".to_owned())
        }
        Some(other) => Err(format!("\\{other} is no escape; known are \\n \\r \\t \\0 \\\\ and \\xHH")),
        None => Err("a backslash at the end must be doubled".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, bytes: Option<&[u8]>) {
        assert_eq!(text.parse::<Delimiter>().ok().map(|delimiter| delimiter.0).as_deref(), bytes, "{text:?}");
    }

    #[test]
    fn escapes_stand_for_their_bytes() {
        check("\\n", Some(b"\n"));
        check("\\r\\n\\t\\0\\\\", Some(b"\r\n\t\0\\"));
        check("\\xfF--é", Some(b"\xff--\xc3\xa9"));
    }

    #[test]
    fn empty_and_unfinished_delimiters_are_refused() {
        for text in ["", "\\", "\\q", "\\x", "\\x1", "\\xg0", "\\x+1"] {
            check(text, None);
        }
    }
}
