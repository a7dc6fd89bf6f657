//! `bucketlog inspect`: what any one object is, checked to the last byte.
mod catalog_report;
mod object;
mod segment_report;
mod tables;

pub(crate) use catalog_report::HeadReport;
pub(crate) use tables::head_summary;

use crate::args::{InspectArgs, LogArgs};
use crate::failure::Failure;
use crate::json;
use bytes::Bytes;
use object::Object;
use std::fs;
use std::io::{self, Read as _, Write};
use std::path::Path;

pub(crate) fn run(args: &InspectArgs, log: &LogArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let (name, bytes) = read(args)?;
    let object = object::open(&name, &bytes)?;
    if log.json {
        print_json(&object, &bytes, args.records, log, out)
    } else {
        tables::print(&object, &name, bytes.len() as u64, args.records, out)
    }
}

fn print_json(object: &Object, bytes: &[u8], records: bool, log: &LogArgs, out: &mut dyn Write) -> Result<(), Failure> {
    match object {
        Object::Segment(segment) => {
            json::write_line(out, &segment_report::SegmentReport::new(segment, bytes, records))?;
        }
        Object::Head(head) => json::write_line(out, &HeadReport::new(head, bytes, log))?,
        Object::Page(page) => json::write_line(out, &catalog_report::PageReport::new(page, bytes, log))?,
    }
    Ok(())
}

/// The object's name for messages, and its content.
fn read(args: &InspectArgs) -> Result<(String, Bytes), Failure> {
    match &args.file {
        Some(path) if path != Path::new("-") => {
            let name = path.display().to_string();
            let content = fs::read(path).map_err(|error| unreadable(&name, &error))?;
            Ok((name, content.into()))
        }
        _ => {
            let mut content = Vec::new();
            io::stdin().lock().read_to_end(&mut content).map_err(|error| unreadable("stdin", &error))?;
            Ok(("stdin".to_owned(), content.into()))
        }
    }
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::new("input", format!("can't read {name}: {error}"), "check the path and its permissions")
}
