//! The code that the Rust peers share: how they measure themselves, and the last line that they print.

pub mod allocations;
pub mod drain;
pub mod gets;
pub mod histogram;
pub mod idle;
pub mod phases;
pub mod process;
pub mod readers;
pub mod settle;
pub mod stamps;
pub mod watches;
