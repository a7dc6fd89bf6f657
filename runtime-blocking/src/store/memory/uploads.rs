//! Uploads in parts, in memory.
use super::{Body, Memory, now};
use crate::store::rules;
use bucketlog_core::boundary::{
    AbortUpload, CompleteUpload, CreateReply, CreateUpload, CreateUploadReply, Fault, Key, ListUploads,
    ListUploadsReply, PartTag, UploadId, UploadMeta, UploadPart, UploadPartReply,
};
use bucketlog_core::ids::TimestampMs;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Uploads that are neither completed nor aborted; ids grow, so their order is that of their beginning.
pub(super) type Uploads = BTreeMap<(Key, UploadId), Upload>;

#[derive(Debug)]
pub(super) struct Upload {
    begun: TimestampMs,
    parts: BTreeMap<u16, Part>,
}

#[derive(Debug)]
struct Part {
    body: Body,
    tag: PartTag,
}

impl Memory {
    pub(super) fn begin(&self, request: &CreateUpload) -> CreateUploadReply {
        let mut state = self.write();
        state.writes += 1;
        let upload = UploadId::from(format!("{:020}", state.writes));
        let place = (request.key.clone(), upload.clone());
        state.uploads.insert(place, Upload { begun: now(), parts: BTreeMap::new() });
        CreateUploadReply { upload }
    }

    pub(super) fn put_part(&self, request: &UploadPart) -> Result<UploadPartReply, Fault> {
        rules::part_number(request.number)?;
        let body = self.body(&request.key, &request.body);
        let mut state = self.write();
        state.writes += 1;
        let tag = PartTag::from(format!("part {}", state.writes));
        let upload = state.uploads.get_mut(&(request.key.clone(), request.upload.clone()));
        let upload = upload.ok_or_else(rules::no_upload)?;
        let replaced = upload.parts.insert(request.number, Part { body, tag: tag.clone() });
        drop(state);
        drop(replaced);
        Ok(UploadPartReply { tag })
    }

    pub(super) fn complete(&self, request: &CompleteUpload) -> Result<CreateReply, Fault> {
        let place = (request.key.clone(), request.upload.clone());
        let mut state = self.write();
        let upload = state.uploads.get(&place).ok_or_else(rules::no_upload)?;
        let body = upload.joined(&request.parts)?;
        let version = state.insert_absent(&request.key, body, now())?;
        let completed = state.uploads.remove(&place);
        drop(state);
        drop(completed);
        Ok(CreateReply { version: Some(version) })
    }

    pub(super) fn abort(&self, request: &AbortUpload) {
        let aborted = self.write().uploads.remove(&(request.key.clone(), request.upload.clone()));
        drop(aborted);
    }

    pub(super) fn page_of_uploads(&self, request: &ListUploads) -> Result<ListUploadsReply, Fault> {
        let limit = rules::limit(request.limit)?;
        let first = (request.prefix.clone(), UploadId::from(""));
        let from = match &request.after {
            Some(after) if *after >= first => Bound::Excluded(after),
            _ => Bound::Included(&first),
        };
        let state = self.read();
        let mut rows = state
            .uploads
            .range((from, Bound::Unbounded))
            .take_while(|((key, _), _)| key.as_str().starts_with(request.prefix.as_str()));
        let meta = |((key, upload), begun): (&(Key, UploadId), &Upload)| UploadMeta {
            key: key.clone(),
            upload: upload.clone(),
            begun: Some(begun.begun),
        };
        let uploads = rows.by_ref().take(limit).map(meta).collect();
        Ok(ListUploadsReply { uploads, more: rows.next().is_some() })
    }
}

impl Upload {
    /// The bodies of the parts 1, 2, 3 and so on, which must have these tags.
    fn joined(&self, tags: &[PartTag]) -> Result<Body, Fault> {
        let part = |(number, tag): (u16, &PartTag)| {
            self.parts.get(&number).filter(|part| part.tag == *tag).map(|part| &part.body)
        };
        let parts = (1..).zip(tags).map(part).collect::<Option<Vec<_>>>();
        match parts.as_deref() {
            None | Some([]) => Err(rules::invalid("a part that is named is not there, or has another tag")),
            Some(parts) => Ok(Body::join(parts)),
        }
    }
}
