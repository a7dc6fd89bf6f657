//! A cache that forgets what was used longest ago.
use std::collections::BTreeMap;

/// Values up to a sum of bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lru<K, V> {
    budget: usize,
    used: usize,
    clock: u64,
    slots: BTreeMap<K, Slot<V>>,
    by_age: BTreeMap<u64, K>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Slot<V> {
    value: V,
    bytes: usize,
    touched: u64,
}

impl<K: Copy + Ord, V: Clone> Lru<K, V> {
    /// An empty cache for at most `budget` bytes.
    pub(super) fn new(budget: usize) -> Self {
        Self { budget, used: 0, clock: 0, slots: BTreeMap::new(), by_age: BTreeMap::new() }
    }

    /// The value, which becomes the youngest.
    pub(super) fn get(&mut self, key: &K) -> Option<V> {
        let slot = self.slots.get_mut(key)?;
        if slot.touched != self.clock {
            self.by_age.remove(&slot.touched);
            self.clock += 1;
            slot.touched = self.clock;
            self.by_age.insert(self.clock, *key);
        }
        Some(slot.value.clone())
    }

    /// Keeps a value that takes `bytes`; one larger than the whole budget is not kept.
    pub(super) fn put(&mut self, key: K, value: V, bytes: usize) {
        self.remove(&key);
        if bytes > self.budget {
            return;
        }
        self.clock += 1;
        self.used += bytes;
        self.slots.insert(key, Slot { value, bytes, touched: self.clock });
        self.by_age.insert(self.clock, key);
        while self.used > self.budget {
            let Some((_, oldest)) = self.by_age.pop_first() else { break };
            self.drop_slot(&oldest);
        }
    }

    /// Bytes kept.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    fn remove(&mut self, key: &K) {
        if let Some(touched) = self.drop_slot(key) {
            self.by_age.remove(&touched);
        }
    }

    fn drop_slot(&mut self, key: &K) -> Option<u64> {
        let slot = self.slots.remove(key)?;
        self.used -= slot.bytes;
        Some(slot.touched)
    }
}

#[cfg(test)]
mod tests {
    use super::Lru;

    #[test]
    fn the_value_used_longest_ago_goes_first() {
        let mut cache = Lru::new(10);
        cache.put(1, 'a', 5);
        cache.put(2, 'b', 5);
        assert_eq!(cache.get(&1), Some('a'));
        cache.put(3, 'c', 5);
        assert_eq!((cache.get(&1), cache.get(&2), cache.get(&3)), (Some('a'), None, Some('c')));
        assert_eq!(cache.used(), 10);
    }

    #[test]
    fn a_value_above_the_budget_is_not_kept_and_evicts_nothing() {
        let mut cache = Lru::new(10);
        cache.put(1, 'a', 10);
        cache.put(2, 'b', 11);
        assert_eq!((cache.get(&1), cache.get(&2)), (Some('a'), None));
    }

    #[test]
    fn a_replaced_value_is_counted_once() {
        let mut cache = Lru::new(10);
        cache.put(1, 'a', 8);
        cache.put(1, 'b', 3);
        assert_eq!((cache.get(&1), cache.used()), (Some('b'), 3));
    }
}
