//! Whole segments in one call, and the means to damage them.
use bucketlog_core::format::segment::{
    BlockBuilder, BlockCodec, BlockIndex, DecodedBlock, EncodedSegment, Record, SealedBlock, SegmentAssembler,
    SegmentHeader, Trailer, open_whole,
};
use bucketlog_core::format::{FormatError, HashAlgo};
use bucketlog_core::ids::Lsn;
use bytes::Bytes;

/// Writes records as the original writer does.
pub(crate) fn write(header: &SegmentHeader, records: &[(Lsn, Record)], target: usize) -> EncodedSegment {
    let mut assembler = SegmentAssembler::new(header.clone());
    for block in sealed(header, records, target) {
        assembler.push(&block).expect("blocks in order");
    }
    assembler.finish().expect("a block")
}

/// The blocks of such a segment.
pub(crate) fn sealed(header: &SegmentHeader, records: &[(Lsn, Record)], target: usize) -> Vec<SealedBlock> {
    let (mut codec, mut blocks) = (BlockCodec::new(), Vec::new());
    let mut seal = |builder: BlockBuilder| {
        blocks.push(codec.seal(&builder.finish(), header.codec, 3, header.hash).expect("a valid block"));
    };
    let mut builder = BlockBuilder::new(records[0].0, target);
    for (lsn, record) in records {
        if !builder.fits(record.encoded_len(), target) {
            seal(std::mem::replace(&mut builder, BlockBuilder::new(*lsn, target)));
        }
        builder.push(record);
    }
    seal(builder);
    blocks
}

/// Opens a whole object and all its blocks.
pub(crate) fn open_all(object: &Bytes, verify_hash: bool) -> Result<(BlockIndex, Vec<DecodedBlock>), FormatError> {
    let index = open_whole(object, verify_hash)?;
    let mut codec = BlockCodec::new();
    let blocks = index.entries.iter().enumerate().map(|(i, entry)| {
        let start = usize::try_from(entry.offset).expect("an offset in memory");
        let stored = index.block_payload(i, &object.slice(start..))?;
        codec.open(&entry.meta, &stored, index.trailer.codec, index.trailer.hash, entry.offset + 64)
    });
    let blocks = blocks.collect::<Result<_, _>>()?;
    Ok((index, blocks))
}

/// Where the regions of a valid segment lie, so that tests can damage fields and repair the hashes around them.
pub(crate) struct Map {
    blocks: Vec<(usize, usize)>,
    index: usize,
    trailer: usize,
    hash: HashAlgo,
}

/// A region of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Region {
    FilePreamble,
    Block(usize),
    Index,
    Entry(usize),
    Trailer,
}

impl Map {
    /// The map of a valid segment.
    pub(crate) fn of(index: &BlockIndex) -> Self {
        let place = |offset: u64| usize::try_from(offset).expect("an offset in memory");
        let blocks = index.entries.iter().map(|entry| (place(entry.offset), place(entry.end()))).collect();
        let trailer = place(index.trailer.total_size) - Trailer::LEN;
        Self { blocks, index: place(index.trailer.block_index_offset), trailer, hash: index.trailer.hash }
    }

    /// Where a region starts.
    pub(crate) fn start(&self, region: Region) -> usize {
        match region {
            Region::FilePreamble => 0,
            Region::Block(i) => self.blocks[i].0,
            Region::Index => self.index,
            Region::Entry(i) => self.index + 64 + 64 * i,
            Region::Trailer => self.trailer,
        }
    }

    /// Recomputes every hash, innermost first, so that only rules about values can object.
    pub(crate) fn repair_hashes(&self, object: &mut [u8]) {
        for (i, (start, end)) in self.blocks.iter().enumerate() {
            let hash = self.hash.hash(&object[start + 64..*end]);
            put(object, start + 48, hash);
            put(object, self.start(Region::Entry(i)) + 48, hash);
        }
        put(object, self.index + 16, self.hash.hash(&object[self.index + 64..self.trailer]));
        put(object, self.trailer + 128, self.hash.hash(&object[..self.trailer]));
        put(object, self.trailer + 136, 0);
        put(object, self.trailer + 136, self.hash.hash(&object[self.trailer..]));
    }
}

fn put(object: &mut [u8], offset: usize, hash: u64) {
    object[offset..offset + 8].copy_from_slice(&hash.to_be_bytes());
}
