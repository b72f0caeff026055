//! End-to-end suites over the framework and the sandbox, and the tools they need.

pub mod layers;
pub mod real;
pub mod soak;
