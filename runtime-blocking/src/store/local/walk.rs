//! Listings: a sorted walk that enters only directories with wanted keys.
use super::super::rules;
use super::{LocalDir, fault, path, read};
use bucketlog_core::boundary::{Fault, Key, List, ListReply};
use std::path::Path;
use std::time::Instant;
use std::{fs, io};

impl LocalDir {
    pub(super) fn list_objects(&self, request: &List, until: Instant) -> Result<ListReply, Fault> {
        fault::check_deadline(until)?;
        let limit = rules::limit(request.limit)?;
        self.directories.settle_all(&*self.disk).map_err(|e| fault::after_commit("flush", &e))?;
        let mut walk = Walk::begin(&self.root, request)?;
        let mut objects = Vec::new();
        while let Some(key) = walk.next().map_err(|e| fault::reading("list", &e))? {
            match self.root.join(&key).metadata() {
                Ok(_) if objects.len() == limit => return Ok(ListReply { objects, more: true }),
                Ok(metadata) => objects.push(read::meta(Key::from(key), &metadata)),
                // Deleted since its directory was read.
                Err(error) if fault::names_no_object(&error) => {}
                Err(error) => return Err(fault::reading("list", &error)),
            }
        }
        Ok(ListReply { objects, more: false })
    }
}

struct Walk<'a> {
    root: &'a Path,
    prefix: &'a str,
    after: Option<&'a str>,
    /// What is still to visit, last one first. The name of a directory ends in a slash, which also sorts it to where
    /// its keys belong.
    ahead: Vec<String>,
}

impl<'a> Walk<'a> {
    fn begin(root: &'a Path, request: &'a List) -> Result<Self, Fault> {
        let prefix = request.prefix.as_str();
        let after = request.after.as_ref().map(Key::as_str);
        let mut walk = Self { root, prefix, after, ahead: Vec::new() };
        match prefix.rsplit_once('/') {
            Some((directory, _)) => {
                path::check(directory)?;
                walk.ahead.push(format!("{directory}/"));
            }
            None if prefix.contains('\0') => return Err(rules::invalid("a key can't hold a NUL byte")),
            None => walk.enter("").map_err(|e| fault::reading("list", &e))?,
        }
        Ok(walk)
    }

    /// The next wanted key, ascending.
    fn next(&mut self) -> io::Result<Option<String>> {
        while let Some(name) = self.ahead.pop() {
            if !name.ends_with('/') {
                return Ok(Some(name));
            }
            self.enter(&name)?;
        }
        Ok(None)
    }

    fn enter(&mut self, directory: &str) -> io::Result<()> {
        let entries = match fs::read_dir(self.root.join(directory)) {
            Err(error) if fault::names_no_object(&error) => return Ok(()),
            other => other?,
        };
        let begin = self.ahead.len();
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let is_service = directory.is_empty() && name == path::SERVICE_DIR;
            let name = format!("{directory}{name}");
            if kind.is_file() && self.wants(&name) {
                self.ahead.push(name);
            } else if kind.is_dir() && !is_service && self.wants_some_below(&format!("{name}/")) {
                self.ahead.push(format!("{name}/"));
            }
        }
        self.ahead[begin..].sort_unstable_by(|a, b| b.cmp(a));
        Ok(())
    }

    fn wants(&self, key: &str) -> bool {
        key.starts_with(self.prefix) && self.after.is_none_or(|after| key > after)
    }

    fn wants_some_below(&self, directory: &str) -> bool {
        (directory.starts_with(self.prefix) || self.prefix.starts_with(directory))
            && self.after.is_none_or(|after| directory > after || after.starts_with(directory))
    }
}
