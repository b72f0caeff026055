//! Running credential plugins, and keeping what they print.

mod credential;
mod info;
mod plugin;
mod run;
mod validity;

pub(super) use credential::Credential;
pub(super) use plugin::Plugin;
use validity::Validity;
