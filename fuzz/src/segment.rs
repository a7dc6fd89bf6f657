use crate::{algorithm, number, put_hash};
use bucketlog_core::format::HashAlgo;
use bucketlog_core::format::segment::{
    BlockCodec, BlockIndex, BlockMeta, Codec, DecodedBlock, FilePreamble, Trailer, open_whole,
};
use bucketlog_core::ids::{Lsn, TimestampMs};
use bytes::Bytes;

const TRAILER: usize = 192;

/// The first 64 bytes of a segment.
pub fn segment_preamble(data: &[u8]) {
    let _ = FilePreamble::decode(data);
}

/// The last 192 bytes of a segment that has the size they tell.
pub fn segment_trailer(data: &[u8]) {
    let _ = Trailer::decode(data, data.len() as u64);
    trailer(data);
}

fn trailer(data: &[u8]) -> Option<Trailer> {
    let mut data = data.to_vec();
    let hash = algorithm(&data, 18)?;
    put_hash(&mut data, hash, 0..TRAILER, 136)?;
    Trailer::decode(&data, number(&data, 80..88)?).ok()
}

/// An index followed by its trailer.
pub fn segment_index(data: &[u8]) {
    let Some((index, last)) = data.len().checked_sub(TRAILER).map(|at| data.split_at(at)) else { return };
    let Some(trailer) = trailer(last) else { return };
    let _ = BlockIndex::decode(index, &trailer);
    let mut index = index.to_vec();
    let len = index.len();
    if put_hash(&mut index, trailer.hash, 64..len, 16).is_some() {
        try_index(&index, &trailer);
    }
}

fn try_index(index: &[u8], trailer: &Trailer) {
    let Ok(index) = BlockIndex::decode(index, trailer) else { return };
    assert_eq!(index.block_of(trailer.base_lsn), Some(0));
    assert_eq!(index.block_of(trailer.last_lsn), Some(index.entries.len() - 1));
    assert_eq!(index.block_at_timestamp(TimestampMs(i64::MIN)), Some(0));
    for i in 0..=index.entries.len() {
        let _ = index.block_range(i);
    }
}

/// `codec u8 | raw size u32 | records u32 | base LSN u64 | minimum i64 | maximum i64 | stored bytes`.
pub fn segment_block(data: &[u8]) {
    let Some((meta, codec, stored)) = block(data) else { return };
    if let Ok(block) = BlockCodec::new().open(&meta, &stored, codec, HashAlgo::Crc32c, 128) {
        try_block(&block);
    }
}

fn block(data: &[u8]) -> Option<(BlockMeta, Codec, Bytes)> {
    let codec = Codec::from_id(number(data, 0..1)?.try_into().ok()?)?;
    let stored = Bytes::copy_from_slice(data.get(33..)?);
    let meta = BlockMeta {
        stored_size: stored.len().try_into().ok()?,
        raw_size: number(data, 1..5)?.try_into().ok()?,
        record_count: number(data, 5..9)?.try_into().ok()?,
        base_lsn: Lsn(number(data, 9..17)?),
        min_timestamp: TimestampMs(number(data, 17..25)?.cast_signed()),
        max_timestamp: TimestampMs(number(data, 25..33)?.cast_signed()),
        block_hash: HashAlgo::Crc32c.hash(&stored),
    };
    Some((meta, codec, stored))
}

fn try_block(block: &DecodedBlock) {
    let records = block.records().map(|record| record.to_record()).collect::<Vec<_>>();
    assert_eq!(records.len(), block.meta().record_count as usize);
    for (i, record) in (0..).zip(&records) {
        record.validate().expect("a record that was read can be written");
        assert_eq!(block.record(Lsn(block.meta().base_lsn.0 + i)).as_ref(), Some(record));
        assert!(block.find_timestamp(record.timestamp).is_some());
    }
}

/// A whole segment, as it is and with its hashes made right.
pub fn segment_whole(data: &[u8]) {
    let _ = open_whole(&Bytes::copy_from_slice(data), true);
    if let Some(object) = rehashed(data) {
        try_whole(&object.into());
    }
}

fn try_whole(object: &Bytes) {
    let Ok(index) = open_whole(object, true) else { return };
    let mut worker = BlockCodec::new();
    for (i, entry) in index.entries.iter().enumerate() {
        let range = index.block_range(i).expect("an entry of the index");
        let bytes = object.slice(usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap());
        let Ok(stored) = index.block_payload(i, &bytes) else { return };
        let place = entry.offset + 64;
        if let Ok(block) = worker.open(&entry.meta, &stored, index.trailer.codec, index.trailer.hash, place) {
            try_block(&block);
        }
    }
}

/// With every hash made right that lies where the trailer and the index say.
fn rehashed(data: &[u8]) -> Option<Vec<u8>> {
    let mut object = data.to_vec();
    let trailer = object.len().checked_sub(TRAILER)?;
    let hash = algorithm(&object, trailer + 18)?;
    let index = usize::try_from(number(&object, trailer + 64..trailer + 72)?).ok()?;
    let entries = trailer.checked_sub(index.checked_add(64)?)? / 64;
    for i in 0..entries {
        rehash_block(&mut object, hash, index + 64 + 64 * i);
    }
    put_hash(&mut object, hash, index + 64..trailer, index + 16)?;
    put_hash(&mut object, hash, 0..trailer, trailer + 128)?;
    put_hash(&mut object, hash, trailer..trailer + TRAILER, trailer + 136)?;
    Some(object)
}

fn rehash_block(object: &mut [u8], hash: HashAlgo, entry: usize) -> Option<()> {
    let preamble = usize::try_from(number(object, entry..entry + 8)?).ok()?;
    let stored = preamble.checked_add(64)?;
    let end = stored.checked_add(usize::try_from(number(object, entry + 8..entry + 12)?).ok()?)?;
    put_hash(object, hash, stored..end, preamble + 48)?;
    object.copy_within(preamble + 48..preamble + 56, entry + 48);
    Some(())
}
