//! The tower stack that a request passes on its way to a connection, each step a layer that can be
//! replaced.
//!
//! From outside in:
//!
//! | step | what it does |
//! | --- | --- |
//! | the guard, of a client that was [guarded](super::Client::guarded) | refuses what was not declared |
//! | the user's layers | whatever [`ClientBuilder::layer`](super::ClientBuilder::layer) was given |
//! | [`TotalLayer`] | bounds a request as a whole |
//! | [`TraceLayer`] | one span per request, with OpenTelemetry's names |
//! | [`MeasureLayer`] | duration and size of each request |
//! | [`RetryLayer`] | sends again what may be sent again |
//! | [`CountLayer`] | counts the attempts; from here on everything happens once per attempt |
//! | [`BackPressureLayer`] | holds back what the server has no room for |
//! | [`RateLimitLayer`] | a token bucket, where one was asked for |
//! | [`FenceLayer`] | sends nothing while the client may not send |
//! | [`AuthLayer`] | says who the client is; after 401 once more with renewed credentials |
//! | [`ImpersonateLayer`] | acts as somebody else |
//! | [`UserAgentLayer`] | says which program asks |
//! | [`WarningsLayer`] | tells the server's warnings, each once |
//! | [`BaseLayer`] | puts the path of the server's address in front |
//! | [`GzipLayer`] | asks for compressed answers and unpacks them |
//! | [`AnswerLayer`] | bounds the waits for the head of an answer and for its pieces |
//! | [`Pool`] | the connections |
//!
//! A layer around all of this is added by [`ClientBuilder::layer`](super::ClientBuilder::layer). To
//! change the stack itself, put it together by [`ClientBuilder::stack`](super::ClientBuilder::stack):
//! it is given the [`Steps`], ready to use. Here somebody retries in his own way, and sees each
//! attempt on its way to the credentials:
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
//! A whole service instead of the stack, as a test without a network has it, is given to
//! [`Client::from_service`](super::Client::from_service).
//!
//! **Logs.** Nothing here logs a header, a query or a body, at no level. Below it, `h2` says at its levels
//! debug and trace which frames go by and of which length, neither their headers nor their data;
//! `hyper` and `rustls` are built without logging. A test listens to all of them at every level. Who
//! prints a request in a layer of his own sees `Sensitive` in place of the credentials.

mod after;
mod answer;
mod auth;
mod back_pressure;
mod base;
mod brake;
mod counted;
mod deadline;
mod dispatch;
mod exec;
mod fence;
mod guarded;
mod gzip;
mod held;
mod identity_files;
mod idle;
mod impersonate;
mod kind_of_failure;
mod measured;
mod rate_limit;
mod requested;
mod retry;
mod retry_after;
mod steps;
mod token;
mod total;
mod traced;
mod user_agent;
mod warnings;

pub use answer::{Answer, AnswerLayer};
pub use auth::{Auth, AuthLayer};
pub use back_pressure::{BackPressure, BackPressureLayer};
pub use base::{Base, BaseLayer};
pub use counted::{CountLayer, Counted};
pub use dispatch::RequestService;
pub use fence::{FenceLayer, Fenced};
pub use gzip::{Gzip, GzipLayer};
pub use impersonate::{Impersonate, ImpersonateLayer};
pub use measured::{MeasureLayer, Measured};
pub use rate_limit::{RateLimitLayer, RateLimited};
pub use retry::{Retry, RetryLayer};
pub use steps::Steps;
pub use total::{Total, TotalLayer};
pub use traced::{TraceLayer, Traced};
pub use user_agent::{UserAgent, UserAgentLayer};
pub use warnings::{TellWarnings, WarningsLayer};

pub use super::transport::Pool;

/// The crates whose traits and types layers are written with.
pub use {http, tower};

pub(crate) use auth::Authenticator;
pub(crate) use deadline::{TimedOut, TotalDeadline};
pub(crate) use dispatch::{Dispatch, service};
pub(crate) use fence::{Closed, Fence};
pub(crate) use guarded::guarded;
pub(crate) use gzip::NotGzip;
pub(crate) use requested::Requested;
pub(crate) use retry_after::retry_after;
