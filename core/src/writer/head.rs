//! Reading the head, and what may be wrong with it.
use super::{Note, Writer};
use crate::boundary::{ByteRange, Command, Fault, Get, GetReply, Now, RefusalKind, Swap, SwapCondition, Version};
use crate::format::FormatError;
use crate::format::catalog::Head;
use crate::limits::MAX_HEAD_LEN;
use crate::mutant::mutant;
use crate::writer::event::HaltCause;
use bytes::Bytes;
use std::sync::Arc;

/// Why a read of the head gave no head.
pub(super) enum HeadRead {
    /// Nothing was learnt.
    Failed(Fault),
    /// What was read can't be worked with.
    Unusable(HaltCause),
}

impl Writer {
    pub(super) fn get_head(&mut self, now: Now, note: Note) -> Command {
        let get = Get::new(self.head_key.clone(), ByteRange::All, MAX_HEAD_LEN as u64);
        Command::Get(self.outstanding.issue(now, self.options.patience, note, get))
    }

    /// Starts a swap of the head, which puts off the next one.
    pub(super) fn swap_head(&mut self, now: Now, note: Note, body: Bytes, condition: SwapCondition) -> Command {
        if !mutant("commits do not keep their distance") {
            self.next_swap = now.mono.after(self.options.commit_interval.max(self.head_pace.interval()));
        }
        let swap = Swap { key: self.head_key.clone(), body, condition };
        Command::Swap(self.outstanding.issue(now, self.options.patience, note, swap))
    }

    /// The head that a read found; `None` where there is no such object.
    pub(super) fn decode_head(&mut self, result: Result<GetReply, Fault>) -> Result<Option<(Head, Version)>, HeadRead> {
        let (body, version) = match result {
            Ok(GetReply::Found { body, total_size, .. }) if body.len() as u64 != total_size => {
                return Err(HeadRead::Failed(Fault::indeterminate("the body ended early")));
            }
            Ok(GetReply::Found { body, version, .. }) => (body, version),
            Ok(GetReply::NotModified) => {
                return Err(HeadRead::Failed(Fault::indeterminate("not modified, though no version was named")));
            }
            Err(fault) if fault.refusal() == Some(&RefusalKind::NotFound) => return Ok(None),
            Err(fault) => return Err(HeadRead::Failed(fault)),
        };
        let Some(version) = version else {
            let fault = Fault::refused(RefusalKind::Unsupported, "the store gives no version with a read");
            return Err(HeadRead::Failed(fault));
        };
        let head = self.check_head(&body).map_err(HeadRead::Unusable)?;
        Ok(Some((head, version)))
    }

    fn check_head(&mut self, body: &[u8]) -> Result<Head, HaltCause> {
        let corrupt = |error: FormatError| HaltCause::Corrupt { key: self.head_name(), error };
        let head = Head::decode(body).map_err(corrupt)?;
        head.check_identity(self.keys.identity()).map_err(corrupt)?;
        if let Some(seen) = self.seen_generation
            && head.generation < seen
            && !mutant("an older head is accepted")
        {
            return Err(HaltCause::HeadRolledBack { key: self.head_name(), seen, found: head.generation });
        }
        self.seen_generation = Some(head.generation);
        Ok(head)
    }

    pub(super) fn head_name(&self) -> Arc<str> {
        self.head_key.as_str().into()
    }

    pub(super) fn head_gone(&self) -> HaltCause {
        HaltCause::HeadGone { key: self.head_name() }
    }
}
