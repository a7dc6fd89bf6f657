//! Writes, in the order of steps that makes them atomic and durable.
use super::super::rules;
use super::temp::Temp;
use super::{LocalDir, fault, path, read};
use bucketlog_core::boundary::{Create, CreateReply, Fault, Key, Swap, SwapCondition, SwapReply};
use bytes::Bytes;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Instant;

impl LocalDir {
    pub(super) fn create_object(&self, request: &Create, until: Instant) -> Result<CreateReply, Fault> {
        let path = self.locate(&request.key, until)?;
        self.publish_new(&path, &request.body, until)?;
        Ok(CreateReply { version: None })
    }

    pub(super) fn swap_object(&self, request: &Swap, until: Instant) -> Result<SwapReply, Fault> {
        if request.body.len() as u64 > Self::MAX_VERSIONED {
            return Err(rules::invalid("a swapped object is larger than 4 MiB"));
        }
        let path = self.locate(&request.key, until)?;
        let body = std::slice::from_ref(&request.body);
        let _exclusive = self.turn.take(&*self.disk, &path::lock_file(&self.root), until)?;
        match &request.condition {
            // Not a rename: a create of the same key takes no lock.
            SwapCondition::Absent => self.publish_new(&path, body, until)?,
            SwapCondition::Matches(expected) => {
                if self.current_version(&path)? != *expected {
                    return Err(rules::precondition("the object has another version"));
                }
                self.publish_over(&path, body, until)?;
            }
        }
        Ok(SwapReply { version: Some(read::version_of(&request.body)) })
    }

    pub(super) fn delete_object(&self, key: &Key, until: Instant) -> Result<(), Fault> {
        let path = self.locate(key, until)?;
        {
            // A delete between the comparison and the rename of a swap would be undone by it.
            let _exclusive = self.turn.take(&*self.disk, &path::lock_file(&self.root), until)?;
            match self.disk.remove(&path) {
                Err(error) if fault::names_no_object(&error) => return Ok(()),
                other => self.committed("unlink", &path, other)?,
            }
        }
        self.flush_entry(&path)
    }

    fn publish_new(&self, path: &Path, body: &[Bytes], until: Instant) -> Result<(), Fault> {
        let temp = self.prepare(path, body, until)?;
        match temp.link(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                // Whoever stored it may have died before the flush; the answer must not vanish in a power cut.
                self.flush_entry(path)?;
                Err(rules::precondition("the key exists"))
            }
            other => {
                self.committed("link", path, other)?;
                self.flush_entry(path)
            }
        }
    }

    fn publish_over(&self, path: &Path, body: &[Bytes], until: Instant) -> Result<(), Fault> {
        let mut temp = self.prepare(path, body, until)?;
        let renamed = temp.rename(path);
        self.committed("rename", path, renamed)?;
        self.flush_entry(path)
    }

    /// Everything before the commit point.
    fn prepare(&self, path: &Path, body: &[Bytes], until: Instant) -> Result<Temp<'_>, Fault> {
        let disk = &*self.disk;
        self.directories.make(disk, path::directory(path)).map_err(|e| fault::before_commit("make directory", &e))?;
        let temp = Temp::create(disk, &self.temp_names).map_err(|e| fault::before_commit("create temp file", &e))?;
        disk.write(temp.file(), body).map_err(|e| fault::before_commit("write temp file", &e))?;
        disk.sync_file(temp.file()).map_err(|e| fault::before_commit("flush temp file", &e))?;
        fault::check_deadline(until)?;
        Ok(temp)
    }

    /// Judges the call at the commit point.
    fn committed(&self, step: &str, path: &Path, result: io::Result<()>) -> Result<(), Fault> {
        let Err(error) = result else { return Ok(()) };
        if error.kind() == ErrorKind::NotFound {
            self.directories.forget_made();
        }
        let fault = fault::at_commit(step, &error);
        if matches!(fault, Fault::Indeterminate(_)) {
            self.directories.owe(path::directory(path));
        }
        Err(fault)
    }

    fn flush_entry(&self, path: &Path) -> Result<(), Fault> {
        self.directories
            .sync(&*self.disk, path::directory(path))
            .map_err(|e| fault::after_commit("flush directory", &e))
    }
}
