//! Subresources: any by its name, and those that only some kinds have, on those kinds alone.

mod any;
mod approval;
mod cordon;
mod pod;
mod restart;
mod scale;
mod status;
mod token;

pub use restart::Restart;
