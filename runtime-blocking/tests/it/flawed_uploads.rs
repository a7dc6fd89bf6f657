//! A store with one flaw in its uploads or bulk deletes, to show what the conformance suite catches.
use bucketlog_blocking::store::{Memory, Store};
use bucketlog_core::boundary::{
    AbortUpload, CompleteUpload, Create, CreateReply, CreateUpload, CreateUploadReply, Delete, DeleteMany,
    DeleteManyReply, Fault, Get, GetReply, Key, List, ListReply, ListUploads, ListUploadsReply, PartTag, RefusalKind,
    Stat, StatReply, Swap, SwapReply, UploadId, UploadPart, UploadPartReply,
};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    DeleteManyForgetsTheFirst,
    DeleteManyTakesAHundred,
    DeleteManyAnswersTooMuch,
    PartsAreVisible,
    PartsAreJoinedAsTheyCame,
    PartsAreKept,
    TagsAreIgnored,
    CompleteAgainIsDenied,
    CompleteKeepsTheObject,
    AbortOfMissingFails,
    AbortDoesNothing,
    ListDescends,
    ListPrefixIsDirectory,
    ListHasNoMore,
}

/// Each flaw with a check that must catch it.
pub(crate) const FLAWS: &[(Flaw, &str)] = &[
    (Flaw::DeleteManyForgetsTheFirst, "delete-many"),
    (Flaw::DeleteManyTakesAHundred, "delete-many-of-a-thousand"),
    (Flaw::DeleteManyAnswersTooMuch, "delete-many-of-none"),
    (Flaw::PartsAreVisible, "upload-joins-parts-in-order"),
    (Flaw::PartsAreJoinedAsTheyCame, "upload-joins-parts-in-order"),
    (Flaw::PartsAreKept, "upload-part-is-replaced"),
    (Flaw::TagsAreIgnored, "upload-with-replaced-tag-is-refused"),
    (Flaw::TagsAreIgnored, "upload-with-wrong-tags-is-refused"),
    (Flaw::CompleteAgainIsDenied, "upload-is-completed-once"),
    (Flaw::CompleteKeepsTheObject, "upload-onto-an-existing-key"),
    (Flaw::AbortOfMissingFails, "upload-abort-is-idempotent"),
    (Flaw::AbortDoesNothing, "upload-is-gone-after-abort"),
    (Flaw::ListDescends, "list-uploads-is-ascending"),
    (Flaw::ListPrefixIsDirectory, "list-uploads-prefix-is-text"),
    (Flaw::ListHasNoMore, "list-uploads-pages"),
];

#[derive(Debug)]
pub(crate) struct Flawed {
    memory: Memory,
    flaw: Flaw,
    /// Parts of each upload in the order in which they came.
    parts: Mutex<BTreeMap<UploadId, Vec<Part>>>,
}

#[derive(Clone, Debug)]
struct Part {
    number: u16,
    tag: PartTag,
    body: Bytes,
}

impl Flawed {
    pub(crate) fn new(flaw: Flaw) -> Self {
        Self { memory: Memory::new(), flaw, parts: Mutex::default() }
    }

    fn parts(&self, upload: &UploadId) -> Vec<Part> {
        self.parts.lock().unwrap().get(upload).cloned().unwrap_or_default()
    }

    fn create_whole(&self, key: &Key, body: Vec<Bytes>, until: Instant) -> Result<CreateReply, Fault> {
        self.memory.create(&Create { key: key.clone(), body }, until)
    }

    /// What is named by these, with whatever tags the parts have.
    fn with_known_tags(&self, request: &CompleteUpload) -> CompleteUpload {
        let parts = self.parts(&request.upload);
        let known = |number| parts.iter().rfind(|part| part.number == number).map(|part| part.tag.clone());
        let tags = (1..).zip(&request.parts).filter_map(|(number, _)| known(number)).collect();
        CompleteUpload { parts: tags, ..request.clone() }
    }
}

impl Store for Flawed {
    fn get(&self, request: &Get, until: Instant) -> Result<GetReply, Fault> {
        self.memory.get(request, until)
    }

    fn stat(&self, request: &Stat, until: Instant) -> Result<StatReply, Fault> {
        self.memory.stat(request, until)
    }

    fn list(&self, request: &List, until: Instant) -> Result<ListReply, Fault> {
        self.memory.list(request, until)
    }

    fn delete(&self, request: &Delete, until: Instant) -> Result<(), Fault> {
        self.memory.delete(request, until)
    }

    fn delete_many(&self, request: &DeleteMany, until: Instant) -> Result<DeleteManyReply, Fault> {
        let taken = match self.flaw {
            Flaw::DeleteManyForgetsTheFirst => request.keys.get(1..).unwrap_or_default(),
            Flaw::DeleteManyTakesAHundred => &request.keys[..request.keys.len().min(100)],
            _ => &request.keys,
        };
        self.memory.delete_many(&DeleteMany { keys: taken.to_vec() }, until)?;
        let more = usize::from(self.flaw == Flaw::DeleteManyAnswersTooMuch);
        Ok(DeleteManyReply { outcomes: vec![Ok(()); request.keys.len() + more] })
    }

    fn create(&self, request: &Create, until: Instant) -> Result<CreateReply, Fault> {
        self.memory.create(request, until)
    }

    fn swap(&self, request: &Swap, until: Instant) -> Result<SwapReply, Fault> {
        self.memory.swap(request, until)
    }

    fn create_upload(&self, request: &CreateUpload, until: Instant) -> Result<CreateUploadReply, Fault> {
        self.memory.create_upload(request, until)
    }

    fn upload_part(&self, request: &UploadPart, until: Instant) -> Result<UploadPartReply, Fault> {
        let known = self.parts(&request.upload).into_iter().find(|part| part.number == request.number);
        if let Some(Part { tag, .. }) = known.filter(|_| self.flaw == Flaw::PartsAreKept) {
            return Ok(UploadPartReply { tag });
        }
        if self.flaw == Flaw::PartsAreVisible {
            let _ = self.create_whole(&request.key, request.body.clone(), until);
        }
        let reply = self.memory.upload_part(request, until)?;
        let part = Part { number: request.number, tag: reply.tag.clone(), body: request.body.concat().into() };
        self.parts.lock().unwrap().entry(request.upload.clone()).or_default().push(part);
        Ok(reply)
    }

    fn complete_upload(&self, request: &CompleteUpload, until: Instant) -> Result<CreateReply, Fault> {
        let reply = match self.flaw {
            Flaw::TagsAreIgnored => self.memory.complete_upload(&self.with_known_tags(request), until),
            Flaw::PartsAreJoinedAsTheyCame => {
                let bodies = self.parts(&request.upload).into_iter().map(|part| part.body).collect();
                self.create_whole(&request.key, bodies, until)
            }
            _ => self.memory.complete_upload(request, until),
        };
        match (self.flaw, reply.as_ref().map_err(Fault::refusal)) {
            (Flaw::CompleteAgainIsDenied, Err(Some(RefusalKind::NotFound))) => {
                Err(Fault::refused(RefusalKind::Denied, "as scripted"))
            }
            (Flaw::CompleteKeepsTheObject, Err(Some(RefusalKind::Precondition))) => Ok(CreateReply { version: None }),
            _ => reply,
        }
    }

    fn abort_upload(&self, request: &AbortUpload, until: Instant) -> Result<(), Fault> {
        let is_known = self.parts.lock().unwrap().remove(&request.upload).is_some();
        match self.flaw {
            Flaw::AbortOfMissingFails if !is_known => Err(Fault::refused(RefusalKind::NotFound, "as scripted")),
            Flaw::AbortDoesNothing => Ok(()),
            _ => self.memory.abort_upload(request, until),
        }
    }

    fn list_uploads(&self, request: &ListUploads, until: Instant) -> Result<ListUploadsReply, Fault> {
        let mut request = request.clone();
        if self.flaw == Flaw::ListPrefixIsDirectory && !request.prefix.as_str().ends_with('/') {
            request.prefix = Key::from(format!("{}/", request.prefix));
        }
        let mut reply = self.memory.list_uploads(&request, until)?;
        match self.flaw {
            Flaw::ListDescends => reply.uploads.reverse(),
            Flaw::ListHasNoMore => reply.more = false,
            _ => {}
        }
        Ok(reply)
    }
}
