//! Reads: no lock, because a file never changes under its name; what is hashed is what was read.
use super::super::rules;
use super::{LocalDir, fault};
use bucketlog_core::boundary::{ByteRange, Fault, Get, GetReply, Key, ObjectMeta, StatReply, Version};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

impl LocalDir {
    pub(super) fn read_object(&self, request: &Get, until: Instant) -> Result<GetReply, Fault> {
        let path = self.locate(&request.key, until)?;
        let (file, metadata) = self.open_object(&path).map_err(|e| fault::reading("open", &e))?;
        let total_size = metadata.len();
        let mut version = None;
        if request.if_match.is_some() || request.if_none_match.is_some() {
            let current = version_of_file(&file).map_err(|e| fault::reading("read", &e))?;
            if !rules::wants_body(request, &current)? {
                return Ok(GetReply::NotModified);
            }
            version = Some(current);
        }
        let range = rules::range(request.range, total_size, request.max_len)?;
        let body = read_range(&file, &range)?;
        if version.is_none() && request.range == ByteRange::All && total_size <= Self::MAX_VERSIONED {
            version = Some(version_of(&body));
        }
        Ok(GetReply::Found { body, version, total_size })
    }

    pub(super) fn stat_object(&self, key: &Key, until: Instant) -> Result<StatReply, Fault> {
        let path = self.locate(key, until)?;
        let metadata = path.metadata().map_err(|e| fault::reading("stat", &e))?;
        if !metadata.is_file() {
            return Err(rules::not_found());
        }
        Ok(StatReply { meta: meta(key.clone(), &metadata) })
    }

    /// The version of what is stored now, for a swap.
    pub(super) fn current_version(&self, path: &Path) -> Result<Version, Fault> {
        self.open_object(path)
            .and_then(|(file, _)| version_of_file(&file))
            .map_err(|e| fault::comparing("read the current state", &e))
    }

    fn open_object(&self, path: &Path) -> io::Result<(File, Metadata)> {
        let file = self.disk.open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_file() { Ok((file, metadata)) } else { Err(ErrorKind::NotFound.into()) }
    }
}

pub(super) fn meta(key: Key, metadata: &Metadata) -> ObjectMeta {
    let modified = metadata.modified().ok().map(rules::timestamp);
    ObjectMeta { key, size: metadata.len(), version: None, modified }
}

pub(super) fn version_of(content: &[u8]) -> Version {
    token(Sha256::new_with_prefix(content))
}

fn version_of_file(file: &File) -> io::Result<Version> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 32 << 10];
    let mut offset = 0;
    loop {
        match file.read_at(&mut buffer, offset) {
            Ok(0) => return Ok(token(hash)),
            Ok(n) => {
                hash.update(&buffer[..n]);
                offset += n as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn token(hash: Sha256) -> Version {
    let mut hex = String::with_capacity(64);
    for byte in hash.finalize() {
        // Writing to a string can't fail.
        let _ = write!(hex, "{byte:02x}");
    }
    Version::from(hex)
}

fn read_range(file: &File, range: &Range<u64>) -> Result<Bytes, Fault> {
    let mut body = vec![0; rules::in_memory(range)?.len()];
    file.read_exact_at(&mut body, range.start).map_err(|e| fault::reading("read", &e))?;
    Ok(Bytes::from(body))
}
