//! Large segments to the store, part by part, while their later blocks are still being sealed (decision 12).
use super::options::PartPolicy;
use super::parts::{Parts, Step};
use super::segment::{Object, Segment, Stage};
use super::upload::{in_parts, occupied, throttles};
use super::{Note, Writer};
use crate::boundary::{
    AbortUpload, Command, CreateReply, CreateUploadReply, Fault, MonoTime, Now, RefusalKind, UploadPartReply,
};
use crate::mutant::mutant;

impl Segment {
    fn next_step(&mut self, now: MonoTime, has_room: bool) -> Option<Step> {
        let parts = self.parts.as_mut()?;
        if let Some(step) = parts.next(now, has_room) {
            return Some(step);
        }
        match std::mem::replace(&mut self.stage, Stage::Encoding) {
            Stage::InParts { object, at } if at <= now => {
                let Some(complete) = parts.completion() else {
                    self.stage = Stage::InParts { object, at };
                    return None;
                };
                self.stage = Stage::Completing(object);
                Some(Step::Complete(complete))
            }
            other => {
                self.stage = other;
                None
            }
        }
    }

    fn step_deadline(&self, has_room: bool) -> Option<MonoTime> {
        let parts = self.parts.as_ref()?;
        let completion = match self.stage {
            Stage::InParts { at, .. } => parts.completion().map(|_| at),
            _ => None,
        };
        parts.deadline(has_room).or(completion)
    }
}

impl Writer {
    /// How segments are stored in parts, unless the store can't or nobody wants it.
    pub(super) fn part_policy(&self) -> Option<PartPolicy> {
        self.options.parts.filter(|_| !self.whole_objects)
    }

    /// The next request for an upload in parts.
    pub(super) fn poll_multipart(&mut self, now: Now) -> Option<Command> {
        let patience = self.options.patience;
        if !self.aborting
            && let Some((key, upload)) = self.to_abort.pop_front()
        {
            self.aborting = true;
            let abort = AbortUpload { key, upload };
            return Some(Command::AbortUpload(self.outstanding.issue(now, patience, Note::Abort, abort)));
        }
        let has_room = self.has_room_for_part();
        let mut segments = self.queue.iter_mut().chain(&mut self.active);
        let (serial, step) = segments.find_map(|s| s.next_step(now.mono, has_room).map(|step| (s.serial, step)))?;
        Some(match step {
            Step::Begin(create) => {
                let note = Note::BeginUpload { serial };
                Command::CreateUpload(self.outstanding.issue(now, patience, note, create))
            }
            Step::Send(part) => {
                let note = Note::Part { serial, number: part.number };
                Command::UploadPart(self.outstanding.issue(now, patience, note, part))
            }
            Step::Complete(complete) => {
                let note = Note::CompleteUpload { serial };
                Command::CompleteUpload(self.outstanding.issue(now, patience, note, complete))
            }
        })
    }

    pub(super) fn multipart_deadline(&self) -> Option<MonoTime> {
        let has_room = self.has_room_for_part();
        self.queue.iter().chain(&self.active).filter_map(|segment| segment.step_deadline(has_room)).min()
    }

    fn has_room_for_part(&self) -> bool {
        self.parts_out() < self.part_window.size()
    }

    fn parts_out(&self) -> u32 {
        let parts = self.queue.iter().chain(&self.active).filter_map(|segment| segment.parts.as_ref());
        parts.map(Parts::out).sum()
    }

    pub(super) fn upload_begun(&mut self, now: Now, serial: u64, result: Result<CreateUploadReply, Fault>) {
        let Some(parts) = self.segment_mut(serial).and_then(|segment| segment.parts.as_mut()) else { return };
        match result {
            Ok(reply) => parts.begun(reply.upload),
            Err(fault) if fault.refusal() == Some(&RefusalKind::Unsupported) => self.store_whole_objects(now),
            // An upload that was begun all the same is found by a scrub: it holds no part.
            Err(fault) => {
                let (mut failures, key) = (parts.beginning, parts.key().clone());
                let Some(at) = self.retry(now, &mut failures, ("beginning an upload", &key), fault) else { return };
                if let Some(parts) = self.segment_mut(serial).and_then(|segment| segment.parts.as_mut()) {
                    parts.beginning = failures;
                    parts.begin_again(at);
                }
            }
        }
    }

    /// The store takes no parts: everything begun is laid out again, as one object.
    fn store_whole_objects(&mut self, now: Now) {
        self.whole_objects = true;
        let begun = self.queue.iter().chain(&self.active).filter(|segment| segment.parts.is_some());
        let serials: Vec<u64> = begun.map(|segment| segment.serial).collect();
        for serial in serials {
            self.forget_parts(serial);
            self.restart_layout(now, serial);
        }
    }

    pub(super) fn part_stored(&mut self, now: Now, serial: u64, number: u16, result: Result<UploadPartReply, Fault>) {
        let Some(parts) = self.segment_mut(serial).and_then(|segment| segment.parts.as_mut()) else { return };
        let fault = match result {
            Ok(reply) => {
                parts.stored(number, reply.tag);
                return self.part_window.succeeded();
            }
            Err(fault) => fault,
        };
        if fault.refusal() == Some(&RefusalKind::NotFound) {
            parts.lose();
            return self.upload_anew(now, serial, fault);
        }
        let (mut failures, key) = (parts.failures(number), parts.key().clone());
        if throttles(&fault) {
            let others = self.parts_out().saturating_sub(1);
            self.stats.throttles += 1;
            self.part_window.throttled(others);
        } else {
            self.part_window.failed();
        }
        let Some(at) = self.retry(now, &mut failures, ("storing a part of", &key), fault) else { return };
        if let Some(parts) = self.segment_mut(serial).and_then(|segment| segment.parts.as_mut()) {
            parts.send_again(number, failures, at);
        }
    }

    pub(super) fn completed(&mut self, now: Now, serial: u64, result: Result<CreateReply, Fault>) {
        let Some(segment) = self.segment_mut(serial) else { return };
        let Stage::Completing(object) = std::mem::replace(&mut segment.stage, Stage::Encoding) else { return };
        let Err(fault) = result else { return self.stored(now, serial, &object) };
        match (&fault, fault.refusal()) {
            (Fault::Indeterminate(_), _) if mutant("a lost completion is stored") => self.stored(now, serial, &object),
            // It may have been done, or be done later.
            (Fault::Indeterminate(_), _) => self.upload_failed(now, serial, object, fault, occupied),
            (_, Some(RefusalKind::Precondition)) => segment.stage = Stage::Occupied { object, at: now.mono },
            (_, Some(RefusalKind::NotFound)) if mutant("the completion of a vanished upload is stored") => {
                self.stored(now, serial, &object);
            }
            // Completed by an earlier attempt, or thrown away; or a late part took the place of its twin.
            (_, Some(RefusalKind::NotFound | RefusalKind::Invalid)) => {
                if let Some(parts) = &mut segment.parts {
                    parts.lose();
                }
                segment.stage = Stage::Occupied { object, at: now.mono };
            }
            (_, Some(RefusalKind::Conflict)) if mutant("a 409 on completion means stored") => {
                self.stored(now, serial, &object);
            }
            (_, Some(RefusalKind::Conflict)) => {
                segment.stage = Stage::InParts { object, at: now.mono };
                self.upload_anew(now, serial, fault);
            }
            _ => self.upload_failed(now, serial, object, fault, in_parts),
        }
    }

    /// The key was looked at after a completion in doubt, and is free.
    pub(super) fn complete_again(&mut self, now: Now, serial: u64, object: Object, fault: Fault) {
        let is_lost = |segment: &Segment| segment.parts.as_ref().is_some_and(Parts::is_lost);
        if !self.segment(serial).is_some_and(is_lost) {
            return self.upload_failed(now, serial, object, fault, in_parts);
        }
        if let Some(segment) = self.segment_mut(serial) {
            segment.stage = Stage::InParts { object, at: now.mono };
        }
        self.upload_anew(now, serial, fault);
    }

    /// Sends all parts to another upload, under the same key.
    fn upload_anew(&mut self, now: Now, serial: u64, fault: Fault) {
        self.forget_parts(serial);
        let Some(parts) = self.segment(serial).and_then(|segment| segment.parts.as_ref()) else { return };
        let (mut failures, key) = (parts.losses, parts.key().clone());
        let Some(at) = self.persist(now, &mut failures, ("storing in parts", &key), fault) else { return };
        if let Some(parts) = self.segment_mut(serial).and_then(|segment| segment.parts.as_mut()) {
            parts.losses = failures;
            let old = parts.restart(at);
            self.to_abort.extend(old);
        }
    }

    /// No answer to the requests of an upload that was given up is of interest.
    fn forget_parts(&mut self, of: u64) {
        let is_part = |note: &Note| match note {
            Note::Part { serial, .. } | Note::BeginUpload { serial } => *serial == of,
            _ => false,
        };
        self.outstanding.forget(is_part);
    }
}
