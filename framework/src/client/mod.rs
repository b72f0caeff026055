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
//! # Where things are
//! | of client-go, kubectl or kube-rs | here |
//! | --- | --- |
//! | get, list, pager | [`Api::get`], [`get_with`](Api::get_with), [`get_opt`](Api::get_opt), [`list`](Api::list), [`list_all`](Api::list_all), [`pages`](Api::pages), [`items`](Api::items) |
//! | watch, wait | [`Api::watch`], [`wait_until`](Api::wait_until), [`wait_until_deleted`](Api::wait_until_deleted); an informer is in [`cache`](crate::cache) |
//! | create, update, patch, apply | [`Api::create`], [`get_or_create`](Api::get_or_create), [`replace`](Api::replace), [`patch`](Api::patch), [`modify`](Api::modify), [`retry_on_conflict`] |
//! | delete, deletecollection | [`Api::delete`], [`delete_collection`](Api::delete_collection) |
//! | subresources | [`Api::get_status`], [`get_scale`](Api::get_scale) and their neighbours, [`get_subresource`](Api::get_subresource) by any name; on the kinds that have them `evict`, `bind`, `create_token`, `patch_resize`, `restart`, `cordon`, … |
//! | logs, exec, attach, port-forward | [`pods`] |
//! | metadata client | [`Api::metadata`], or an `Api` of [`PartialObject`](crate::resource::PartialObject) |
//! | dynamic client | [`Api::of`], [`RestMapper::api`] |
//! | REST client, `RawRequest` | [`Client::request`], [`request_text`](Client::request_text), [`request_lines`](Client::request_lines), [`send`](Client::send) |
//! | discovery, RESTMapper | [`discovery`], [`RestMapper`] |
//! | clientcmd, `rest.Config` | [`Config`], [`KubeconfigOptions`] |
//! | round trippers, transport wrappers | [`stack`], [`ClientBuilder::layer`] |
//! | `errors.IsNotFound` and its kin | the predicates of [`Error`] |
//! | serializers | [`ClientBuilder::encoding`]; manifests are read by a [`Scheme`](crate::resource::Scheme) |
//!
//! # What it guarantees
//! A write that may have been done is never sent again; names and namespaces
//! cannot leave their place in the path; one object that does not fit its type spoils only itself;
//! a kind that is not served never passes for an object that is missing; no token, key or object
//! appears in an error, a log line or a `Debug` form.
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

mod access_guard;
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
mod kept;
mod list;
mod list_progress;
mod not_declared;
mod offload;
mod params;
mod part_waker;
#[cfg(test)]
mod part_waker_test;
pub mod pods;
mod raw;
mod reconnections;
mod renewed;
pub mod stack;
mod subresources;
mod sync;
#[cfg(test)]
mod tests;
mod transport;
mod upgrade;
mod url;
mod verbs;
mod watch_event;
mod watch_stream;
#[cfg(test)]
pub(crate) mod woken;

pub use access_guard::{AccessGrant, AccessGuard};
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
pub(crate) use kept::Kept;
pub use list::ObjectList;
pub(crate) use list_progress::ListProgress;
pub use not_declared::NotDeclared;
pub(crate) use offload::drop_elsewhere;
pub use params::{
    DeleteParams, FieldValidation, GetParams, ListParams, Patch, PatchParams, PostParams,
    Preconditions, Propagation, VersionMatch, WatchParams,
};
pub(crate) use part_waker::PartWaker;
#[cfg(feature = "streams")]
pub use pods::{
    AttachParams, ExecParams, Exit, Finished, PortListener, PortStream, Process, ProcessInput,
    ProcessOutput,
};
pub use pods::{LogBytes, LogParams, LogSince, LogSource, Logs};
#[cfg(test)]
pub(crate) use reconnections::Reachability;
pub use reconnections::Reconnections;
pub use stack::RequestService;
pub use subresources::Restart;
pub use transport::{ConnectError, ConnectProblem, Connector, Io, ProxyProblem};
pub use upgrade::Upgraded;
pub use verbs::{Backoff, GetOrCreate, retry_on_conflict};
pub use watch_event::{Change, WatchEvent};
pub use watch_stream::WatchStream;
