//! Faults on request: broken watches, forgotten history, errors instead of answers.

mod answer;
mod faults;
mod matcher;
mod watches;

pub use answer::Answer;
pub use faults::Faults;
pub use matcher::RequestMatcher;
pub(crate) use watches::{End, Registration, Watches};
