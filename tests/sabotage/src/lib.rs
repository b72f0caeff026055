//! Sabotages: small changes that break a behaviour on purpose, each with the tests that must fail then.
//!
//! - `sabotage.rs`: the form of a sabotage's file, and how it is read.
//! - `edit.rs`: how the code of an edit is found in a source, and replaced.
//! - `functions.rs`: the functions of a source, and how one can have several bodies.
//! - `weaver.rs`: puts many changes into the sources together, each behind a switch. The environment variable [`SWITCH`]
//!   names the one that is on.
//! - `lines.rs`: which lines of woven sources belong to which change.
//! - `broken.rs`: finds the changes that do not compile, by the lines that the compiler's errors name.

mod broken;
mod edit;
mod functions;
mod lines;
mod sabotage;
mod weaver;

pub use broken::Broken;
pub use edit::{Edit, edited};
pub use lines::Lines;
pub use sabotage::{Row, Sabotage, paths};
pub use weaver::{SWITCH, Weaver};
