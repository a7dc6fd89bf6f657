//! Sealing raw blocks and opening stored ones.
use super::{BlockMeta, DecodedBlock, RawBlock};
use crate::format::FormatErrorKind::{Integrity, Invalid, Mismatch};
use crate::format::{FormatError, FormatErrorKind, HashAlgo, Section};
use crate::limits::{MAX_ZSTD_LEVEL, MIN_ZSTD_LEVEL};
use bytes::Bytes;
use core::fmt;
use std::io;
use zstd::bulk::{Compressor, Decompressor};

/// Compression of a segment's blocks (objlog formats, "Codec ids").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Codec {
    /// Stored as they are; id 0.
    None,
    /// One zstd frame per block; id 1, and the default.
    #[default]
    Zstd,
}

impl Codec {
    /// The id stored in objects.
    #[must_use]
    pub const fn id(self) -> u16 {
        match self {
            Self::None => 0,
            Self::Zstd => 1,
        }
    }

    /// The codec with this id.
    #[must_use]
    pub const fn from_id(id: u16) -> Option<Self> {
        match id {
            0 => Some(Self::None),
            1 => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Stable lower-case name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zstd => "zstd",
        }
    }
}

/// A compressed and hashed block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SealedBlock {
    /// What preamble and index entry will say.
    pub meta: BlockMeta,
    /// What is stored behind the preamble.
    pub stored: Bytes,
}

/// Reusable compression state of one worker; not shared between threads.
///
/// The zstd contexts are made on first use and kept; one takes some megabytes at high levels.
#[derive(Default)]
pub struct BlockCodec {
    /// The compressor, and the level it is set to.
    compressor: Option<(i32, Compressor<'static>)>,
    decompressor: Option<Decompressor<'static>>,
}

impl BlockCodec {
    /// A codec that holds no context yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Compresses and hashes a block. `level` is the zstd level, 1 to 19; `Codec::None` ignores it and shares the
    /// block's memory.
    ///
    /// # Errors
    /// [`FormatErrorKind::TooLarge`] for a block above 16 MiB, [`Invalid`] for one that breaks another rule of objlog
    /// formats 1.2 or for a level out of range. Offsets are relative to the block.
    pub fn seal(
        &mut self,
        block: &RawBlock,
        codec: Codec,
        level: i32,
        hash: HashAlgo,
    ) -> Result<SealedBlock, FormatError> {
        let meta = BlockMeta {
            stored_size: 1,
            raw_size: size_u32(&block.bytes),
            record_count: block.record_count,
            base_lsn: block.base_lsn,
            min_timestamp: block.min_timestamp,
            max_timestamp: block.max_timestamp,
            block_hash: 0,
        };
        meta.check(Section::Block, 0)?;
        let stored = match codec {
            Codec::None => block.bytes.clone(),
            Codec::Zstd => self.compress(&block.bytes, level)?,
        };
        let meta = BlockMeta { stored_size: size_u32(&stored), block_hash: hash.hash(&stored), ..meta };
        Ok(SealedBlock { meta, stored })
    }

    /// Checks the hash of a stored block, decompresses it (into exactly `meta.raw_size` bytes) and validates every
    /// record. `Codec::None` shares the memory of `stored`. `offset` is the absolute offset of the stored bytes, for
    /// errors; those of records carry offsets in the raw block instead.
    ///
    /// # Errors
    /// [`Mismatch`] when a size differs from `meta`, [`Integrity`] for a wrong hash, [`Invalid`] for undecodable bytes
    /// and for `meta` or records that break a rule of objlog formats 1.2 or 1.3, [`FormatErrorKind::TooLarge`] for
    /// those above a limit.
    pub fn open(
        &mut self,
        meta: &BlockMeta,
        stored: &Bytes,
        codec: Codec,
        hash: HashAlgo,
        offset: u64,
    ) -> Result<DecodedBlock, FormatError> {
        let fail = |kind: FormatErrorKind, detail: String| Err(FormatError::new(kind, Section::Block, offset, detail));
        meta.check(Section::Block, offset)?;
        if stored.len() as u64 != u64::from(meta.stored_size) {
            let detail = format!("stored_size is {}, but {} bytes are there", meta.stored_size, stored.len());
            return fail(Mismatch, detail);
        }
        let computed = hash.hash(stored);
        if computed != meta.block_hash {
            let detail = format!("block_hash is {:016x}, but the bytes hash to {computed:016x}", meta.block_hash);
            return fail(Integrity, detail);
        }
        let raw = match codec {
            Codec::None => stored.clone(),
            Codec::Zstd => match self.decompress(stored, meta.raw_size) {
                Ok(raw) => raw,
                Err(cause) => return fail(Invalid, format!("zstd into {} bytes: {cause}", meta.raw_size)),
            },
        };
        if raw.len() as u64 != u64::from(meta.raw_size) {
            return fail(Mismatch, format!("raw_size is {}, but {} bytes are there", meta.raw_size, raw.len()));
        }
        DecodedBlock::parse(*meta, raw)
    }

    fn compress(&mut self, raw: &[u8], level: i32) -> Result<Bytes, FormatError> {
        let fail = |detail: String| FormatError::new(Invalid, Section::Block, 0, detail);
        if !(MIN_ZSTD_LEVEL..=MAX_ZSTD_LEVEL).contains(&level) {
            return Err(fail(format!("zstd level {level} is not within {MIN_ZSTD_LEVEL}..={MAX_ZSTD_LEVEL}")));
        }
        self.set_level(level).map_err(|cause| fail(format!("zstd level {level}: {cause}")))?;
        let mut frame = self.frame(raw).map_err(|cause| fail(format!("zstd: {cause}")))?;
        // Gives the rest back in place, where a copy would cost as much as a hash.
        frame.shrink_to_fit();
        Ok(frame.into())
    }

    fn set_level(&mut self, level: i32) -> io::Result<()> {
        match &mut self.compressor {
            Some((current, _)) if *current == level => {}
            Some((current, compressor)) => {
                compressor.set_compression_level(level)?;
                *current = level;
            }
            empty => *empty = Some((level, Compressor::new(level)?)),
        }
        Ok(())
    }

    fn frame(&mut self, raw: &[u8]) -> io::Result<Vec<u8>> {
        let mut frame = Vec::with_capacity(zstd::zstd_safe::compress_bound(raw.len()));
        if let Some((_, compressor)) = &mut self.compressor {
            compressor.compress_to_buffer(raw, &mut frame)?;
        }
        Ok(frame)
    }

    /// Decompresses into a buffer of `raw_size` bytes, which more than that do not fit.
    fn decompress(&mut self, stored: &[u8], raw_size: u32) -> io::Result<Bytes> {
        let decompressor = match &mut self.decompressor {
            Some(existing) => existing,
            empty => empty.insert(Decompressor::new()?),
        };
        let mut raw = Vec::with_capacity(raw_size as usize);
        decompressor.decompress_to_buffer(stored, &mut raw)?;
        Ok(raw.into())
    }
}

impl fmt::Debug for BlockCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockCodec")
            .field("level", &self.compressor.as_ref().map(|(level, _)| level))
            .field("decompresses", &self.decompressor.is_some())
            .finish_non_exhaustive()
    }
}

/// The length, or 2^32-1 for lengths above that, which no limit admits.
fn size_u32(bytes: &Bytes) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}
