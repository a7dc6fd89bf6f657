//! Why bytes are not a valid object.
use std::{borrow::Cow, fmt};

/// A rule of a format that some bytes break.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{kind} in {section} at byte {offset}: {detail}")]
pub struct FormatError {
    /// What kind of rule is broken.
    pub kind: FormatErrorKind,
    /// The part of the object that breaks it.
    pub section: Section,
    /// Byte offset of the offending field from the start of the object.
    pub offset: u64,
    /// The rule and the value found, for people.
    pub detail: Cow<'static, str>,
}

impl FormatError {
    /// An error at `offset` bytes from the start of the object.
    pub fn new(kind: FormatErrorKind, section: Section, offset: u64, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, section, offset, detail: detail.into() }
    }
}

macro_rules! names { ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
    $(#[$doc])*
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum $name { $($(#[$vdoc])* $variant,)* }
    impl $name {
        /// Stable lower-case name, as printed by `inspect --json`.
        #[must_use]
        pub const fn name(self) -> &'static str { match self { $(Self::$variant => $text,)* } }
    }
    impl fmt::Display for $name {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.name()) }
    }
} }

names! {
    /// Classes of broken rules.
    FormatErrorKind {
        /// An object that another one refers to is not there.
        Missing = "missing",
        /// The bytes end before the structure does.
        Truncated = "truncated",
        /// A field has a value that the format forbids.
        Invalid = "invalid",
        /// A version this crate does not know.
        UnsupportedVersion = "unsupported_version",
        /// A codec id this crate does not know.
        UnsupportedCodec = "unsupported_codec",
        /// A hash id this crate does not know.
        UnsupportedHash = "unsupported_hash",
        /// A record format id this crate does not know.
        UnsupportedRecordFormat = "unsupported_record_format",
        /// A segment layout id this crate does not know.
        UnsupportedLayout = "unsupported_layout",
        /// A stored hash differs from the hash of the bytes it covers.
        Integrity = "integrity",
        /// Two places that must agree do not.
        Mismatch = "mismatch",
        /// A size passes the format's limit.
        TooLarge = "too_large",
    }
}

names! {
    /// Parts of the objects.
    Section {
        /// First 64 bytes of a segment.
        FilePreamble = "file_preamble",
        /// The 64 bytes before a block's stored bytes.
        BlockPreamble = "block_preamble",
        /// A block's stored bytes.
        Block = "block",
        /// A record inside a decompressed block; the offset is relative to the raw block.
        Record = "record",
        /// A segment's block index.
        BlockIndex = "block_index",
        /// Last 192 bytes of a segment.
        SegmentTrailer = "segment_trailer",
        /// First 192 bytes of a head.
        HeadHeader = "head_header",
        /// The head's copy of the last segment's entry.
        LastSegment = "last_segment",
        /// The head's entries that are not yet in a leaf page.
        ActiveEntries = "active_entries",
        /// One level's list of page references in the head.
        HeadSection = "head_section",
        /// First 128 bytes of a page.
        PageHeader = "page_header",
        /// The entries of a page.
        PageEntries = "page_entries",
        /// Last 32 bytes of a head or page.
        CatalogTrailer = "catalog_trailer",
    }
}
