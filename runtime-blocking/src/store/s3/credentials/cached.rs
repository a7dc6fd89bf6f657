//! Keys kept between requests.
use super::{Credentials, Keys, NoKeys};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Keys are asked for anew so long before their end, or halfway to it.
const AHEAD: Duration = Duration::from_secs(300);
/// Pause after an answer that did not come, while the old keys still hold.
const PAUSE: Duration = Duration::from_secs(10);

/// Asks a source once, and again ahead of the keys' end; one caller asks for all.
#[derive(Debug)]
pub(in crate::store::s3) struct Cached {
    source: Arc<dyn Credentials>,
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The last answer; the inner `None` is anonymous.
    #[expect(clippy::option_option, reason = "no answer yet, and the answer that there are no keys")]
    known: Option<Option<Keys>>,
    /// When to ask anew; `None` if the keys do not end.
    ask_at: Option<SystemTime>,
    asking: bool,
}

impl State {
    /// The known answer if it holds at this time.
    #[expect(clippy::option_option, reason = "no answer yet, and the answer that there are no keys")]
    fn valid(&self, now: SystemTime) -> Option<Option<Keys>> {
        let ended = |keys: &Keys| keys.expires.is_some_and(|end| end <= now);
        self.known.clone().filter(|known| !known.as_ref().is_some_and(ended))
    }

    /// Whether to ask anew, though the known keys may still hold.
    fn is_due(&self, now: SystemTime) -> bool {
        self.ask_at.is_some_and(|at| at <= now)
    }

    fn learn(&mut self, keys: Option<&Keys>, now: SystemTime) {
        let ahead = |end: SystemTime| end - AHEAD.min(end.duration_since(now).unwrap_or_default() / 2);
        self.ask_at = keys.and_then(|keys| keys.expires).map(ahead);
        self.known = Some(keys.cloned());
    }
}

impl Cached {
    pub(in crate::store::s3) fn new(source: Arc<dyn Credentials>) -> Self {
        Self { source, state: Mutex::default(), answered: Condvar::new() }
    }

    /// Keys that hold at `now`. Whoever finds them near their end asks; the others go on with the old ones, and wait
    /// only where those have ended.
    pub(in crate::store::s3) fn keys(&self, now: SystemTime, until: Instant) -> Result<Option<Keys>, NoKeys> {
        let mut state = self.lock();
        loop {
            let valid = state.valid(now);
            let due = valid.is_none() || state.is_due(now);
            match valid {
                _ if due && !state.asking => {
                    state.asking = true;
                    drop(state);
                    return self.ask(now, until);
                }
                Some(keys) => return Ok(keys),
                None => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(NoKeys("another caller still asks for them".to_owned()));
            }
            state = self.answered.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Keys that hold at `now` and need no asking, or for which another caller asks already; never waits for a source.
    #[expect(clippy::option_option, reason = "no answer yet, and the answer that there are no keys")]
    pub(in crate::store::s3) fn known(&self, now: SystemTime) -> Option<Option<Keys>> {
        let state = self.lock();
        state.valid(now).filter(|_| state.asking || !state.is_due(now))
    }

    /// Forgets keys that the store called expired, so that the next request asks anew.
    pub(in crate::store::s3) fn forget(&self) {
        self.lock().known = None;
    }

    fn ask(&self, now: SystemTime, until: Instant) -> Result<Option<Keys>, NoKeys> {
        let _end = EndOfAsking(self);
        let answer = self.source.keys(until);
        let mut state = self.lock();
        match answer {
            Ok(keys) => {
                state.learn(keys.as_ref(), now);
                Ok(keys)
            }
            Err(error) => {
                state.ask_at = Some(now + PAUSE);
                state.valid(now).ok_or(error)
            }
        }
    }

    // Every change is an assignment.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Also after a panic of the source nobody waits for an answer that will not come.
struct EndOfAsking<'a>(&'a Cached);

impl Drop for EndOfAsking<'_> {
    fn drop(&mut self) {
        self.0.lock().asking = false;
        self.0.answered.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::s3::soon;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    use std::sync::{Barrier, mpsc};
    use std::thread;

    /// A source that counts, gives keys that end at `end` seconds, and can be made to fail.
    #[derive(Debug, Default)]
    struct Source {
        asked: AtomicU64,
        end: AtomicU64,
        meeting: Option<Barrier>,
    }

    impl Credentials for Source {
        fn keys(&self, _until: Instant) -> Result<Option<Keys>, NoKeys> {
            let asked = self.asked.fetch_add(1, SeqCst) + 1;
            if let Some(meeting) = &self.meeting {
                meeting.wait();
                meeting.wait();
            }
            match self.end.load(SeqCst) {
                0 => Err(NoKeys("out of order".to_owned())),
                end => Ok(Some(Keys { expires: Some(at(end)), ..Keys::new(format!("key {asked}"), "S") })),
            }
        }
    }

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn cached(end: u64, meeting: Option<Barrier>) -> (Arc<Source>, Arc<Cached>) {
        let source = Arc::new(Source { end: AtomicU64::new(end), meeting, ..Source::default() });
        (Arc::clone(&source), Arc::new(Cached::new(source)))
    }

    fn name(cached: &Cached, now: u64) -> Result<String, NoKeys> {
        cached.keys(at(now), soon()).map(|keys| keys.unwrap().access_key)
    }

    #[test]
    fn g01_keys_are_asked_for_ahead_of_their_end_and_not_before() {
        let (source, cached) = cached(3600, None);
        for (now, expected) in [(0, "key 1"), (3299, "key 1"), (3300, "key 2"), (3301, "key 2")] {
            assert_eq!(name(&cached, now).unwrap(), expected, "at {now}");
            source.end.store(7200, SeqCst);
        }
    }

    #[test]
    fn keys_of_a_short_life_are_asked_for_halfway() {
        let (source, cached) = cached(60, None);
        for (now, expected) in [(0, 1), (29, 1), (30, 2)] {
            name(&cached, now).unwrap();
            assert_eq!(source.asked.load(SeqCst), expected, "at {now}");
        }
    }

    #[test]
    fn an_answer_that_does_not_come_matters_only_when_the_old_keys_have_ended() {
        let (source, cached) = cached(3600, None);
        name(&cached, 0).unwrap();
        source.end.store(0, SeqCst);
        for (now, asked) in [(3300, 2), (3309, 2), (3310, 3), (3599, 4)] {
            assert_eq!(name(&cached, now).unwrap(), "key 1");
            assert_eq!(source.asked.load(SeqCst), asked, "at {now}");
        }
        assert_eq!(name(&cached, 3600), Err(NoKeys("out of order".to_owned())));
    }

    #[test]
    fn g01_one_caller_asks_for_all_and_the_others_use_the_old_keys() {
        let (source, cached) = cached(3600, Some(Barrier::new(2)));
        let (told, names) = mpsc::channel();
        let ask = |now| {
            let (cached, told) = (Arc::clone(&cached), told.clone());
            thread::spawn(move || told.send(name(&cached, now).unwrap()).unwrap())
        };
        let meeting = source.meeting.as_ref().unwrap();
        ask(0);
        meeting.wait();
        for _ in 0..8 {
            ask(0);
        }
        meeting.wait();
        assert_eq!(names.iter().take(9).collect::<Vec<_>>(), vec!["key 1"; 9]);
        ask(3300);
        meeting.wait();
        ask(3300);
        assert_eq!(names.recv().unwrap(), "key 1", "whoever does not ask does not wait");
        meeting.wait();
        assert_eq!(names.recv().unwrap(), "key 2");
    }

    #[test]
    fn forgotten_keys_are_asked_for_at_once() {
        let (_source, cached) = cached(3600, None);
        assert_eq!(name(&cached, 0).unwrap(), "key 1");
        cached.forget();
        assert_eq!(name(&cached, 1).unwrap(), "key 2");
    }
}
