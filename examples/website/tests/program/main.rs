//! The program as its users run it: each test starts it as a process.

mod bad_input;
mod completions;
mod dev;
mod elected;
mod kubectl;
mod log;
mod prometheus;
mod run;
mod served;
mod story;
#[cfg(feature = "otel")]
mod traces;
