//! Uploads in parts. Stores that have none skip these.
use super::case::{Case, Upload, done, equal, refused};
use bucketlog_core::boundary::{ByteRange, ListUploadsReply, PartTag, RefusalKind, UploadMeta};
use bytes::Bytes;

/// Bytes of a part that is not the last: the least that S3 takes (providers).
const PART: usize = 5 << 20;

/// An upload with one part.
fn begun(case: &Case<'_>, name: &str, body: &'static [u8]) -> Result<(Upload, PartTag), String> {
    let upload = case.begin(name)?;
    let tag = done("upload part", case.part(&upload, 1, Bytes::from_static(body)))?;
    Ok((upload, tag))
}

fn invisible(case: &Case<'_>, name: &str) -> Result<(), String> {
    refused("stat before completion", case.stat(name), &[RefusalKind::NotFound])?;
    refused("read before completion", case.read(name, ByteRange::All), &[RefusalKind::NotFound])?;
    equal("keys before completion", &case.names(&case.list(name, None, 10)?), &Vec::new())
}

pub(super) fn upload_joins_parts_in_order(case: &Case<'_>) -> Result<(), String> {
    let upload = case.begin("a")?;
    let last = done("upload part", case.part(&upload, 2, Bytes::from_static(b"the end")))?;
    let first = done("upload part", case.part(&upload, 1, Bytes::from(vec![7; PART])))?;
    invisible(case, "a")?;
    done("complete upload", case.complete(&upload, &[first, last]))?;
    let size = PART as u64;
    equal("size", &done("stat", case.stat("a"))?.size, &(size + 7))?;
    let seam = done("read", case.read("a", ByteRange::FromTo(size - 2, size + 3)))?;
    equal("bytes where the parts meet", &&*seam.body, &&b"\x07\x07the"[..])?;
    let tail = done("read", case.read("a", ByteRange::Suffix(4)))?;
    equal("last bytes", &&*tail.body, &&b" end"[..])
}

pub(super) fn upload_part_is_replaced(case: &Case<'_>) -> Result<(), String> {
    let (upload, _) = begun(case, "a", b"the old part")?;
    let new = done("upload part", case.part(&upload, 1, Bytes::from_static(b"new")))?;
    done("complete upload", case.complete(&upload, &[new]))?;
    case.holds("a", b"new").map(drop)
}

pub(super) fn upload_with_replaced_tag_is_refused(case: &Case<'_>) -> Result<(), String> {
    let (upload, old) = begun(case, "a", b"the old part")?;
    done("upload part", case.part(&upload, 1, Bytes::from_static(b"new")))?;
    refused("complete with the tag of the old part", case.complete(&upload, &[old]), &[RefusalKind::Invalid])
}

pub(super) fn upload_with_wrong_tags_is_refused(case: &Case<'_>) -> Result<(), String> {
    let (upload, tag) = begun(case, "a", b"part")?;
    let other = PartTag::from("\"0123456789abcdef0123456789abcdef\"");
    for (what, tags) in [("a wrong tag", vec![other.clone()]), ("a part that is missing", vec![tag.clone(), other])] {
        refused(&format!("complete with {what}"), case.complete(&upload, &tags), &[RefusalKind::Invalid])?;
        invisible(case, "a")?;
    }
    done("complete upload", case.complete(&upload, &[tag]))?;
    case.holds("a", b"part").map(drop)
}

pub(super) fn upload_is_completed_once(case: &Case<'_>) -> Result<(), String> {
    let (upload, tag) = begun(case, "a", b"part")?;
    done("complete upload", case.complete(&upload, std::slice::from_ref(&tag)))?;
    let again = case.complete(&upload, &[tag]);
    if again.is_err() {
        refused("complete again", again, &[RefusalKind::NotFound, RefusalKind::Precondition])?;
    }
    case.holds("a", b"part").map(drop)
}

pub(super) fn upload_onto_an_existing_key(case: &Case<'_>) -> Result<(), String> {
    done("create", case.create("a", b"object"))?;
    let (upload, tag) = begun(case, "a", b"part")?;
    let completed = case.complete(&upload, &[tag]);
    if completed.is_ok() {
        return case.holds("a", b"part").map(drop);
    }
    refused("complete onto an existing key", completed, &[RefusalKind::Precondition])?;
    case.holds("a", b"object").map(drop)
}

pub(super) fn upload_abort_is_idempotent(case: &Case<'_>) -> Result<(), String> {
    let (upload, _) = begun(case, "a", b"part")?;
    done("abort upload", case.abort(&upload))?;
    done("abort an upload again", case.abort(&upload))?;
    invisible(case, "a")?;
    equal("uploads after abort", &case.list_uploads("", None, 10)?.uploads, &Vec::new())
}

pub(super) fn upload_is_gone_after_abort(case: &Case<'_>) -> Result<(), String> {
    let (upload, tag) = begun(case, "a", b"part")?;
    done("abort upload", case.abort(&upload))?;
    let late = case.part(&upload, 2, Bytes::from_static(b"late"));
    refused("part after abort", late, &[RefusalKind::NotFound])?;
    refused("complete after abort", case.complete(&upload, &[tag]), &[RefusalKind::NotFound])?;
    invisible(case, "a")
}

/// Uploads under these names, ascending by key and then by id.
fn fill(case: &Case<'_>) -> Result<Vec<Upload>, String> {
    let mut uploads = Vec::new();
    for name in ["b/1", "a", "c", "b-c", "a", "b/1"] {
        uploads.push(case.begin(name)?);
    }
    uploads.sort();
    Ok(uploads)
}

fn upload(row: &UploadMeta) -> Upload {
    Upload { key: row.key.clone(), id: row.upload.clone() }
}

/// Rows of a page, which must be ascending by key; the order of one key's uploads is the store's.
fn rows(page: &ListUploadsReply) -> Result<Vec<Upload>, String> {
    let mut rows: Vec<_> = page.uploads.iter().map(upload).collect();
    equal("ascending order of keys", &rows.is_sorted_by_key(|row| row.key.clone()), &true)?;
    rows.sort();
    Ok(rows)
}

pub(super) fn list_uploads_is_ascending(case: &Case<'_>) -> Result<(), String> {
    let mut expected = fill(case)?;
    let page = case.list_uploads("", None, 1_000)?;
    equal("uploads", &rows(&page)?, &expected)?;
    equal("more", &page.more, &false)?;
    done("abort upload", case.abort(&expected.remove(1)))?;
    equal("uploads after an abort", &rows(&case.list_uploads("", None, 1_000)?)?, &expected)?;
    let (upload, tag) = begun(case, "d", b"part")?;
    done("complete upload", case.complete(&upload, &[tag]))?;
    equal("uploads after a completion", &rows(&case.list_uploads("", None, 1_000)?)?, &expected)
}

pub(super) fn list_uploads_prefix_is_text(case: &Case<'_>) -> Result<(), String> {
    let all = fill(case)?;
    for prefix in ["a", "b", "b/", "b-", "b/1", "b/11", "nothing"] {
        let begins = |upload: &&Upload| upload.key.as_str().starts_with(case.key(prefix).as_str());
        let expected: Vec<_> = all.iter().filter(begins).cloned().collect();
        let found = rows(&case.list_uploads(prefix, None, 1_000)?)?;
        equal(&format!("uploads that begin with {prefix}"), &found, &expected)?;
    }
    Ok(())
}

pub(super) fn list_uploads_pages(case: &Case<'_>) -> Result<(), String> {
    let all = fill(case)?;
    for limit in 1..=7_u16 {
        let mut found: Vec<Upload> = Vec::new();
        let mut after = None;
        loop {
            let page = case.list_uploads("", after.as_ref(), limit)?;
            let left = all.len() - found.len();
            equal(&format!("rows with limit {limit}"), &page.uploads.len(), &left.min(usize::from(limit)))?;
            equal(&format!("more with limit {limit}"), &page.more, &(left > page.uploads.len()))?;
            found.extend(rows(&page)?);
            after = page.uploads.last().map(upload);
            if !page.more {
                break;
            }
        }
        found.sort();
        equal(&format!("all pages with limit {limit}"), &found, &all)?;
    }
    Ok(())
}
