//! Where every lock and thread of this crate comes from, so that a model checker's can take its place: `--cfg loom` for
//! the host alone, `--cfg shuttle` for the whole driver.
#[cfg(loom)]
use loom as system;
#[cfg(shuttle)]
use shuttle as system;
#[cfg(not(any(loom, shuttle)))]
use std as system;

use std::sync::PoisonError;
pub(crate) use std::sync::{Arc, Weak};
use std::time::Duration;
pub(crate) use system::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use system::thread;
pub(crate) use system::thread_local;

/// Locks. No state here is left half-changed by a panic, so a poisoned lock means nothing.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a notification, at most `timeout` if there is one. `guard` is of `mutex`.
pub(crate) fn wait<'a, T>(
    condvar: &Condvar,
    mutex: &'a Mutex<T>,
    guard: MutexGuard<'a, T>,
    timeout: Option<Duration>,
) -> MutexGuard<'a, T> {
    match timeout {
        None => condvar.wait(guard).unwrap_or_else(PoisonError::into_inner),
        Some(timeout) => timed::wait(condvar, mutex, guard, timeout),
    }
}

/// Waits until the thread is unparked, at most `timeout` if there is one; may end early.
pub(crate) fn park(timeout: Option<Duration>) {
    match timeout {
        None => thread::park(),
        Some(timeout) => timed::park(timeout),
    }
}

#[cfg(not(any(loom, shuttle)))]
mod timed {
    use super::{Condvar, Duration, Mutex, MutexGuard, PoisonError, thread};

    pub(super) fn wait<'a, T>(
        condvar: &Condvar,
        _: &'a Mutex<T>,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> MutexGuard<'a, T> {
        condvar.wait_timeout(guard, timeout).unwrap_or_else(PoisonError::into_inner).0
    }

    pub(super) fn park(timeout: Duration) {
        thread::park_timeout(timeout);
    }
}

/// Threads whose unparks are kept. Loom forgets one that comes while the thread waits for a lock.
#[cfg(loom)]
pub(crate) mod thread {
    use super::{Arc, Condvar, Mutex, PoisonError, lock, thread_local};
    pub(crate) use loom::thread::Builder;

    thread_local! {
        static CURRENT: Thread = Thread(Arc::new((Mutex::new(false), Condvar::new())));
    }

    #[derive(Clone)]
    pub(crate) struct Thread(Arc<(Mutex<bool>, Condvar)>);

    impl Thread {
        pub(crate) fn unpark(&self) {
            *lock(&self.0.0) = true;
            self.0.1.notify_one();
        }
    }

    pub(crate) fn current() -> Thread {
        CURRENT.with(Clone::clone)
    }

    pub(crate) fn park() {
        let Thread(state) = current();
        let mut unparked = lock(&state.0);
        while !*unparked {
            unparked = state.1.wait(unparked).unwrap_or_else(PoisonError::into_inner);
        }
        *unparked = false;
    }
}

/// Loom knows no time: what is only due later never comes.
#[cfg(loom)]
mod timed {
    use super::{Condvar, Duration, Mutex, MutexGuard, PoisonError, thread};

    pub(super) fn wait<'a, T>(
        condvar: &Condvar,
        _: &'a Mutex<T>,
        guard: MutexGuard<'a, T>,
        _: Duration,
    ) -> MutexGuard<'a, T> {
        condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn park(_: Duration) {
        thread::park();
    }

    pub(crate) fn elapsed() -> Duration {
        Duration::ZERO
    }
}

/// Time passes while somebody waits for it: each wait ends early, a part of its timeout later.
#[cfg(shuttle)]
mod timed {
    use super::{Condvar, Duration, Mutex, MutexGuard, lock, thread};
    use std::cell::Cell;

    // All threads of a schedule are coroutines of one thread of the system, so each test has a time of its own.
    std::thread_local! {
        static ELAPSED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    pub(super) fn wait<'a, T>(
        _: &Condvar,
        mutex: &'a Mutex<T>,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> MutexGuard<'a, T> {
        drop(guard);
        park(timeout);
        lock(mutex)
    }

    pub(super) fn park(timeout: Duration) {
        thread::yield_now();
        let step = (timeout / 16).clamp(Duration::from_micros(1), Duration::from_secs(1));
        ELAPSED.set(elapsed() + step);
    }

    pub(crate) fn elapsed() -> Duration {
        ELAPSED.get()
    }
}

/// Time of the model, for the clock.
#[cfg(any(loom, shuttle))]
pub(crate) use timed::elapsed;
