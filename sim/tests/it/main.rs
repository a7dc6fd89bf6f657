//! The shipped machines in a bad world.
mod cases;
mod corpus;
mod exhaustive;
mod linear;
#[cfg(feature = "mutants")]
mod mutants;
mod seeded;
#[cfg(feature = "blocking")]
mod service;
mod trial;
