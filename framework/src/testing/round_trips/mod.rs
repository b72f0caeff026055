//! Checks the conversions between the versions of a kind with objects made from their schemas.
//!
//! | file | holds |
//! | --- | --- |
//! | `round_trips.rs` | [`round_trips`], [`RoundTrips`] and [`BrokenRoundTrip`] |
//! | `generate.rs` | objects that fit a schema |
//! | `written.rs` | what of an object its type writes again |
//! | `pattern.rs` | texts that fit a pattern |

mod generate;
#[cfg(test)]
mod generate_test;
mod pattern;
mod round_trips;
mod written;

pub use round_trips::{BrokenRoundTrip, RoundTrips, round_trips};
