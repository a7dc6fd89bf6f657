//! The writer, scenario by scenario.
use crate::scenario::play;

macro_rules! scenarios { ($($name:ident)*) => { $(
    #[test]
    fn $name() {
        play(concat!(stringify!($name), ".txt"), include_str!(concat!("../scenarios/", stringify!($name), ".txt")));
    }
)* } }

scenarios! { claim upload parts commit batch }
