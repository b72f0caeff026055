//! Methods of Pods: logs, and with the feature `streams` processes and ports.
//!
//! * [`Logs`] is a container's log, line by line, followed or not.
//! * `Api::exec` starts a process in a container, and `Api::attach` attaches to the one that runs. Both return a
//!   `Process`, which is like tokio's `Child`.
//! * `Api::port_forward` opens a byte stream to a port. `Api::listen` listens on a local port in its place.
//!
//! Each process and each forwarded connection has a connection of its own to the API server. The client pings it every
//! 20 s, and gives it up after 55 s of silence ([R7](crate#guarantees)). If the caller does not read, the other side must wait: no buffer
//! here is unbounded. Dropping the returned values closes the connection.
//!
//! ```no_run
//! use futures_util::StreamExt;
//! use pilothouse::client::{Api, Client, Config, LogParams};
//! use pilothouse::k8s::api::core::v1::Pod;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new(Config::infer().await?)?;
//! let pods = Api::<Pod>::namespaced(&client, "default");
//! let mut lines = pods.logs("web-0", &LogParams::default().follow().tail(100)).await?;
//! while let Some(line) = lines.next().await {
//!     println!("{}", line?);
//! }
//! # Ok(()) }
//! ```
//!
//! ```compile_fail
//! use pilothouse::client::{Api, LogParams};
//! use pilothouse::k8s::api::core::v1::ConfigMap;
//!
//! # async fn example(maps: Api<ConfigMap>) {
//! maps.logs("settings", &LogParams::default()).await; // no Pod, no log
//! # }
//! ```
//!
//! # Map for contributors
//! | file | holds |
//! | --- | --- |
//! | `logs.rs`, `log_params.rs` | logs |
//! | `exec.rs`, `exec_params.rs`, `attach_params.rs` | exec and attach |
//! | `process.rs`, `input.rs`, `output.rs`, `exit.rs` | a process, its streams and its end |
//! | `port_forward.rs`, `port_stream.rs`, `port_listener.rs` | ports |
//! | `websocket.rs`, `session.rs` | the WebSocket, and the task that moves its messages |

mod log_params;
mod logs;

#[cfg(feature = "streams")]
mod attach_params;
#[cfg(feature = "streams")]
mod exec;
#[cfg(feature = "streams")]
mod exec_params;
#[cfg(feature = "streams")]
mod exit;
#[cfg(feature = "streams")]
mod input;
#[cfg(feature = "streams")]
mod output;
#[cfg(feature = "streams")]
mod port_forward;
#[cfg(feature = "streams")]
mod port_listener;
#[cfg(feature = "streams")]
mod port_stream;
#[cfg(feature = "streams")]
mod process;
#[cfg(feature = "streams")]
mod session;
#[cfg(all(test, feature = "streams"))]
mod tests;
#[cfg(feature = "streams")]
mod websocket;

pub use log_params::{LogParams, LogSource};
pub use logs::Logs;

#[cfg(feature = "streams")]
pub use self::{
    attach_params::AttachParams,
    exec_params::ExecParams,
    exit::Exit,
    input::ProcessInput,
    output::ProcessOutput,
    port_listener::PortListener,
    port_stream::PortStream,
    process::{Finished, Process},
};
