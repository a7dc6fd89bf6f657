//! What a reader's host knows beside its machine.
use crate::host::{Help, Host, News, Role};
use bucketlog_core::boundary::{Fault, Key};
use bucketlog_core::reader::{Answer, CallId, ReadError, Reader as Machine, ReaderEvent};
use std::collections::BTreeMap;
use std::task::{Poll, Waker};

pub(super) type ReaderHost = Host<ReaderRole>;

/// The calls that somebody waits for.
#[derive(Debug)]
pub(crate) struct ReaderRole {
    calls: BTreeMap<CallId, State>,
    head: Key,
    ended: bool,
}

#[derive(Debug)]
enum State {
    Waiting(Option<Waker>),
    Done(Result<Answer, ReadError>),
}

impl ReaderRole {
    pub(super) fn new(head: Key) -> Self {
        Self { calls: BTreeMap::new(), head, ended: false }
    }

    pub(super) fn begin(&mut self, machine: &mut Machine, issue: impl FnOnce(&mut Machine) -> CallId) -> CallId {
        let call = issue(machine);
        self.calls.insert(call, State::Waiting(None));
        if self.ended {
            let _ = self.give_up(machine, call);
        }
        call
    }

    /// Answers a call without the machine; gives whom to wake.
    fn give_up(&mut self, machine: &mut Machine, call: CallId) -> Option<Waker> {
        machine.cancel(call);
        let fault = Fault::not_sent("the log was shut down");
        let error = ReadError::Unreachable { key: self.head.clone(), attempts: 0, fault };
        self.answer(call, Err(error))
    }

    fn answer(&mut self, call: CallId, result: Result<Answer, ReadError>) -> Option<Waker> {
        let State::Waiting(waker) = self.calls.get_mut(&call)? else { return None };
        let waker = waker.take();
        self.calls.insert(call, State::Done(result));
        waker
    }

    pub(super) fn poll(&mut self, call: CallId, waker: Option<&Waker>) -> Poll<Result<Answer, ReadError>> {
        if let Some(State::Done(result)) = self.calls.remove(&call) {
            return Poll::Ready(result);
        }
        self.calls.insert(call, State::Waiting(waker.cloned()));
        Poll::Pending
    }

    pub(super) fn forget(&mut self, call: CallId) {
        self.calls.remove(&call);
    }
}

impl Role for ReaderRole {
    type Machine = Machine;
    const HELP: Help = Help::Always;

    fn on_event(&mut self, event: ReaderEvent, news: &mut News) {
        match event {
            ReaderEvent::Done { call, result } => news.wakers.extend(self.answer(call, result)),
            ReaderEvent::Metric(metric) => news.metrics.push(metric),
            _ => {}
        }
    }

    fn end(&mut self, machine: &mut Machine, news: &mut News) {
        self.ended = true;
        let calls: Vec<_> = self.calls.keys().copied().collect();
        news.wakers.extend(calls.into_iter().filter_map(|call| self.give_up(machine, call)));
    }
}
