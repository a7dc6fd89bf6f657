//! The shipped machines in a bad world.
mod seeded;
