//! The [`Client`]: one handle for all requests to one API server, as client-go's package `rest`.
//!
//! A client holds the [stack](super::stack) of layers and what the requests of all its clones share. A typed request is a
//! [`Call`], which knows its path and the text of its errors.
//!
//! | file | holds |
//! | --- | --- |
//! | `client.rs` | [`Client`], and the clients derived from it: with own connections, fenced, guarded |
//! | `builder.rs` | [`ClientBuilder`]: builds the stack from a [`Config`](super::Config) |
//! | `stack_factory.rs` | builds the same stack again for further clients |
//! | `call.rs` | [`Call`]: verb, kind, namespace and name of one request |
//! | `identity.rs` | whether an answer is about the object of a [`Call`] |
//! | `send.rs` | sends a [`Call`], and falls back to JSON if the server refuses the encoding |
//! | `response.rs` | reads whole answers, and the errors among them |
//! | `request_builder.rs` | [`RequestBuilder`]: a request for which no verb exists |
//! | `request_subject.rs` | what such a request is about |
//! | `answer.rs`, `answer_stream.rs` | [`Answer`] and [`AnswerStream`]: its answer, whole or as it comes |
//! | `upgrade.rs` | requests that continue in another protocol: [`Upgraded`] |

mod answer;
mod answer_stream;
mod builder;
mod call;
mod client;
mod identity;
mod request_builder;
mod request_subject;
mod response;
mod send;
mod stack_factory;
mod upgrade;

pub use answer::Answer;
pub use answer_stream::AnswerStream;
pub use builder::ClientBuilder;
pub(crate) use call::Call;
pub use client::Client;
#[cfg(feature = "dev")]
pub(crate) use request_builder::RESOURCE_VERBS;
pub use request_builder::RequestBuilder;
pub use upgrade::Upgraded;
