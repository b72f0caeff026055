//! Faults that a test injects: broken and held watches, a compacted history, error responses, lost and late responses, clients that are cut off.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `faults.rs` | [`Faults`], the interface |
//! | `matcher.rs` | [`RequestMatcher`] |
//! | `answer.rs` | [`Answer`] |
//! | `watches.rs` | the running watches |

mod answer;
mod faults;
mod matcher;
mod watches;

pub use answer::Answer;
pub(crate) use faults::Fault;
pub use faults::Faults;
pub use matcher::RequestMatcher;
pub(crate) use watches::{End, Registration, Watches};
