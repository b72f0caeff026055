//! Checks the conversions between the versions of a kind with objects made from their schemas.
//!
//! | file | holds |
//! | --- | --- |
//! | `round_trips.rs` | [`round_trips`], [`RoundTrips`] and [`BrokenRoundTrip`] |
//! | `generate.rs` | objects that fit a schema |
//! | `pattern.rs` | texts that fit a pattern |

mod generate;
mod pattern;
mod round_trips;

pub use round_trips::{BrokenRoundTrip, RoundTrips, round_trips};
