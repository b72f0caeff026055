//! Everything between a program and its API server.
//!
//! * [`Config`] says where the server is, which authorities to trust and which credentials to send. It is loaded as
//!   kubectl loads it, or written in code.
//! * [`Client`] sends requests over HTTP/2 or HTTP/1.1, with TLS by rustls. Each request passes a stack of tower layers
//!   and a pool of connections. Watches and other requests never share a connection.
//! * [`Api`] has the verbs for the objects of one kind. It is typed for kinds that are known at compile time, and uses
//!   [`DynamicObject`](crate::resource::DynamicObject) for the others.
//! * [`pods`] has what only Pods have: logs, processes, ports.
//! * [`RestMapper`] maps names and manifests to kinds. [`discovery`] lists what the server serves.
//! * [`Error`] says in one line what was tried, on which object, and what went wrong.
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
//! | REST client, `RawRequest` | [`Client::request`], and [`send`](Client::send) for a whole HTTP request |
//! | discovery, RESTMapper, cached discovery | [`discovery`], [`RestMapper`], [`RestMapper::cached`] |
//! | clientcmd, `rest.Config` | [`Config`], [`KubeconfigOptions`] |
//! | round trippers, transport wrappers | [`stack`], [`ClientBuilder::layer`] |
//! | `errors.IsNotFound` and the like | the predicates of [`Error`] |
//! | serializers | [`ClientBuilder::encoding`]; a [`Scheme`](crate::resource::Scheme) reads manifests |
//!
//! # Guarantees
//! * The client never repeats a write that may have been applied.
//! * A name or namespace cannot change the meaning of a path.
//! * One object that does not fit its type spoils only itself.
//! * An error says whether the kind is not served or the object does not exist.
//! * No token, key or object appears in an error, a log line or a `Debug` form.
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
//!
//! # Map for contributors
//! Each folder uses only folders above it; a test checks this order.
//!
//! | folder | holds |
//! | --- | --- |
//! | `config/` | [`Config`], kubeconfig files, credentials, deadlines |
//! | `error/` | [`Error`], [`ErrorKind`] and the causes |
//! | `request/` | body, class, path and fence of a request |
//! | `response/` | [`ObjectList`], [`WatchEvent`], [`Deleted`] |
//! | `access/` | [`AccessGuard`]: refuses what the program did not declare |
//! | `codec/` | JSON, protobuf and CBOR, the frames of a watch, which encoding a server accepts |
//! | `decode/` | from bytes to objects; one bad object spoils only itself |
//! | `params/` | the options of each verb |
//! | `wake/` | wakes a task for one part of its work |
//! | `transport/` | dialing, proxies, TLS, the pool of connections |
//! | `stack/` | the tower layers |
//! | `retry/` | [`Backoff`], [`retry_on_conflict`], [`Reconnections`] |
//! | `rest/` | [`Client`] and its builder; sends requests and reads answers |
//! | `watch/` | [`WatchStream`] |
//! | `api/` | [`Api`] and the verbs |
//! | `discovery/` | what the server serves, [`RestMapper`] |
//! | `pods/` | logs, exec, attach, port-forward |
//!
//! ## The walk of a request
//! `api.patch("web", …)` passes these files, in order:
//!
//! 1. `api/write.rs` describes the request as a `Call` (`rest/call.rs`): verb, kind, namespace, name.
//! 2. `params/patch_params.rs` and `request/url.rs` write path and query; `codec/` writes the body.
//! 3. `rest/send.rs` builds the HTTP request and gives it to the stack. If the server refuses the encoding, it sends
//!    JSON.
//! 4. `stack/dispatch.rs` asks the guards; then come the layers in the order of the table in [`stack`].
//! 5. `transport/pool.rs` takes a connection of the request's class, or opens one: `dialer.rs`, `tcp.rs`, `proxy/`,
//!    `tls.rs`.
//! 6. `transport/checkout.rs` sends the request on that connection; `fenced_io.rs` is the last code before the socket.
//! 7. The answer comes back through the layers. `rest/response.rs` reads it, and turns an error of the server into an
//!    [`Error`].
//! 8. `decode/object.rs` decodes the object. A watch goes to `watch/watch_stream.rs` instead, which decodes events as
//!    they come.

mod access;
mod api;
mod codec;
mod config;
mod decode;
pub mod discovery;
mod error;
mod params;
pub mod pods;
mod request;
mod response;
mod rest;
mod retry;
pub mod stack;
#[cfg(test)]
mod tests;
mod transport;
mod wake;
mod watch;

pub use access::{AccessGrant, AccessGuard};
pub use api::{Api, GetOrCreate, Restart};
pub(crate) use api::{EncodedObject, ListProgress};
pub use codec::{AddedCodec, Encoding, EventFrame, ObjectCodec};
pub use config::{
    Config, ConfigError, Credentials, Deadline, Deadlines, ExecConfig, ExecPolicy, ExecVersion,
    Impersonation, InteractiveMode, KubeconfigOptions, Proxy,
};
#[cfg(test)]
pub(crate) use decode::end_of_thread;
pub(crate) use decode::{
    DecodeThread, Decoder, Dictionary, ObjectBytes, Received, Samples, decode_plain,
};
pub use discovery::{
    Discovery, DiscoveryCache, MappingError, RestMapper, ServedKind, ServerVersion,
};
pub use error::{
    BoxError, ConnectError, ConnectProblem, Error, ErrorKind, NotDeclared, ProxyProblem,
};
pub(crate) use error::{MissingRule, role_advice};
pub use params::{
    DeleteParams, FieldValidation, GetParams, ListParams, Patch, PatchParams, PostParams,
    Propagation, VersionMatch, WatchParams,
};
#[cfg(feature = "streams")]
pub use pods::{
    AttachParams, ExecParams, Exit, Finished, PortListener, PortStream, Process, ProcessInput,
    ProcessOutput,
};
pub use pods::{LogParams, LogSource, Logs};
pub use request::Body;
#[cfg(feature = "dev")]
pub(crate) use request::RequestPath;
pub use response::{Change, Deleted, ObjectList, WatchEvent};
#[cfg(feature = "dev")]
pub(crate) use rest::RESOURCE_VERBS;
pub use rest::{Answer, AnswerStream, Client, ClientBuilder, RequestBuilder, Upgraded};
#[cfg(test)]
pub(crate) use retry::Reachability;
pub use retry::{Backoff, Reconnections, retry_on_conflict};
pub use stack::RequestService;
pub use transport::{Connector, Io};
pub(crate) use wake::PartWaker;
#[cfg(test)]
pub(crate) use wake::woken;
pub use watch::WatchStream;
