//! How values look to people.
use bucketlog_core::ids::TimestampMs;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use jiff::Timestamp;
use std::fmt::Display;

pub(crate) use indicatif::{HumanBytes as Bytes, HumanCount as Count};

/// Longest start of a payload that a table shows, in characters.
const PREVIEW: usize = 60;

/// A table of rows under headings.
pub(crate) fn table(headings: &[&str]) -> Table {
    let mut table = plain();
    table.set_header(headings);
    table
}

/// A table of names and values.
pub(crate) fn fields<'a>(rows: impl IntoIterator<Item = (&'a str, String)>) -> Table {
    let mut table = plain();
    for (name, value) in rows {
        table.add_row([name.to_owned(), value]);
    }
    table
}

fn plain() -> Table {
    let mut table = Table::new();
    // Fits a terminal's width; in a pipe every cell keeps its line.
    table.load_style(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    table
}

/// Aligns these columns to the right, as numbers are.
pub(crate) fn align_right(table: &mut Table, columns: &[usize]) {
    for &column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// UTC with milliseconds; the bare number outside the calendar.
pub(crate) fn time(at: TimestampMs) -> String {
    match Timestamp::from_millisecond(at.0) {
        Ok(time) => format!("{time:.3}"),
        Err(_) => format!("{at} ms"),
    }
}

/// From one value to another, both inside.
pub(crate) fn span(from: impl Display, to: impl Display) -> String {
    format!("{from} to {to}")
}

/// The start of a payload, with everything unprintable escaped.
pub(crate) fn preview(bytes: &[u8]) -> String {
    let start = bytes.get(..4 * PREVIEW).unwrap_or(bytes);
    let text: String = String::from_utf8_lossy(start).chars().take(PREVIEW).collect();
    let cut = if text.len() < bytes.len() { "…" } else { "" };
    format!("{}{cut}", text.escape_debug())
}
