//! Credential plugins of a configuration: commands that print the client's credentials, as for kubectl.

mod exec_config;
mod policy;
mod resolve;

pub use exec_config::{ExecConfig, ExecVersion, InteractiveMode};
pub use policy::ExecPolicy;

pub(super) use resolve::resolve;
