//! What can go wrong, and how likely it is in one run.
use super::step::Move;
use crate::action::How;
use crate::choice::Random;

/// Something that a trial can leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peril {
    /// A fate of a request other than [`How::Done`].
    Answer(How),
    /// A move of the world.
    Move(Move),
}

impl From<How> for Peril {
    fn from(how: How) -> Self {
        Self::Answer(how)
    }
}

impl From<Move> for Peril {
    fn from(what: Move) -> Self {
        Self::Move(what)
    }
}

impl Peril {
    fn all() -> impl Iterator<Item = Self> {
        let hows = How::ALL.iter().filter(|how| **how != How::Done).copied().map(Self::Answer);
        let is_calm = |what: &Move| calm(*what) > 0;
        hows.chain(Move::ALL.iter().filter(move |what| !is_calm(what)).copied().map(Self::Move))
    }

    /// Damaged bytes are beyond what most programs can bear: they are in few runs.
    fn is_rare(self) -> bool {
        matches!(self, Self::Answer(How::Short | How::Flipped))
    }

    /// The weight of a light dose.
    fn light(self) -> u32 {
        match self {
            Self::Move(Move::Land | Move::Thaw | Move::Lose | Move::Repeat) => 6,
            Self::Answer(How::Short | How::Flipped) | Self::Move(_) => 1,
            Self::Answer(_) => 3,
        }
    }
}

/// The weight of a move in a world without faults.
fn calm(what: Move) -> u32 {
    match what {
        Move::Wake => 10,
        Move::Tick => 16,
        Move::Deliver => 30,
        Move::Restart => 8,
        _ => 0,
    }
}

/// How likely each kind of step is, relative to the others. Each run draws its own and leaves many faults out, because
/// a run with all faults at once never gets anywhere deep.
#[derive(Clone, Debug)]
pub(super) struct Doses {
    hows: [u32; How::ALL.len()],
    moves: [u32; Move::ALL.len()],
}

impl Doses {
    pub(super) fn draw(random: &mut Random, left_out: &[Peril]) -> Self {
        let mut doses = Self { hows: [0; How::ALL.len()], moves: [0; Move::ALL.len()] };
        doses.hows[How::Done as usize] = 40;
        for what in Move::ALL {
            doses.moves[*what as usize] = calm(*what);
        }
        for peril in Peril::all() {
            // Drawn even if it is left out, so that the rest of the run stays the same.
            let weight = match random.below(if peril.is_rare() { 32 } else { 8 }) {
                0..=2 => peril.light(),
                3 => 3 * peril.light(),
                4 => 10 * peril.light(),
                _ => 0,
            };
            if !left_out.contains(&peril) {
                doses.set(peril, weight);
            }
        }
        if doses.of(Move::Freeze.into()) > 0 {
            doses.set(Move::Thaw.into(), Peril::from(Move::Thaw).light());
        }
        doses
    }

    fn set(&mut self, peril: Peril, weight: u32) {
        match peril {
            Peril::Answer(how) => self.hows[how as usize] = weight,
            Peril::Move(what) => self.moves[what as usize] = weight,
        }
    }

    pub(super) fn of(&self, peril: Peril) -> u32 {
        match peril {
            Peril::Answer(how) => self.hows[how as usize],
            Peril::Move(what) => self.moves[what as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_has_no_weight_and_changes_no_other() {
        for seed in 0..50 {
            let all = Doses::draw(&mut Random::new(seed), &[]);
            let some = Doses::draw(&mut Random::new(seed), &[Move::Crash.into(), How::Lost.into()]);
            for peril in Peril::all() {
                let is_left_out = [Peril::Move(Move::Crash), Peril::Answer(How::Lost)].contains(&peril);
                assert_eq!(some.of(peril), if is_left_out { 0 } else { all.of(peril) }, "{peril:?}");
            }
        }
    }

    #[test]
    fn what_freezes_can_thaw() {
        for seed in 0..200 {
            let doses = Doses::draw(&mut Random::new(seed), &[]);
            assert!(doses.of(Move::Freeze.into()) == 0 || doses.of(Move::Thaw.into()) > 0, "seed {seed}");
        }
    }
}
