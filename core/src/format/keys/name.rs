//! The last components of keys: writing them, and reading them back strictly.
use crate::format::catalog::PageRef;
use crate::ids::{Epoch, Generation, Lsn, PageId, SegmentId};
use crate::limits::MAX_PAGE_LEVEL;
use std::fmt::Write as _;

pub(super) const HEAD: &str = "head.plc";
pub(super) const RETENTION: &str = "maintenance/retention.json";
pub(super) const GC_STATE: &str = "maintenance/gc/state.json";

/// Digits of every number in a file name.
const DIGITS: usize = 20;
/// Hexadecimal digits of every id in a file name.
const ID_DIGITS: usize = 32;
/// Bytes of `pages/lLL/index-lLL-` and what follows, the longest page name.
const PAGE_NAME_LEN: usize = "pages/l00/index-l00-".len() + 3 * (DIGITS + 1) + ID_DIGITS + ".plc".len();
const SEGMENT_NAME_LEN: usize = "seg--e-".len() + 2 * DIGITS + ID_DIGITS + ".plseg".len();

/// What a key names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectName {
    /// The head.
    Head,
    /// A sealed page.
    Page {
        /// 0 for a leaf, 1 to 63 for an index page.
        level: u8,
        /// Last LSN below the page, inclusive.
        seq_hi: Lsn,
        /// First LSN below the page.
        seq_lo: Lsn,
        /// The commit that sealed the page.
        generation: Generation,
        /// Content name.
        page_id: PageId,
    },
    /// A segment.
    Segment {
        /// First record's LSN.
        base_lsn: Lsn,
        /// Epoch of the writer.
        epoch: Epoch,
        /// Random name.
        segment_id: SegmentId,
    },
    /// The retention mailbox.
    Retention,
    /// The state that reclaim keeps.
    GcState,
}

impl ObjectName {
    /// What a file name alone says, without the folders before it: for tools that are given a copy of an object.
    #[must_use]
    pub fn from_file_name(name: &str) -> Option<Self> {
        match name {
            HEAD => Some(Self::Head),
            "retention.json" => Some(Self::Retention),
            "state.json" => Some(Self::GcState),
            _ => parse_page(name).or_else(|| parse_segment(name)),
        }
    }
}

pub(super) fn page_key(root: &str, page: &PageRef) -> String {
    let PageRef { level, seq_hi, seq_lo, generation, page_id, .. } = page;
    let mut key = String::with_capacity(root.len().saturating_add(PAGE_NAME_LEN));
    key.push_str(root);
    // Writing to a string can't fail.
    let _ = match level {
        0 => key.write_str("pages/l00/leaf-"),
        level => write!(key, "pages/l{level:02}/index-l{level:02}-"),
    };
    let _ = write!(key, "{seq_hi:020}-{seq_lo:020}-{generation:020}-{page_id}.plc");
    key
}

pub(super) fn segment_key(root: &str, base: Lsn, epoch: Epoch, id: &SegmentId) -> String {
    let mut key = String::with_capacity(root.len().saturating_add(SEGMENT_NAME_LEN));
    key.push_str(root);
    // Writing to a string can't fail.
    let _ = write!(key, "seg-{base:020}-e{epoch:020}-{id}.plseg");
    key
}

/// `key`: what follows the catalog's root.
pub(super) fn parse_catalog(key: &str) -> Option<ObjectName> {
    match key {
        HEAD => Some(ObjectName::Head),
        RETENTION => Some(ObjectName::Retention),
        GC_STATE => Some(ObjectName::GcState),
        _ => {
            let (folder, file) = key.strip_prefix("pages/l")?.split_once('/')?;
            let level = parse_level(folder)?;
            parse_page(file).filter(|name| matches!(name, ObjectName::Page { level: found, .. } if *found == level))
        }
    }
}

fn parse_page(file: &str) -> Option<ObjectName> {
    let (level, rest) = match file.strip_prefix("index-l") {
        Some(rest) => {
            let (level, rest) = rest.split_once('-')?;
            (parse_level(level).filter(|level| *level > 0)?, rest)
        }
        None => (0, file.strip_prefix("leaf-")?),
    };
    let mut parts = rest.strip_suffix(".plc")?.split('-');
    let (seq_hi, seq_lo) = (Lsn(parse_number(parts.next()?)?), Lsn(parse_number(parts.next()?)?));
    let generation = Generation(parse_number(parts.next()?)?);
    let page_id = PageId(parse_id(parts.next()?)?);
    let legal = parts.next().is_none() && seq_hi >= seq_lo && generation.0 > 0;
    legal.then_some(ObjectName::Page { level, seq_hi, seq_lo, generation, page_id })
}

/// `file`: what follows the segments' root; no further folder is allowed.
pub(super) fn parse_segment(file: &str) -> Option<ObjectName> {
    let mut parts = file.strip_prefix("seg-")?.strip_suffix(".plseg")?.split('-');
    let base_lsn = Lsn(parse_number(parts.next()?)?);
    let epoch = Epoch(parse_number(parts.next()?.strip_prefix('e')?)?);
    let segment_id = SegmentId(parse_id(parts.next()?)?);
    let legal = parts.next().is_none() && epoch.0 > 0;
    legal.then_some(ObjectName::Segment { base_lsn, epoch, segment_id })
}

/// Two decimal digits, at most 63.
fn parse_level(text: &str) -> Option<u8> {
    parse_digits(text, 2)?.parse().ok().filter(|level| *level <= MAX_PAGE_LEVEL)
}

fn parse_number(text: &str) -> Option<u64> {
    parse_digits(text, DIGITS)?.parse().ok()
}

fn parse_digits(text: &str, len: usize) -> Option<&str> {
    (text.len() == len && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

/// 32 lower-case hexadecimal digits, not all zero.
fn parse_id(text: &str) -> Option<[u8; 16]> {
    let lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != ID_DIGITS || !text.bytes().all(lower_hex) {
        return None;
    }
    u128::from_str_radix(text, 16).ok().filter(|id| *id != 0).map(u128::to_be_bytes)
}
