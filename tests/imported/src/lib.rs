//! Types that `cargo pilothouse import` writes for kinds of well-known projects.
//!
//! The folder `data` has definitions and samples of these projects. `build.rs` writes the types with the sources of the tool, so that each build
//! compiles what the tool writes. The tests in `tests/kinds` read and write objects with them.
//!
//! | file | holds |
//! | --- | --- |
//! | `project.rs` | [`Project`]: a file of `data` |
//! | `kind.rs` | [`Kind`]: what the tests do with a type |
//! | the build | `own` and `foreign`: the types; [`kinds`]: a list of them |

// The names and comments of the types are those of the definitions.
#![allow(clippy::all)]

mod kind;
mod project;

pub use kind::Kind;
pub use project::{Project, Sample};

include!(concat!(env!("OUT_DIR"), "/imported.rs"));
