//! The upload of one segment in parts.
use super::retry::Failures;
use crate::boundary::{CompleteUpload, CreateUpload, Key, MonoTime, PartTag, UploadId, UploadPart};
use crate::mutant::mutant;
use bytes::Bytes;

/// An upload and its parts, which are kept until the object is proven to be in the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Parts {
    key: Key,
    upload: Upload,
    bodies: Vec<Part>,
    since: MonoTime,
    /// The store said that the upload does not exist, or does not fit its parts.
    is_lost: bool,
    /// Failures to begin.
    pub(super) beginning: Failures,
    /// Uploads that were lost.
    pub(super) losses: Failures,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Upload {
    /// To begin then.
    Wanted {
        at: MonoTime,
    },
    Beginning,
    Open(UploadId),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Part {
    body: Vec<Bytes>,
    stage: Stage,
    failures: Failures,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Ready { at: MonoTime },
    Out,
    Stored(PartTag),
}

/// The next request of an upload.
#[derive(Debug)]
pub(super) enum Step {
    Begin(CreateUpload),
    Send(UploadPart),
    Complete(CompleteUpload),
}

impl Parts {
    pub(super) fn new(key: Key, now: MonoTime) -> Self {
        Self {
            key,
            upload: Upload::Wanted { at: now },
            bodies: Vec::new(),
            since: now,
            is_lost: false,
            beginning: Failures::default(),
            losses: Failures::default(),
        }
    }

    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    /// When the upload was first wanted.
    pub(super) fn since(&self) -> MonoTime {
        self.since
    }

    /// Whether the upload is gone.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Takes the next part; all but the last have the same length.
    pub(super) fn push(&mut self, body: Vec<Bytes>, now: MonoTime) {
        self.bodies.push(Part { body, stage: Stage::Ready { at: now }, failures: Failures::default() });
    }

    /// The next request but the completion.
    pub(super) fn next(&mut self, now: MonoTime, has_room: bool) -> Option<Step> {
        match &self.upload {
            Upload::Wanted { at } if *at <= now => {
                self.upload = Upload::Beginning;
                Some(Step::Begin(CreateUpload { key: self.key.clone() }))
            }
            Upload::Open(upload) if has_room => {
                let is_due = |part: &Part| matches!(part.stage, Stage::Ready { at } if at <= now);
                let (number, part) = (1..).zip(&mut self.bodies).find(|(_, part)| is_due(part))?;
                part.stage = Stage::Out;
                let (key, upload, body) = (self.key.clone(), upload.clone(), part.body.clone());
                Some(Step::Send(UploadPart { key, upload, number, body }))
            }
            _ => None,
        }
    }

    /// When [`Parts::next`] has to be asked again.
    pub(super) fn deadline(&self, has_room: bool) -> Option<MonoTime> {
        match self.upload {
            Upload::Wanted { at } => Some(at),
            Upload::Open(_) if has_room => {
                let due = |part: &Part| if let Stage::Ready { at } = part.stage { Some(at) } else { None };
                self.bodies.iter().filter_map(due).min()
            }
            _ => None,
        }
    }

    /// Parts under way.
    pub(super) fn out(&self) -> u32 {
        self.bodies.iter().map(|part| u32::from(part.stage == Stage::Out)).sum()
    }

    /// The completion, once every part is stored; the caller knows when no part will follow.
    pub(super) fn completion(&self) -> Option<CompleteUpload> {
        let Upload::Open(upload) = &self.upload else { return None };
        let tag = |part: &Part| if let Stage::Stored(tag) = &part.stage { Some(tag.clone()) } else { None };
        let mut parts: Vec<PartTag> = if mutant("an upload completes without the parts that miss") {
            self.bodies.iter().filter_map(tag).collect()
        } else {
            self.bodies.iter().map(tag).collect::<Option<_>>()?
        };
        if mutant("parts are completed in reverse") {
            parts.reverse();
        }
        Some(CompleteUpload { key: self.key.clone(), upload: upload.clone(), parts })
    }

    pub(super) fn begun(&mut self, upload: UploadId) {
        if self.upload == Upload::Beginning {
            (self.upload, self.beginning) = (Upload::Open(upload), Failures::default());
        }
    }

    pub(super) fn begin_again(&mut self, at: MonoTime) {
        self.upload = Upload::Wanted { at };
    }

    pub(super) fn stored(&mut self, number: u16, tag: PartTag) {
        if let Some(part) = self.part(number) {
            part.stage = Stage::Stored(tag);
        }
    }

    pub(super) fn failures(&mut self, number: u16) -> Failures {
        self.part(number).map_or_else(Failures::default, |part| part.failures)
    }

    pub(super) fn send_again(&mut self, number: u16, failures: Failures, at: MonoTime) {
        if let Some(part) = self.part(number) {
            (part.stage, part.failures) = (Stage::Ready { at }, failures);
        }
    }

    pub(super) fn lose(&mut self) {
        self.is_lost = true;
    }

    /// All parts go to another upload, which begins at `at`. Gives the upload that is to be thrown away, if any.
    pub(super) fn restart(&mut self, at: MonoTime) -> Option<(Key, UploadId)> {
        let old = std::mem::replace(&mut self.upload, Upload::Wanted { at });
        for part in &mut self.bodies {
            part.stage = Stage::Ready { at };
        }
        let is_lost = std::mem::take(&mut self.is_lost);
        old.id().filter(|_| !is_lost).map(|upload| (self.key.clone(), upload))
    }

    /// The upload, if one was begun that the store may still have.
    pub(super) fn into_upload(self) -> Option<(Key, UploadId)> {
        self.upload.id().filter(|_| !self.is_lost).map(|upload| (self.key, upload))
    }

    fn part(&mut self, number: u16) -> Option<&mut Part> {
        self.bodies.get_mut(usize::from(number).checked_sub(1)?)
    }
}

impl Upload {
    fn id(self) -> Option<UploadId> {
        match self {
            Self::Open(upload) => Some(upload),
            Self::Wanted { .. } | Self::Beginning => None,
        }
    }
}
