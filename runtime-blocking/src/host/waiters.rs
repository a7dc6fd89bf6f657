//! Wakers of those who wait, in the order in which they will be done.
use std::collections::BTreeMap;
use std::task::Waker;

/// Names one waiter among those with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WaiterId(u64);

/// Wakers ordered by what they wait for, so that news wakes only those whom it concerns.
#[derive(Debug)]
pub(crate) struct Waiters<K> {
    next: u64,
    wakers: BTreeMap<(K, WaiterId), Waker>,
}

impl<K: Ord + Copy> Waiters<K> {
    pub(crate) fn new() -> Self {
        Self { next: 0, wakers: BTreeMap::new() }
    }

    /// Registers a waiter, or refreshes the waker of one that is registered as `id`.
    pub(crate) fn register(&mut self, key: K, id: &mut Option<WaiterId>, waker: &Waker) {
        let id = *id.get_or_insert_with(|| {
            self.next += 1;
            WaiterId(self.next)
        });
        self.wakers.entry((key, id)).and_modify(|known| known.clone_from(waker)).or_insert_with(|| waker.clone());
    }

    /// Forgets a waiter that no longer waits.
    pub(crate) fn forget(&mut self, key: K, id: WaiterId) {
        self.wakers.remove(&(key, id));
    }

    /// Takes out everyone whose key is at most `done`.
    pub(crate) fn release(&mut self, done: K, woken: &mut Vec<Waker>) {
        while let Some(first) = self.wakers.first_entry()
            && first.key().0 <= done
        {
            woken.push(first.remove());
        }
    }

    /// Takes out everyone.
    pub(crate) fn release_all(&mut self, woken: &mut Vec<Waker>) {
        woken.extend(std::mem::take(&mut self.wakers).into_values());
    }

    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn len(&self) -> usize {
        self.wakers.len()
    }
}
