//! Where the API server is, which authorities to trust, and which credentials to send.
//!
//! | file | holds |
//! | --- | --- |
//! | `config.rs` | [`Config`] and its setters |
//! | `load.rs` | loads a configuration: from the environment, a kubeconfig ([`KubeconfigOptions`]), or a pod |
//! | `kubeconfig.rs`, `resolve.rs` | reads and merges kubeconfigs, and chooses cluster and user |
//! | `auth.rs`, `impersonation.rs`, `exec/` | credentials, impersonation, credential plugins |
//! | `tls.rs`, `file_reloader.rs` | certificates, and files that are read again when they change |
//! | `proxy.rs`, `proxy_variables.rs`, `no_proxy.rs`, `port.rs` | proxies |
//! | `deadlines.rs`, `rate_limit.rs` | limits |
//! | `error.rs` | [`ConfigError`] |

mod auth;
mod config;
mod deadlines;
mod error;
mod exec;
mod file_reloader;
mod impersonation;
mod kubeconfig;
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
pub use load::KubeconfigOptions;
pub use proxy::Proxy;

pub(crate) use file_reloader::{FileReloader, Reading};
pub(crate) use port::port;
pub(crate) use proxy::{ProxyKind, ProxyUser};
pub(crate) use rate_limit::RateLimit;
pub(crate) use tls::{Identity, Pem, Roots, TlsConfig};
