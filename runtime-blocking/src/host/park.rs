//! A waiting thread looks like a waiting task.
use crate::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

thread_local! {
    static WAKER: Waker = Waker::from(Arc::new(Unpark(thread::current())));
}

/// Ends the current thread's [`park`], also one that begins later.
pub(super) fn waker() -> Waker {
    WAKER.with(Waker::clone)
}

/// Waits for the thread's waker; may end early.
pub(super) fn park(timeout: Option<Duration>) {
    match timeout {
        None => thread::park(),
        Some(timeout) => thread::park_timeout(timeout),
    }
}
