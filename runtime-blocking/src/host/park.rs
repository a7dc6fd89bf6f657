//! A waiting thread looks like a waiting task.
use crate::sync::thread::{self, Thread};
use crate::sync::{Arc, thread_local};
use std::task::{Wake, Waker};

pub(super) use crate::sync::park;

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
