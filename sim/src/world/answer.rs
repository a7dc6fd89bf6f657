//! What becomes of a request, and what its sender is told.
use super::pace::is_segment;
use super::{Flight, Site, Stray, World, subject};
use crate::action::{How, Kind};
use crate::check::Violation;
use crate::news::News;
use crate::store::Reply;
use bucketlog_core::boundary::{Command, Completion, Fault, GetReply, RefusalKind};
use bytes::Bytes;
use std::time::Duration;

pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(2);

impl World {
    pub(super) fn answer(
        &mut self,
        site: u8,
        position: usize,
        how: How,
        news: &mut Vec<News>,
    ) -> Result<(), Violation> {
        let flight = self.sites[usize::from(site)].flights.remove(position);
        let kind = flight.kind;
        // Of the parts of one object each has a wait of its own, and an upload is thrown away once.
        let is_awaited = kind.is_write() && !matches!(kind, Kind::Part | Kind::AbortUpload) && !flight.given_up;
        if how == How::RetryAfter && is_awaited {
            let (_, about) = subject(&flight.command)?;
            let found = &mut self.sites[usize::from(site)];
            found.put_off.insert((kind, about), found.now.mono.after(RETRY_AFTER));
        }
        let how = if how == How::Done && self.is_too_soon(site, &flight) { How::Throttled } else { how };
        news.push(News::Fate { site, kind, how });
        if how != How::Done && !flight.given_up {
            self.sites[usize::from(site)].told(&flight, how, false);
        }
        if how != How::Done && self.setup.budgets_end() {
            let found = &mut self.sites[usize::from(site)];
            found.excuses.hardship.add(found.now.mono);
        }
        self.sites[usize::from(site)].excuses.doubt |= leaves_doubt(how) && kind == Kind::Swap;
        let completion = match how {
            How::Done | How::Short | How::Flipped => self.execute(site, flight, how, news)?,
            How::Lost => {
                self.reach(site, flight.author, &flight.command, false, news)?;
                flight.command.fail(Fault::indeterminate("the answer was lost"))
            }
            How::Mute => {
                self.reach(site, flight.author, &flight.command, false, news)?;
                None
            }
            How::Astray => {
                self.stray_away(site, &flight);
                flight.command.fail(Fault::indeterminate("the connection was reset"))
            }
            How::Dropped => {
                self.stray_away(site, &flight);
                None
            }
            How::ServerError => flight.command.fail(Fault::indeterminate("internal error [status 500]")),
            How::NotSent => flight.command.fail(Fault::not_sent("no route")),
            How::Conflict => flight.command.fail(Fault::refused(RefusalKind::Conflict, "409")),
            How::Throttled => flight.command.fail(Fault::refused(RefusalKind::Throttled(None), "503")),
            How::RetryAfter => flight.command.fail(Fault::refused(RefusalKind::Throttled(Some(RETRY_AFTER)), "429")),
        };
        self.tell(site, kind, completion, news)
    }

    /// Executes a request and makes its answer, with damage where that is its fate.
    fn execute(
        &mut self,
        site: u8,
        flight: Flight,
        how: How,
        news: &mut Vec<News>,
    ) -> Result<Option<Completion>, Violation> {
        let reply = self.reach(site, flight.author, &flight.command, flight.given_up, news)?;
        if how == How::Done && !flight.given_up {
            self.sites[usize::from(site)].told(&flight, how, reply.fault().is_none());
        }
        let is_head = self.is_about_head(&flight.command) && reply.fault().is_none();
        // Who follows a tree that is replaced meanwhile, or looks for a head that was deleted, fails without a fault.
        let is_lasting = self.is_about_head(&flight.command) && !self.log.was_deleted();
        let is_missing = reply.fault().is_some() && flight.kind == Kind::Get && !is_lasting;
        if is_missing && self.setup.budgets_end() {
            let found = &mut self.sites[usize::from(site)];
            found.excuses.hardship.add(found.now.mono);
        }
        if let Some(RefusalKind::Precondition) = reply.fault().and_then(Fault::refusal)
            && flight.kind == Kind::Create
        {
            news.push(News::Rule("create found its key taken"));
        }
        let excuses = &mut self.sites[usize::from(site)].excuses;
        if how != How::Done {
            excuses.damage = true;
            return Ok(damaged(reply, how).answer(flight.command));
        }
        if is_head && !flight.given_up {
            let generation = self.log.head().map_or_else(Default::default, |head| head.generation);
            excuses.seen = excuses.seen.max(Some(generation));
        }
        Ok(reply.answer(flight.command))
    }

    /// A store that takes one write a second of a key refuses this one.
    fn is_too_soon(&self, site: u8, flight: &Flight) -> bool {
        let Site { now, wrote_head, .. } = &self.sites[usize::from(site)];
        let is_soon = wrote_head.is_some_and(|last| now.mono.since(last) < Duration::from_secs(1));
        self.setup.is_paced() && flight.kind == Kind::Swap && is_soon
    }

    fn tell(
        &mut self,
        site: u8,
        kind: Kind,
        completion: Option<Completion>,
        news: &mut Vec<News>,
    ) -> Result<(), Violation> {
        let found = &mut self.sites[usize::from(site)];
        if let Some(completion) = completion {
            found.role.answered(kind);
            found.role.complete(found.now, completion);
        }
        if found.frozen { Ok(()) } else { self.poll(site, news) }
    }

    fn stray_away(&mut self, site: u8, flight: &Flight) {
        let Flight { command, kind, author, .. } = flight.clone();
        self.stray(Stray { command, kind, site, author });
    }

    fn is_about_head(&self, command: &Command) -> bool {
        match command {
            Command::Get(op) => op.request().key == self.head_key,
            Command::Swap(op) => op.request().key == self.head_key,
            _ => false,
        }
    }
}

impl Site {
    fn told(&mut self, flight: &Flight, how: How, is_good: bool) {
        if flight.kind != Kind::Swap || self.role.is_open() {
            // Who stands still may learn first that it took over from itself, and forget what was under way.
            let counts = is_segment(flight) && !(self.frozen && is_throttle(how));
            self.pace.told(flight.kind, counts, how, is_good);
        }
    }
}

pub(super) fn is_throttle(how: How) -> bool {
    matches!(how, How::Throttled | How::RetryAfter)
}

/// Whether the sender can't know what became of a request.
fn leaves_doubt(how: How) -> bool {
    matches!(how, How::Lost | How::Astray | How::ServerError | How::Mute | How::Dropped)
}

pub(crate) fn damaged(reply: Reply, how: How) -> Reply {
    match reply {
        Reply::Get(Ok(GetReply::Found { body, version, total_size })) => {
            let body = if how == How::Short { body.slice(..body.len() / 2) } else { flipped(&body) };
            Reply::Get(Ok(GetReply::Found { body, version, total_size }))
        }
        other => other,
    }
}

fn flipped(body: &Bytes) -> Bytes {
    let mut bytes = body.to_vec();
    let middle = bytes.len() / 2;
    if let Some(byte) = bytes.get_mut(middle) {
        *byte ^= 0x10;
    }
    bytes.into()
}
