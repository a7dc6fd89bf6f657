//! Fresh random bytes for every writer and reader.
use std::fmt;

/// The operating system gave no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntropyError(getrandom::Error);

impl fmt::Display for EntropyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the operating system gave no random bytes: {}", self.0)
    }
}

impl std::error::Error for EntropyError {}

#[cfg(not(shuttle))]
pub(crate) fn fresh_entropy() -> Result<[u8; 32], EntropyError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(EntropyError)?;
    Ok(bytes)
}

/// Part of the schedule, so that a schedule can be replayed.
#[cfg(shuttle)]
#[expect(clippy::unnecessary_wraps, reason = "stands in for the function above")]
pub(crate) fn fresh_entropy() -> Result<[u8; 32], EntropyError> {
    use shuttle::rand::RngCore;
    let mut bytes = [0; 32];
    shuttle::rand::thread_rng().fill_bytes(&mut bytes);
    Ok(bytes)
}
