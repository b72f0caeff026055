//! What only Pods have: logs, and with the feature `streams` processes and ports.
//!
//! * [`Logs`] is a container's log, line by line, followed or not.
//! * `Api::exec` starts a process in a container and `Api::attach` joins the one that runs; both
//!   give a `Process` as tokio does.
//! * `Api::port_forward` is a byte stream to a port, `Api::listen` a local port in its place.
//!
//! Each process and each forwarded connection has a connection of its own to the API server. It is
//! asked every 20 s whether it lives and given up after 55 s of silence (design promise R7). What
//! nobody reads makes the other side wait: nothing here is buffered without bound. Dropping what was
//! handed out closes the connection.
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

pub use log_params::{LogParams, LogSince, LogSource};
pub use logs::{LogBytes, Logs};

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
