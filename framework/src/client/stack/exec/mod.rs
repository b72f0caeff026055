//! Running credential plugins, and keeping what they print.

mod credential;
mod info;
mod plugin;
mod run;

pub(super) use credential::Credential;
pub(super) use plugin::Plugin;
