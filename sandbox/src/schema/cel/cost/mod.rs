//! What rules cost: estimated when a CustomResourceDefinition is created, and counted when they are evaluated.
//!
//! The units are those of cel-go and of the server: one is about 50 ns. The estimates decide which rules a server accepts, so they are
//! the server's in every detail, including its odd ones.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `range.rs` | a smallest and a largest number |
//! | `estimate.rs` | the estimate of an expression |
//! | `call_estimate.rs` | the estimate of a call |
//! | `sizes.rs` | how large values may be, by their type and by their place in the schema |
//! | `counted.rs` | the cost of a call that was made |

mod call_estimate;
mod counted;
mod estimate;
mod range;
mod sizes;

pub(super) use counted::of_call;
pub(super) use estimate::largest;

/// The cost of creating a list.
pub(super) const LIST: u64 = 10;
/// The cost of creating a map.
pub(super) const MAP: u64 = 30;
/// The cost of creating an object.
pub(super) const OBJECT: u64 = 40;
/// The cost of reading one character.
const CHARACTER: f64 = 0.1;
/// The cost of one character of a pattern.
const PATTERN: f64 = 0.25;
/// The length of patterns of formats, as the estimate takes it.
const FORMAT_PATTERN: f64 = 128.0;
