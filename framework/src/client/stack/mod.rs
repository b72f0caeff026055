//! The tower stack between a request and its connection. Each step is a layer that a program can replace.
//!
//! From outside in:
//!
//! | step | what it does |
//! | --- | --- |
//! | the guards of a [guarded](super::Client::guarded) client | refuse requests that the program did not declare |
//! | the user's layers | the layers of [`ClientBuilder::layer`](super::ClientBuilder::layer) |
//! | [`TotalLayer`] | limits the duration of a request as a whole |
//! | [`TraceLayer`] | one span per request, with OpenTelemetry's names |
//! | [`MeasureLayer`] | duration and size of each request |
//! | [`RetryLayer`] | repeats a request where that is safe |
//! | [`CountLayer`] | counts the attempts; the steps below run once per attempt |
//! | [`BackPressureLayer`] | waits after the server answered 429 |
//! | [`RateLimitLayer`] | a token bucket, if one is configured |
//! | [`FenceLayer`] | sends nothing while the fence is closed |
//! | [`AuthLayer`] | authenticates the client; after 401 once more with renewed credentials |
//! | [`ImpersonateLayer`] | sends the request as another user |
//! | [`UserAgentLayer`] | names the program |
//! | [`WarningsLayer`] | reports each warning of the server once |
//! | [`BaseLayer`] | puts the path of the server's address in front |
//! | [`GzipLayer`] | requests compressed answers and decompresses them |
//! | [`ResponseDeadlineLayer`] | limits the waits for the head of a response and for its pieces |
//! | [`Pool`] | the connections |
//!
//! [`ClientBuilder::layer`](super::ClientBuilder::layer) adds a layer around all of this.
//! [`ClientBuilder::stack`](super::ClientBuilder::stack) changes the stack itself: it takes a function that builds a
//! stack from the [`Steps`], which are ready to use. In this example a program retries in its own way, and sees each
//! attempt before the credentials are added:
//!
//! ```
//! use pilothouse::client::{Client, Config};
//! use pilothouse::client::stack::tower::Layer;
//! # fn main() -> Result<(), pilothouse::client::Error> {
//! # let (my_retry, my_log) = (tower::layer::util::Identity::new(), tower::layer::util::Identity::new());
//!
//! let config = Config::new("https://host:6443".parse().unwrap());
//! let client = Client::builder(config)
//!     .stack(move |steps| {
//!         let attempt = my_log.layer(steps.attempt());
//!         (steps.total, steps.trace, steps.measure, &my_retry).layer(attempt)
//!     })
//!     .build()?;
//! # Ok(()) }
//! ```
//!
//! [`Client::from_service`](super::Client::from_service) takes a whole service in place of the stack, such as for a
//! test without a network.
//!
//! **Logs.** No code here logs a header, a query or a body, at any level. Below it, `h2` logs at its levels debug and
//! trace which frames pass and how long they are, but neither their headers nor their data. `hyper` and `rustls` are
//! built without logging. A test listens to all of them at every level. A layer that prints a request shows `Sensitive`
//! in place of the credentials. If a
//! server repeats the credentials of a request in its error or warning, the text shows `<redacted>` in their place:
//! token, password and the credentials for the proxy, if they have at least 8 bytes.
//!
//! # Map for contributors
//! Each step of the stack is in a file of its own. Beside them:
//!
//! | file | holds |
//! | --- | --- |
//! | `steps.rs` | [`Steps`]: all layers, in their order |
//! | `dispatch.rs` | the whole stack behind one pointer, with guards in front |
//! | `and_then.rs`, `delayed_call.rs` | futures that the layers share |
//! | `idle.rs` | the deadline of each piece of a body |
//! | `flow_throttle.rs` | the delayed flows of [`BackPressureLayer`] |
//! | `token.rs`, `identity_files.rs`, `exec/` | the sources of credentials of [`AuthLayer`] |
//! | `sent_secrets.rs` | removes the credentials of a request from texts of the server |
//! | `retry_after.rs` | reads `Retry-After` |

mod and_then;
mod auth;
mod back_pressure;
mod base;
mod counted;
mod delayed_call;
mod dispatch;
mod exec;
mod fence;
mod flow_throttle;
mod gzip;
mod identity_files;
mod idle;
mod impersonate;
mod measured;
mod rate_limit;
mod response_deadline;
mod retry;
mod retry_after;
mod sent_secrets;
mod steps;
mod token;
mod total;
mod traced;
mod user_agent;
mod warnings;

pub use auth::AuthLayer;
pub use back_pressure::BackPressureLayer;
pub use base::BaseLayer;
pub use counted::CountLayer;
pub use dispatch::RequestService;
pub use fence::FenceLayer;
pub use gzip::GzipLayer;
pub use impersonate::ImpersonateLayer;
pub use measured::MeasureLayer;
pub use rate_limit::RateLimitLayer;
pub use response_deadline::ResponseDeadlineLayer;
pub use retry::RetryLayer;
pub use steps::Steps;
pub use total::TotalLayer;
pub use traced::TraceLayer;
pub use user_agent::UserAgentLayer;
pub use warnings::WarningsLayer;

pub use super::transport::Pool;

/// The crates with which layers are written.
pub use {http, tower};

pub(crate) use auth::Authenticator;
pub(crate) use dispatch::{Dispatch, guarded, service};
pub(crate) use retry_after::retry_after;
pub(crate) use sent_secrets::SentSecrets;
pub(crate) use total::TotalDeadline;
