//! 64 MiB of records from pbgen v1, and the blocks they make.
use bucketlog_core::format::HashAlgo;
use bucketlog_core::format::segment::{
    BlockBuilder, BlockCodec, Codec, EncodedSegment, RawBlock, Record, SealedBlock, SegmentAssembler, SegmentHeader,
};
use bucketlog_core::ids::{Lsn, Partition, SegmentId, TimestampMs, WriterId};
use bucketlog_core::limits::RECORD_FIXED_LEN;
use bucketlog_fixtures::pbgen::{json200, semi1k, timestamp_ms};
use bytes::Bytes;
use std::ops::Range;

/// Raw bytes of the values of one batch; 67.1 MB.
pub const BATCH_BYTES: usize = 64 << 20;

/// A batch under its generator's name.
#[derive(Debug)]
pub struct Batch {
    pub name: &'static str,
    pub records: Vec<Record>,
}

impl Batch {
    pub fn semi1k() -> Self {
        Self::collect("semi1k", semi1k())
    }

    pub fn json200() -> Self {
        Self::collect("json200", json200())
    }

    pub fn both() -> [Self; 2] {
        [Self::semi1k(), Self::json200()]
    }

    /// The values lie in one piece of memory, as those of a network's receive buffer do.
    fn collect(name: &'static str, values: impl Iterator<Item = Vec<u8>>) -> Self {
        let mut all = Vec::with_capacity(BATCH_BYTES);
        let mut ends = Vec::new();
        for value in values {
            if all.len() + value.len() > BATCH_BYTES {
                break;
            }
            all.extend_from_slice(&value);
            ends.push(all.len());
        }
        let all = Bytes::from(all);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let values = starts.zip(&ends).map(|(start, end)| all.slice(start..*end));
        let records = (0..).zip(values).map(|(i, value)| Record::new(TimestampMs(timestamp_ms(i)), value)).collect();
        Self { name, records }
    }

    /// Bytes of all records in raw blocks.
    pub fn raw_len(&self) -> usize {
        self.records.iter().map(|record| record.value.len() + RECORD_FIXED_LEN).sum()
    }

    /// Which records each block of `block_bytes` takes.
    pub fn blocks(&self, block_bytes: u32) -> Vec<Range<usize>> {
        let (mut blocks, mut start) = (Vec::new(), 0);
        let mut builder = BlockBuilder::new(Lsn(0), block_bytes as usize);
        for (i, record) in self.records.iter().enumerate() {
            if !builder.fits(record.encoded_len(), block_bytes as usize) {
                blocks.push(start..i);
                start = i;
                builder = BlockBuilder::new(Lsn(i as u64), block_bytes as usize);
            }
            builder.push(record);
        }
        blocks.push(start..self.records.len());
        blocks
    }

    /// One of them.
    pub fn build(&self, block: &Range<usize>, block_bytes: u32) -> RawBlock {
        let mut builder = BlockBuilder::new(Lsn(block.start as u64), block_bytes as usize);
        for record in &self.records[block.clone()] {
            builder.push(record);
        }
        builder.finish()
    }

    /// All of them.
    pub fn raw_blocks(&self, block_bytes: u32) -> Vec<RawBlock> {
        self.blocks(block_bytes).iter().map(|block| self.build(block, block_bytes)).collect()
    }

    /// The whole way of a batch from records to an object.
    pub fn encode(&self, codec: &mut BlockCodec, encoding: Encoding) -> EncodedSegment {
        let mut assembler = assembler(encoding.codec);
        let mut builder = BlockBuilder::new(Lsn(0), encoding.block_bytes as usize);
        for (lsn, record) in (0..).map(Lsn).zip(&self.records) {
            if !builder.fits(record.encoded_len(), encoding.block_bytes as usize) {
                let full = std::mem::replace(&mut builder, BlockBuilder::new(lsn, encoding.block_bytes as usize));
                assembler.push(&encoding.seal(codec, &full.finish())).expect("blocks in order");
            }
            builder.push(record);
        }
        assembler.push(&encoding.seal(codec, &builder.finish())).expect("blocks in order");
        assembler.finish().expect("a segment with blocks")
    }
}

/// How blocks are made.
#[derive(Clone, Copy, Debug)]
pub struct Encoding {
    pub codec: Codec,
    pub level: i32,
    pub block_bytes: u32,
}

impl Encoding {
    pub fn seal(self, codec: &mut BlockCodec, block: &RawBlock) -> SealedBlock {
        codec.seal(block, self.codec, self.level, HashAlgo::Xxh64).expect("a valid block")
    }
}

pub fn assembler(codec: Codec) -> SegmentAssembler {
    SegmentAssembler::new(SegmentHeader {
        partition: Partition(0),
        codec,
        hash: HashAlgo::Xxh64,
        segment_id: SegmentId([1; 16]),
        writer_tag: WriterId([2; 16]),
        created: TimestampMs(timestamp_ms(0)),
    })
}
