//! End-to-end suites over the framework and the sandbox, and the tools they need.

mod attributes;
pub mod chromium;
pub mod containers;
pub mod gauges;
pub mod interface;
pub mod kubectl;
pub mod layers;
pub mod programs;
pub mod prometheus;
pub mod real;
pub mod served;
pub mod soak;
