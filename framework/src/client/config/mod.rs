//! Where the API server is, whom to trust and who the client is.

mod auth;
#[allow(clippy::module_inception)]
mod config;
mod environment;
mod error;
mod exec;
mod impersonation;
mod kubeconfig;
mod kubeconfig_options;
mod load;
mod resolve;
mod tls;

pub use auth::Credentials;
pub use config::Config;
pub use error::ConfigError;
pub use exec::{ExecConfig, ExecVersion, InteractiveMode};
pub use impersonation::Impersonation;
pub use kubeconfig_options::KubeconfigOptions;

pub(crate) use tls::{Identity, Pem, TlsConfig};
