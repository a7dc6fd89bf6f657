//! The translation from outside.
mod exchanges;
mod kit;
mod secrets;
mod signing;
mod total;
