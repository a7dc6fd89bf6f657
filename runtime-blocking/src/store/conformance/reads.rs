//! Get and stat.
use super::case::{Case, done, equal, refused};
use bucketlog_core::boundary::{ByteRange, GetReply, RefusalKind, SwapCondition};

pub(super) fn missing_object_is_not_found(case: &Case<'_>) -> Result<(), String> {
    let not_found = [RefusalKind::NotFound];
    refused("read", case.read("a", ByteRange::All), &not_found)?;
    refused("range", case.read("a", ByteRange::FromTo(0, 1)), &not_found)?;
    refused("suffix", case.read("a", ByteRange::Suffix(1)), &not_found)?;
    refused("stat", case.stat("a"), &not_found)?;
    done("create below", case.create("a/b", b"content"))?;
    refused("read of a mere prefix", case.read("a", ByteRange::All), &not_found)?;
    refused("stat of a mere prefix", case.stat("a"), &not_found)?;
    refused("read below an object", case.read("a/b/c", ByteRange::All), &not_found)
}

pub(super) fn ranges(case: &Case<'_>) -> Result<(), String> {
    done("create", case.create("a", b"0123456789"))?;
    let table: [(ByteRange, &[u8]); 9] = [
        (ByteRange::All, b"0123456789"),
        (ByteRange::FromTo(0, 1), b"0"),
        (ByteRange::FromTo(3, 7), b"3456"),
        (ByteRange::FromTo(9, 10), b"9"),
        (ByteRange::FromTo(8, 20), b"89"),
        (ByteRange::FromTo(0, 1 << 40), b"0123456789"),
        (ByteRange::Suffix(1), b"9"),
        (ByteRange::Suffix(4), b"6789"),
        (ByteRange::Suffix(1 << 40), b"0123456789"),
    ];
    for (range, expected) in table {
        let found = done(&format!("{range:?}"), case.read("a", range))?;
        equal(&format!("bytes of {range:?}"), &found.body.as_ref(), &expected)?;
        equal(&format!("total size with {range:?}"), &found.total_size, &10)?;
    }
    Ok(())
}

pub(super) fn range_past_the_end_is_invalid(case: &Case<'_>) -> Result<(), String> {
    done("create", case.create("a", b"0123456789"))?;
    for range in [ByteRange::FromTo(10, 11), ByteRange::FromTo(1 << 40, (1 << 40) + 1)] {
        refused(&format!("{range:?}"), case.read("a", range), &[RefusalKind::Invalid])?;
    }
    Ok(())
}

pub(super) fn max_len(case: &Case<'_>) -> Result<(), String> {
    done("create", case.create("a", b"0123456789"))?;
    let mut get = case.whole("a", ByteRange::All);
    get.max_len = 9;
    refused("a body above max_len", case.get(&get), &[RefusalKind::Invalid])?;
    get.range = ByteRange::FromTo(1, 100);
    done("a range of max_len bytes of a larger object", case.get(&get))?;
    get.range = ByteRange::Suffix(10);
    refused("a suffix above max_len", case.get(&get), &[RefusalKind::Invalid])?;
    get.max_len = 10;
    done("a body of max_len bytes", case.get(&get)).map(drop)
}

pub(super) fn if_match(case: &Case<'_>) -> Result<(), String> {
    let first = case.swapped("a", SwapCondition::Absent, b"first state")?;
    for range in [ByteRange::All, ByteRange::FromTo(0, 5), ByteRange::Suffix(5)] {
        let mut get = case.whole("a", range);
        get.if_match = Some(first.clone());
        let reply = done("read in the expected state", case.get(&get))?;
        let GetReply::Found { version, .. } = reply else { return Err("NotModified for if_match".to_owned()) };
        if version.is_some_and(|version| version != first) {
            return Err("a read in the expected state tells another version".to_owned());
        }
    }
    case.swapped("a", SwapCondition::Matches(first.clone()), b"other state")?;
    for range in [ByteRange::All, ByteRange::FromTo(0, 5), ByteRange::Suffix(5)] {
        let mut get = case.whole("a", range);
        get.if_match = Some(first.clone());
        refused("read in another state", case.get(&get), &[RefusalKind::Precondition])?;
    }
    let mut get = case.whole("b", ByteRange::All);
    get.if_match = Some(first);
    refused("read of a missing object", case.get(&get), &[RefusalKind::NotFound, RefusalKind::Precondition])
}

pub(super) fn if_none_match(case: &Case<'_>) -> Result<(), String> {
    let first = case.swapped("a", SwapCondition::Absent, b"first state")?;
    let mut get = case.whole("a", ByteRange::All);
    get.if_none_match = Some(first.clone());
    equal("read in the known state", &done("read", case.get(&get))?, &GetReply::NotModified)?;
    let second = case.swapped("a", SwapCondition::Matches(first.clone()), b"second state")?;
    match done("read in a new state", case.get(&get))? {
        GetReply::Found { body, version, total_size } => {
            equal("body", &body.as_ref(), &b"second state".as_slice())?;
            equal("version", &version, &Some(second))?;
            equal("total size", &total_size, &12)?;
        }
        GetReply::NotModified => return Err("NotModified although the state is new".to_owned()),
    }
    let mut get = case.whole("b", ByteRange::All);
    get.if_none_match = Some(first);
    refused("read of a missing object", case.get(&get), &[RefusalKind::NotFound])
}

pub(super) fn stat(case: &Case<'_>) -> Result<(), String> {
    let first = case.swapped("a", SwapCondition::Absent, b"first")?;
    let meta = done("stat", case.stat("a"))?;
    equal("key", &meta.key, &case.key("a"))?;
    equal("size", &meta.size, &5)?;
    if let Some(version) = meta.version {
        equal("version", &version, &first)?;
    }
    case.swapped("a", SwapCondition::Matches(first), b"second")?;
    equal("size after a swap", &done("stat", case.stat("a"))?.size, &6)
}
