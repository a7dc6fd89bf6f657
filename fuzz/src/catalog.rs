use crate::{algorithm, put_hash};
use bucketlog_core::format::catalog::{Head, Page};
use bucketlog_core::ids::{Lsn, TimestampMs};

const TRAILER: usize = 32;

/// A head, as it is and with its hashes made right.
pub fn head(data: &[u8]) {
    try_head(data);
    if let Some(data) = rehashed(data, 16) {
        try_head(&data);
    }
}

fn try_head(data: &[u8]) {
    let Ok(head) = Head::decode(data) else { return };
    assert_eq!(head.encode(), data, "an accepted head has only one form");
    for lsn in [head.oldest_lsn, head.next_lsn, Lsn(0), Lsn(u64::MAX)] {
        let _ = head.locate(lsn);
    }
    for timestamp in [i64::MIN, 0, i64::MAX] {
        let _ = head.locate_timestamp(TimestampMs(timestamp));
    }
}

/// A page, as it is and with its hashes made right.
pub fn page(data: &[u8]) {
    try_page(data);
    if let Some(data) = rehashed(data, 18) {
        try_page(&data);
    }
}

fn try_page(data: &[u8]) {
    let Ok(page) = Page::decode(data) else { return };
    for lsn in [page.reference.seq_lo, page.reference.seq_hi] {
        assert_ne!(page.locate(lsn), bucketlog_core::format::catalog::Step::Missing, "a page leads to its own LSNs");
    }
    for timestamp in [i64::MIN, 0, i64::MAX] {
        let _ = page.locate_timestamp(TimestampMs(timestamp));
    }
}

/// With both trailer hashes made right, by the algorithm whose id lies at `algorithm_at`.
fn rehashed(data: &[u8], algorithm_at: usize) -> Option<Vec<u8>> {
    let mut data = data.to_vec();
    let hash = algorithm(&data, algorithm_at)?;
    let trailer = data.len().checked_sub(TRAILER)?;
    put_hash(&mut data, hash, 0..trailer, trailer + 8)?;
    put_hash(&mut data, hash, trailer..trailer + TRAILER, trailer + 16)?;
    Some(data)
}
