//! Faults on request: broken and late watches, forgotten history, errors instead of answers, answers that are lost.

mod answer;
mod faults;
mod matcher;
mod watches;

pub use answer::Answer;
pub(crate) use faults::Fault;
pub use faults::Faults;
pub use matcher::RequestMatcher;
pub(crate) use watches::{End, Registration, Watches};
