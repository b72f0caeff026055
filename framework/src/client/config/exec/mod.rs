//! Credential plugins of a configuration: commands that print the client's credentials, as for kubectl.

mod exec_config;
mod exec_version;
mod interactive_mode;
mod policy;
mod resolve;

pub use exec_config::ExecConfig;
pub use exec_version::ExecVersion;
pub use interactive_mode::InteractiveMode;
pub use policy::ExecPolicy;

pub(super) use resolve::resolve;
