//! Everything between a program and its API server.
//!
//! * [`Config`] says where the server is, whom to trust and who the client is. It is loaded as
//!   kubectl loads it, or written by hand.
//! * [`Client`] sends requests: over HTTP/2 or HTTP/1.1, with TLS by rustls, through a stack of
//!   tower layers, on a pool of connections in which watches and requests never meet.
//! * [`Api`] is the objects of one kind, with the verbs of the API: typed for kinds known at compile
//!   time, with [`DynamicObject`](crate::resource::DynamicObject) for the others.
//! * [`pods`] is what only Pods have: logs, processes, ports.
//! * [`RestMapper`] maps names and manifests to kinds; [`discovery`] is everything that is served.
//! * [`Error`] says in one line what was tried on what and why it failed.
//!
//! What it guarantees: a write that may have been done is never sent again; names and namespaces
//! cannot leave their place in the path; one object that does not fit its type spoils only itself;
//! no token, key or object appears in an error, a log line or a `Debug` form.
//!
//! ```no_run
//! use pilothouse::client::{Api, Client, Config, Patch, PatchParams};
//! use pilothouse::k8s::api::core::v1::ConfigMap;
//!
//! # async fn example() -> Result<(), pilothouse::client::Error> {
//! let client = Client::new(Config::infer().await?)?;
//! let settings = Api::<ConfigMap>::namespaced(&client, "default");
//! let wanted = serde_json::json!({
//!     "apiVersion": "v1", "kind": "ConfigMap",
//!     "metadata": {"name": "settings"}, "data": {"colour": "blue"},
//! });
//! settings
//!     .patch("settings", &PatchParams::apply("example").force(), &Patch::Apply(wanted))
//!     .await?;
//! # Ok(()) }
//! ```

mod api;
mod blueprint;
mod body;
mod builder;
mod call;
mod chain;
mod class;
#[allow(clippy::module_inception)]
mod client;
mod codec;
mod config;
mod decode;
mod deleted;
pub mod discovery;
mod error;
mod list;
mod params;
pub mod pods;
mod raw;
mod renewed;
pub mod stack;
mod subresources;
#[cfg(test)]
mod tests;
mod transport;
mod upgrade;
mod url;
mod verbs;
mod watch_event;
mod watch_stream;

pub use api::Api;
pub use body::Body;
pub use builder::ClientBuilder;
pub use client::Client;
pub use codec::Encoding;
pub use config::{
    Config, ConfigError, Credentials, Deadline, Deadlines, ExecConfig, ExecPolicy, ExecVersion,
    Impersonation, InteractiveMode, KubeconfigOptions, Proxy,
};
pub use deleted::Deleted;
pub use discovery::{Discovery, MappingError, RestMapper, ServedKind, ServerVersion};
pub use error::{BoxError, Error};
pub use list::ObjectList;
pub use params::{
    DeleteParams, FieldValidation, GetParams, ListParams, Patch, PatchParams, PostParams,
    Preconditions, Propagation, VersionMatch, WatchParams,
};
#[cfg(feature = "streams")]
pub use pods::{
    AttachParams, ExecParams, Exit, Finished, PortListener, PortStream, Process, ProcessInput,
    ProcessOutput,
};
pub use pods::{LogBytes, LogParams, LogSince, LogSource, Logs};
pub use stack::RequestService;
pub use subresources::Restart;
pub use transport::{ConnectError, ConnectProblem, Connector, Io, ProxyProblem};
pub use upgrade::Upgraded;
pub use verbs::{Backoff, GetOrCreate, retry_on_conflict};
pub use watch_event::{Change, WatchEvent};
pub use watch_stream::WatchStream;
