//! What a reader's host knows beside its machine.
use crate::host::{Help, Host, News, Role};
use bucketlog_core::reader::{Answer, CallId, ReadError, Reader as Machine, ReaderEvent};
use std::collections::BTreeMap;
use std::task::{Poll, Waker};

pub(super) type ReaderHost = Host<ReaderRole>;

/// The calls that somebody waits for.
#[derive(Debug, Default)]
pub(crate) struct ReaderRole {
    calls: BTreeMap<CallId, State>,
}

#[derive(Debug)]
enum State {
    Waiting(Option<Waker>),
    Done(Result<Answer, ReadError>),
}

impl ReaderRole {
    pub(super) fn begin(&mut self, call: CallId) -> CallId {
        self.calls.insert(call, State::Waiting(None));
        call
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
            ReaderEvent::Done { call, result } => {
                if let Some(state) = self.calls.get_mut(&call)
                    && let State::Waiting(waker) = std::mem::replace(state, State::Done(result))
                {
                    news.wakers.extend(waker);
                }
            }
            ReaderEvent::Metric(metric) => news.metrics.push(metric),
            _ => {}
        }
    }
}
