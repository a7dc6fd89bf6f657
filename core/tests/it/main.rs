//! Integration tests of the core, one module per theme.
mod segment_golden;
mod support;
