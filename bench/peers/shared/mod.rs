//! What the peers in Rust share: how they measure themselves, and the line that they end with.

pub mod allocations;
pub mod drain;
pub mod histogram;
pub mod phases;
pub mod process;
pub mod readers;
pub mod settle;
pub mod stamps;
pub mod watches;
