//! Create, swap, delete.
use super::case::{Case, done, equal, refused};
use bucketlog_core::boundary::{ByteRange, RefusalKind, SwapCondition, Version};
use bytes::Bytes;

pub(super) fn create_is_read_back(case: &Case<'_>) -> Result<(), String> {
    let body: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    done("create", case.create("a", &body))?;
    case.holds("a", &body).map(drop)
}

pub(super) fn create_concatenates_pieces(case: &Case<'_>) -> Result<(), String> {
    let pieces = ["ab", "", "c", "defg"].map(|piece| Bytes::from_static(piece.as_bytes()));
    done("create", case.create_pieces("a", pieces.into()))?;
    case.holds("a", b"abcdefg")?;
    let across = done("read", case.read("a", ByteRange::FromTo(1, 5)))?;
    equal("a range across pieces", &across.body.as_ref(), &b"bcde".as_slice())
}

pub(super) fn create_twice_is_refused(case: &Case<'_>) -> Result<(), String> {
    done("create", case.create("a", b"first"))?;
    refused("second create", case.create("a", b"second"), &[RefusalKind::Precondition])?;
    case.holds("a", b"first")?;
    refused("create of equal content", case.create("a", b"first"), &[RefusalKind::Precondition])
}

pub(super) fn swap_absent(case: &Case<'_>) -> Result<(), String> {
    case.swapped("a", SwapCondition::Absent, b"first")?;
    let again = case.swap("a", SwapCondition::Absent, b"second");
    refused("swap of an existing key as absent", again, &[RefusalKind::Precondition])?;
    case.holds("a", b"first")?;
    done("create", case.create("created", b"first"))?;
    let over = case.swap("created", SwapCondition::Absent, b"second");
    refused("swap of a created key as absent", over, &[RefusalKind::Precondition])?;
    case.holds("created", b"first").map(drop)
}

pub(super) fn swap_matches(case: &Case<'_>) -> Result<(), String> {
    let first = case.swapped("a", SwapCondition::Absent, b"first")?;
    let second = case.swapped("a", SwapCondition::Matches(first), b"second, longer")?;
    case.swapped("a", SwapCondition::Matches(second), b"3rd").map(drop)
}

pub(super) fn swap_with_stale_version_is_refused(case: &Case<'_>) -> Result<(), String> {
    let first = case.swapped("a", SwapCondition::Absent, b"first")?;
    case.swapped("a", SwapCondition::Matches(first.clone()), b"second")?;
    let stale = case.swap("a", SwapCondition::Matches(first), b"third");
    refused("swap with the version before", stale, &[RefusalKind::Precondition])?;
    case.holds("a", b"second")?;
    let other = case.swapped("b", SwapCondition::Absent, b"another object")?;
    let foreign = case.swap("a", SwapCondition::Matches(other), b"third");
    refused("swap with the version of another object", foreign, &[RefusalKind::Precondition])?;
    case.holds("a", b"second").map(drop)
}

pub(super) fn swap_of_missing_is_refused(case: &Case<'_>) -> Result<(), String> {
    let version: Version = case.swapped("a", SwapCondition::Absent, b"first")?;
    let missing = case.swap("b", SwapCondition::Matches(version), b"second");
    refused("swap of a missing object", missing, &[RefusalKind::NotFound, RefusalKind::Precondition])?;
    refused("read", case.read("b", ByteRange::All), &[RefusalKind::NotFound])
}

pub(super) fn swap_changes_version(case: &Case<'_>) -> Result<(), String> {
    let mut versions = vec![case.swapped("a", SwapCondition::Absent, b"state 0")?];
    for n in 1..5 {
        let condition = SwapCondition::Matches(versions[n - 1].clone());
        let version = case.swapped("a", condition, format!("state {n}").as_bytes())?;
        if versions.contains(&version) {
            return Err(format!("swap {n} gave the version {version} for the second time"));
        }
        versions.push(version);
    }
    Ok(())
}

pub(super) fn delete_is_idempotent(case: &Case<'_>) -> Result<(), String> {
    done("delete of a missing object", case.delete("a"))?;
    done("delete below a missing object", case.delete("no/such/parent"))?;
    done("create", case.create("a", b"content"))?;
    done("create of a neighbour", case.create("ab", b"neighbour"))?;
    done("delete", case.delete("a"))?;
    refused("read of a deleted object", case.read("a", ByteRange::All), &[RefusalKind::NotFound])?;
    done("second delete", case.delete("a"))?;
    case.holds("ab", b"neighbour").map(drop)
}

pub(super) fn delete_frees_the_key(case: &Case<'_>) -> Result<(), String> {
    done("create", case.create("a", b"first"))?;
    done("delete", case.delete("a"))?;
    done("create after delete", case.create("a", b"second"))?;
    case.holds("a", b"second").map(drop)
}

pub(super) fn zero_length_objects(case: &Case<'_>) -> Result<(), String> {
    done("create without pieces", case.create_pieces("none", Vec::new()))?;
    case.holds("none", b"")?;
    done("create with an empty piece", case.create("empty", b""))?;
    case.holds("empty", b"")?;
    refused("range", case.read("empty", ByteRange::FromTo(0, 1)), &[RefusalKind::Invalid])?;
    match case.read("empty", ByteRange::Suffix(1)) {
        Ok(found) => equal("suffix", &found.body.as_ref(), &b"".as_slice())?,
        other => refused("suffix", other, &[RefusalKind::Invalid])?,
    }
    equal("size", &done("stat", case.stat("empty"))?.size, &0)?;
    let empty = case.swapped("swapped", SwapCondition::Absent, b"")?;
    let full = case.swapped("swapped", SwapCondition::Matches(empty), b"content")?;
    case.swapped("swapped", SwapCondition::Matches(full), b"").map(drop)
}

pub(super) fn odd_keys(case: &Case<'_>) -> Result<(), String> {
    let long_part = "n".repeat(200);
    let names = [
        "space and+plus",
        "percent%2Fencoded",
        "question?mark",
        "hash#tag",
        "a=b&c=d",
        "semi;colon,comma",
        "quote'\"",
        "tilde~",
        "(parens)[brackets]{braces}",
        "umlaut-äöü",
        "日本語",
        "emoji-🪵",
        ".hidden",
        "..dots",
        "dots..",
        "a:b@c",
        "star*",
        "<angle>",
        "x/y/z/deep",
        "UPPER",
        "upper",
        long_part.as_str(),
    ];
    for name in names {
        done(name, case.create(name, name.as_bytes()))?;
    }
    for name in names {
        case.holds(name, name.as_bytes()).map_err(|message| format!("{name}: {message}"))?;
    }
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    equal("listed keys", &case.names(&case.list("", None, 1_000)?), &sorted.iter().map(ToString::to_string).collect())?;
    for name in names {
        done(name, case.delete(name))?;
    }
    equal("keys after all deletes", &case.list("", None, 1_000)?.objects, &Vec::new())
}
