//! Webhooks of an operator, called by the sandbox and by a real API server. The server of `tests/cluster` is enough, because it reaches
//! the operator by a URL on loopback.
//!
//! | file | what it shows |
//! | --- | --- |
//! | `calls.rs` | what a user sees of validations and mutations, on both servers |
//! | `conversions.rs` | an operator converts objects between the versions of a kind, on both servers |
//! | `dev.rs` | the command `dev` installs the configurations by itself |
//! | `lossless.rs` | no write fails while certificates, replicas and the leader change |
//! | `forwarder.rs` | a Service in front of two replicas |
//! | `replica.rs` | an operator as a process |

mod calls;
mod conversions;
#[cfg(unix)]
mod dev;
#[cfg(all(unix, feature = "slow"))]
mod forwarder;
#[cfg(all(unix, feature = "slow"))]
mod lossless;
#[cfg(unix)]
mod replica;
