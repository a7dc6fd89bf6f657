//! The sealed pages of a proposal, stored before its head.
use super::retry::Failures;
use super::{Note, Writer};
use crate::boundary::{
    ByteRange, Command, Create, CreateReply, Fault, Get, GetReply, Key, MonoTime, Now, Outstanding, RefusalKind,
};
use crate::format::catalog::SealedPage;
use crate::format::keys::LogKeys;
use crate::mutant::mutant;
use crate::writer::event::HaltCause;
use bytes::Bytes;
use std::time::Duration;

/// Pages that must all be in the store before the swap.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pages {
    pages: Vec<Upload>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Upload {
    key: Key,
    bytes: Bytes,
    stage: Stage,
    failures: Failures,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Ready {
        at: MonoTime,
    },
    /// The key is taken: its content must be compared.
    Occupied {
        at: MonoTime,
    },
    Out,
    Stored,
}

impl Pages {
    /// Pages stored at the same time.
    const PARALLEL: usize = 4;

    pub(super) fn new(pages: Vec<SealedPage>, keys: &LogKeys, now: Now) -> Self {
        let upload = |page: SealedPage| Upload {
            key: keys.page(&page.reference).into(),
            bytes: page.bytes,
            stage: Stage::Ready { at: now.mono },
            failures: Failures::default(),
        };
        Self { pages: pages.into_iter().map(upload).collect() }
    }

    pub(super) fn all_stored(&self) -> bool {
        self.pages.iter().all(|page| page.stage == Stage::Stored) || mutant("pages after the head")
    }

    fn has_room(&self) -> bool {
        self.pages.iter().filter(|page| page.stage == Stage::Out).count() < Self::PARALLEL
    }

    pub(super) fn deadline(&self) -> Option<MonoTime> {
        if !self.has_room() {
            return None;
        }
        let at = self.pages.iter().filter_map(|page| match page.stage {
            Stage::Ready { at } | Stage::Occupied { at } => Some(at),
            Stage::Out | Stage::Stored => None,
        });
        at.min()
    }

    pub(super) fn poll(&mut self, now: Now, patience: Duration, ops: &mut Outstanding<Note>) -> Option<Command> {
        if !self.has_room() {
            return None;
        }
        let due = |stage| matches!(stage, Stage::Ready { at } | Stage::Occupied { at } if at <= now.mono);
        let index = self.pages.iter().position(|page| due(page.stage))?;
        let page = self.pages.get_mut(index)?;
        let compare = matches!(page.stage, Stage::Occupied { .. });
        let (key, note) = (page.key.clone(), Note::Page { index, compare });
        let command = if compare {
            let get = Get::new(key, ByteRange::All, page.bytes.len() as u64);
            Command::Get(ops.issue(now, patience, note, get))
        } else {
            let create = Create { key, body: vec![page.bytes.clone()] };
            Command::Create(ops.issue(now, patience, note, create))
        };
        page.stage = Stage::Out;
        Some(command)
    }
}

impl Writer {
    pub(super) fn page_created(&mut self, now: Now, index: usize, result: Result<CreateReply, Fault>) {
        match result {
            Ok(_) => self.set_page(index, Stage::Stored),
            Err(fault) if fault.refusal() == Some(&RefusalKind::Precondition) => {
                self.set_page(index, Stage::Occupied { at: now.mono });
            }
            Err(Fault::Indeterminate(_)) if mutant("a lost page is stored") => self.set_page(index, Stage::Stored),
            Err(fault) if fault.refusal().is_some() && mutant("a refused page is stored") => {
                self.set_page(index, Stage::Stored);
            }
            Err(fault) => self.page_failed(now, index, fault, |at| Stage::Ready { at }),
        }
    }

    pub(super) fn page_compared(&mut self, now: Now, index: usize, result: Result<GetReply, Fault>) {
        let Some(page) = self.page(index) else { return };
        match result {
            Ok(GetReply::Found { body, .. }) if body == page.bytes => self.set_page(index, Stage::Stored),
            Ok(GetReply::Found { .. }) => {
                let key = page.key.as_str().into();
                self.halt(HaltCause::KeyCollision { key });
            }
            Ok(GetReply::NotModified) => {
                let fault = Fault::indeterminate("not modified, though no version was named");
                self.page_failed(now, index, fault, |at| Stage::Occupied { at });
            }
            Err(fault) if fault.refusal() == Some(&RefusalKind::NotFound) => {
                self.page_failed(now, index, fault, |at| Stage::Ready { at });
            }
            Err(fault) => self.page_failed(now, index, fault, |at| Stage::Occupied { at }),
        }
    }

    fn page(&mut self, index: usize) -> Option<&mut Upload> {
        self.commit.proposal_mut()?.pages.pages.get_mut(index)
    }

    fn set_page(&mut self, index: usize, stage: Stage) {
        if let Some(page) = self.page(index) {
            page.stage = stage;
        }
    }

    fn page_failed(&mut self, now: Now, index: usize, fault: Fault, next: impl Fn(MonoTime) -> Stage) {
        let Some((mut failures, key)) = self.page(index).map(|page| (page.failures, page.key.clone())) else { return };
        let Some(at) = self.retry(now, &mut failures, ("storing", &key), fault) else { return };
        if let Some(page) = self.page(index) {
            (page.failures, page.stage) = (failures, next(at));
        }
    }
}
