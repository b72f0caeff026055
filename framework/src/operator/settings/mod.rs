//! Finds the value of each setting.
//!
//! Every flag of `run` and `dev`, including the user's own flags, is a setting with the same name. Its value is
//! taken from the first of these that has one: the flag, its environment variable, the file of `--config`, the
//! program's default, the framework's default. Values from the environment and the file are passed to clap as if
//! they were on the command line. So required flags, groups and value parsers of any `clap::Args` work unchanged.
//!
//! | file | holds |
//! | --- | --- |
//! | `command.rs` | the clap definition of the command line |
//! | `clash.rs` | names that two parts of a program want |
//! | `defaults.rs` | [`Defaults`]: the program's own options |
//! | `definitions.rs` | the flags and commands of `crd` |
//! | `election.rs`, `serving.rs` | the flags for the election, and for metrics and health |
//! | `manifests.rs` | the flags of `manifests`, and the arguments of the operator's container |
//! | `moving.rs` | the flags of `uninstall` and `adopt-from` |
//! | `resolve.rs` | [`Settings`]: combines flags, environment and file |
//! | `setting.rs` | one setting: its arguments, and whether it is a secret |
//! | `variables.rs`, `file.rs` | the environment variables, and [`SettingsFile`] |
//! | `origin.rs`, `print.rs` | [`Origin`] of a value, and `--print-settings` |

mod clash;
mod command;
mod defaults;
mod definitions;
mod election;
mod file;
mod image;
mod manifests;
mod moving;
mod origin;
mod print;
mod resolve;
mod serving;
mod setting;
mod variables;
mod webhooks;

#[cfg(test)]
mod tests;

pub(super) use clash::clash;
pub(super) use command::{CHECK, HANDOVER, OPERATOR_NAMESPACE, command};
pub(super) use defaults::Defaults;
pub(super) use definitions::{COMPATIBLE_WITH, INSTALL, MIGRATE};
pub(super) use election::ElectionFlags;
pub(super) use file::SettingsFile;
pub(super) use manifests::{
    CREATE_NAMESPACE, OUTPUT, POD_MONITOR, PROMETHEUS_RULE, container_arguments,
};
pub(super) use moving::{AdoptFlags, FORCE, YES};
pub(super) use origin::Origin;
pub(super) use print::print;
pub(super) use resolve::Settings;
pub(super) use serving::{MetricsAddress, ServingFlags};
pub(super) use setting::error;
pub(super) use variables::{Environment, variable};
pub(super) use webhooks::read as read_webhook_serving;
