//! The shipped machines in a bad world.
mod corpus;
mod exhaustive;
mod linear;
mod seeded;
