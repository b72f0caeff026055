//! Where a setting's value comes from.
//!
//! Every flag of `run` and `dev`, the user's own included, is a setting of the same name. Its value is that of the
//! flag; else that of its environment variable; else that of the file given by `--config`; else the program's own
//! default; else the framework's. What the environment and the file say reaches clap as if it stood on the command
//! line, so that required flags, groups and value parsers of any `clap::Args` work with them unchanged.

mod election;
mod file;
mod grammar;
mod origin;
mod print;
mod resolve;
mod serving;
mod setting;
mod variables;

#[cfg(test)]
mod tests;

pub(super) use election::ElectionFlags;
pub(super) use file::SettingsFile;
pub(super) use grammar::{Defaults, MetricsAddress, command};
pub(super) use origin::Origin;
pub(super) use print::print;
pub(super) use resolve::Settings;
pub(super) use serving::ServingFlags;
pub(super) use variables::Environment;
