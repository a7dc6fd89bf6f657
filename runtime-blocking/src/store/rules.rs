//! What every store on this machine decides alike.
use bucketlog_core::boundary::{ByteRange, Fault, Get, RefusalKind, Version};
use bucketlog_core::ids::TimestampMs;
use std::ops::Range;
use std::time::SystemTime;

pub(super) fn not_found() -> Fault {
    Fault::refused(RefusalKind::NotFound, "no such object")
}

pub(super) fn no_upload() -> Fault {
    Fault::refused(RefusalKind::NotFound, "no such upload; it may be completed or aborted")
}

pub(super) fn precondition(message: &'static str) -> Fault {
    Fault::refused(RefusalKind::Precondition, message)
}

pub(super) fn invalid(message: &'static str) -> Fault {
    Fault::refused(RefusalKind::Invalid, message)
}

/// Whether the conditions of a read ask for the bytes of an object in this state; `if_match` is judged first.
pub(super) fn wants_body(request: &Get, current: &Version) -> Result<bool, Fault> {
    match (&request.if_match, &request.if_none_match) {
        (Some(expected), _) if expected != current => Err(precondition("the object has another version")),
        (_, Some(known)) => Ok(known != current),
        _ => Ok(true),
    }
}

/// The bytes that a range means in an object of `size` bytes, at most `max_len` of them.
pub(super) fn range(range: ByteRange, size: u64, max_len: u64) -> Result<Range<u64>, Fault> {
    let bytes = match range {
        ByteRange::All => 0..size,
        ByteRange::FromTo(from, to) if from < to && from < size => from..to.min(size),
        ByteRange::Suffix(n) if n > 0 => size.saturating_sub(n)..size,
        ByteRange::FromTo(..) | ByteRange::Suffix(_) => return Err(invalid("the range holds no byte of the object")),
    };
    if bytes.end - bytes.start > max_len {
        return Err(invalid("the body is longer than max_len"));
    }
    Ok(bytes)
}

/// The range as indices.
pub(super) fn in_memory(range: &Range<u64>) -> Result<Range<usize>, Fault> {
    match (usize::try_from(range.start), usize::try_from(range.end)) {
        (Ok(start), Ok(end)) => Ok(start..end),
        _ => Err(invalid("the range exceeds the address space")),
    }
}

/// Rows that a listing may have: 1 to 1,000.
pub(super) fn limit(rows: u16) -> Result<usize, Fault> {
    match rows {
        1..=1_000 => Ok(usize::from(rows)),
        _ => Err(invalid("a listing has 1 to 1,000 rows")),
    }
}

/// Places of parts: 1 to 10,000.
pub(super) fn part_number(number: u16) -> Result<(), Fault> {
    match number {
        1..=10_000 => Ok(()),
        _ => Err(invalid("parts are numbered from 1 to 10,000")),
    }
}

/// Milliseconds since the Unix epoch, rounded towards it.
pub(super) fn timestamp(time: SystemTime) -> TimestampMs {
    let millis = match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()),
        Err(before) => i64::try_from(before.duration().as_millis()).map(|millis| -millis),
    };
    TimestampMs(millis.unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_at_the_end_of_the_object_and_refused_past_it() {
        let cases = [
            (ByteRange::All, 10, Some(0..10)),
            (ByteRange::All, 0, Some(0..0)),
            (ByteRange::FromTo(2, 4), 10, Some(2..4)),
            (ByteRange::FromTo(2, u64::MAX), 10, Some(2..10)),
            (ByteRange::FromTo(9, 10), 10, Some(9..10)),
            (ByteRange::FromTo(10, 11), 10, None),
            (ByteRange::FromTo(0, 1), 0, None),
            (ByteRange::FromTo(4, 4), 10, None),
            (ByteRange::FromTo(5, 4), 10, None),
            (ByteRange::Suffix(3), 10, Some(7..10)),
            (ByteRange::Suffix(11), 10, Some(0..10)),
            (ByteRange::Suffix(1), 0, Some(0..0)),
            (ByteRange::Suffix(0), 10, None),
        ];
        for (asked, size, expected) in cases {
            assert_eq!(range(asked, size, u64::MAX).ok(), expected, "{asked:?} of {size}");
        }
    }

    #[test]
    fn max_len_bounds_the_body_and_not_the_object() {
        assert_eq!(range(ByteRange::FromTo(2, 4), 10, 2).ok(), Some(2..4));
        assert_eq!(range(ByteRange::FromTo(2, 5), 10, 2).ok(), None);
    }
}
