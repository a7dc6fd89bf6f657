//! Reports of `inspect` for people.
use super::object::{Object, Segment};
use crate::failure::Failure;
use crate::show::{Bytes, Count, align_right, fields, preview, span, table, time};
use bucketlog_core::format::catalog::{Head, Page, PageEntries, PageRef, SegmentEntry};
use bucketlog_core::format::segment::RecordRef;
use std::io::{self, Write};

pub(super) fn print(object: &Object, name: &str, size: u64, records: bool, out: &mut dyn Write) -> Result<(), Failure> {
    match object {
        Object::Segment(found) => {
            writeln!(out, "{name}: a segment of {}, every hash checked", Bytes(size))?;
            segment(found, records, out)?;
        }
        Object::Head(found) => {
            writeln!(out, "{name}: a head of {}, every hash checked", Bytes(size))?;
            head(found, out)?;
        }
        Object::Page(found) => {
            let kind = if found.reference.level == 0 { "a leaf page" } else { "an index page" };
            writeln!(out, "{name}: {kind} of {}, every hash checked", Bytes(size))?;
            page(found, out)?;
        }
    }
    Ok(())
}

fn segment(segment: &Segment, records: bool, out: &mut dyn Write) -> io::Result<()> {
    let trailer = &segment.index.trailer;
    let raw: u64 = segment.index.entries.iter().map(|block| u64::from(block.meta.raw_size)).sum();
    let summary = fields([
        (
            "records",
            format!("{}, LSN {}", Count(trailer.record_count.into()), span(trailer.base_lsn, trailer.last_lsn)),
        ),
        ("time", span(time(trailer.min_timestamp), time(trailer.max_timestamp))),
        ("partition", trailer.partition.to_string()),
        ("blocks", format!("{}, {} uncompressed", Count(trailer.block_count.into()), Bytes(raw))),
        ("codec, hash", format!("{}, {}", trailer.codec.name(), trailer.hash.name())),
        ("created", time(trailer.created)),
        ("segment id", trailer.segment_id.to_string()),
        ("writer", trailer.writer_tag.to_string()),
        (
            "block index",
            format!("at {}, {}", Count(trailer.block_index_offset), Bytes(trailer.block_index_length.into())),
        ),
        ("segment hash", format!("{:016x}", trailer.segment_hash)),
        ("records SHA-256", segment.records_dump_sha256()),
    ]);
    writeln!(out, "{summary}\n\nBlocks")?;
    blocks(segment, out)?;
    if records {
        writeln!(out, "\nRecords")?;
        segment.records().try_for_each(|record| print_record(&record, out))?;
    }
    Ok(())
}

fn blocks(segment: &Segment, out: &mut dyn Write) -> io::Result<()> {
    let mut rows = table(&["offset", "stored", "raw", "records", "first LSN", "from", "to"]);
    for block in &segment.index.entries {
        let meta = &block.meta;
        rows.add_row([
            Count(block.offset).to_string(),
            Bytes(meta.stored_size.into()).to_string(),
            Bytes(meta.raw_size.into()).to_string(),
            Count(meta.record_count.into()).to_string(),
            meta.base_lsn.to_string(),
            time(meta.min_timestamp),
            time(meta.max_timestamp),
        ]);
    }
    align_right(&mut rows, &[0, 1, 2, 3, 4]);
    writeln!(out, "{rows}")
}

/// One line, because a table of a whole segment would need it twice in memory.
fn print_record(record: &RecordRef<'_>, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{:>12}  {}  {:>10}", record.lsn, time(record.timestamp), Bytes(record.value.len() as u64))?;
    for header in record.headers() {
        write!(out, "  [{}: {}]", preview(header.key), preview(header.value))?;
    }
    writeln!(out, "  {}", preview(record.value))
}

/// A head's fields and the last segment: as short for a long log as for a new one.
pub(crate) fn head_summary(head: &Head, out: &mut dyn Write) -> io::Result<()> {
    let identity = &head.identity;
    let owner = match head.writer_epoch.0 {
        0 => "nobody yet".to_owned(),
        epoch => format!("{} at epoch {epoch}", head.writer_id),
    };
    let readable = if head.oldest_lsn == head.next_lsn {
        "nothing".to_owned()
    } else {
        format!("LSN {}", span(head.oldest_lsn, head.next_lsn.0.saturating_sub(1)))
    };
    let summary = fields([
        ("readable", readable),
        ("next LSN", head.next_lsn.to_string()),
        ("writer", owner),
        ("generation", head.generation.to_string()),
        ("segments", format!("{} readable, {} ever", Count(head.reachable_segment_count), Count(head.segment_count))),
        ("in this head", entries(head)),
        ("retention", retention(head)),
        ("partition", identity.partition.to_string()),
        ("stream key", identity.stream_key.to_string()),
        ("data root key", identity.data_root_key.to_string()),
        ("hash", head.layout.hash.name().to_owned()),
        ("fan-out", format!("{} segments a leaf, {} pages an index", head.layout.leaf_limit, head.layout.index_limit)),
    ]);
    writeln!(out, "{summary}")?;
    if let Some(last) = &head.last_segment {
        writeln!(out, "\nLast segment")?;
        segments(std::slice::from_ref(last), out)?;
    }
    Ok(())
}

/// A head's fields and everything it leads to.
fn head(head: &Head, out: &mut dyn Write) -> io::Result<()> {
    head_summary(head, out)?;
    if !head.active.is_empty() {
        writeln!(out, "\nActive segments, not in a leaf page yet")?;
        segments(&head.active, out)?;
    }
    for (level, section) in (1..).zip(&head.sections) {
        if !section.is_empty() {
            let below: u32 = level - 1;
            writeln!(out, "\nSection {level}, pages of level {below}")?;
            pages(section, out)?;
        }
    }
    Ok(())
}

fn entries(head: &Head) -> String {
    let pages: usize = head.sections.iter().map(Vec::len).sum();
    format!("{} segments not in a page yet, {pages} pages in {} levels", head.active.len(), head.sections.len())
}

fn retention(head: &Head) -> String {
    match head.applied_retention_version {
        0 => "never applied".to_owned(),
        version => format!("below LSN {}, policy version {version}", head.applied_retention_lsn),
    }
}

fn page(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let reference = &page.reference;
    let summary = fields([
        ("level", reference.level.to_string()),
        ("LSN", span(reference.seq_lo, reference.seq_hi)),
        ("time", span(time(reference.min_timestamp), time(reference.max_timestamp))),
        ("segments below", Count(reference.segment_count).to_string()),
        ("entries", Count(reference.entry_count.into()).to_string()),
        ("generation", reference.generation.to_string()),
        ("writer epoch", page.writer_epoch.to_string()),
        ("partition", page.partition.to_string()),
        ("stream key", page.stream_key.to_string()),
        ("page id", reference.page_id.to_string()),
        ("hash", page.hash.name().to_owned()),
    ]);
    writeln!(out, "{summary}\n\nEntries")?;
    match &page.entries {
        PageEntries::Leaf(entries) => segments(entries, out),
        PageEntries::Index(entries) => pages(entries, out),
    }
}

fn segments(entries: &[SegmentEntry], out: &mut dyn Write) -> io::Result<()> {
    let mut rows = table(&["LSN", "records", "size", "blocks", "codec", "hash", "epoch", "from", "to", "segment id"]);
    for entry in entries {
        rows.add_row([
            span(entry.base_lsn, entry.last_lsn),
            Count(entry.record_count.into()).to_string(),
            Bytes(entry.size_bytes).to_string(),
            Count(entry.block_count.into()).to_string(),
            entry.codec.name().to_owned(),
            entry.hash.name().to_owned(),
            entry.writer_epoch.to_string(),
            time(entry.min_timestamp),
            time(entry.max_timestamp),
            entry.segment_id.to_string(),
        ]);
    }
    align_right(&mut rows, &[1, 2, 3, 6]);
    writeln!(out, "{rows}")
}

fn pages(references: &[PageRef], out: &mut dyn Write) -> io::Result<()> {
    let mut rows = table(&["LSN", "entries", "segments", "generation", "from", "to", "page id"]);
    for reference in references {
        rows.add_row([
            span(reference.seq_lo, reference.seq_hi),
            Count(reference.entry_count.into()).to_string(),
            Count(reference.segment_count).to_string(),
            reference.generation.to_string(),
            time(reference.min_timestamp),
            time(reference.max_timestamp),
            reference.page_id.to_string(),
        ]);
    }
    align_right(&mut rows, &[1, 2, 3]);
    writeln!(out, "{rows}")
}
