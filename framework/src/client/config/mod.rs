//! Where the API server is, whom to trust and who the client is.

mod auth;
#[allow(clippy::module_inception)]
mod config;
mod deadlines;
mod environment;
mod error;
mod exec;
mod impersonation;
mod kubeconfig;
mod kubeconfig_options;
mod load;
mod no_proxy;
mod port;
mod proxy;
mod proxy_variables;
mod rate_limit;
mod resolve;
mod tls;

pub use auth::Credentials;
pub use config::Config;
pub use deadlines::{Deadline, Deadlines};
pub use error::ConfigError;
pub use exec::{ExecConfig, ExecPolicy, ExecVersion, InteractiveMode};
pub use impersonation::Impersonation;
pub use kubeconfig_options::KubeconfigOptions;
pub use proxy::Proxy;

pub(crate) use port::port;
pub(crate) use proxy::{ProxyKind, ProxyUser};
pub(crate) use rate_limit::RateLimit;
pub(crate) use tls::{Identity, Pem, Roots, TlsConfig};
