//! The content of simulated containers, as far as clients see it through logs, exec, attach and port-forward.
//!
//! Nothing runs on the host. A program is a function that a test registers. A command that is not registered fails like
//! one that is missing in the image. A container's log begins with the simulator's own line. Lines that a test writes
//! follow. A rule changes when containers start, whether they are ready, and when they exit.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `pods.rs` | [`Pods`], the interface |
//! | `invocation.rs` | [`Invocation`], one call of a program |
//! | `containers.rs` | the registered programs, and the logs |
//! | `rules.rs` | [`PodRule`], and the rules that are in force |
//! | `container_log.rs` | the log of one container |

mod container_log;
mod containers;
mod invocation;
mod pods;
mod rules;

pub(crate) use container_log::{ContainerLog, LogLine, LogStream};
pub(crate) use containers::Containers;
pub use invocation::Invocation;
pub(crate) use invocation::{ClientEnds, start};
pub use pods::Pods;
pub use rules::PodRule;
pub(crate) use rules::{Applied, Behaviour, Probe};

/// The number of a simulated node: 1 for `sandbox`, 2 for `sandbox-2`, and so on. `None` for any other node.
pub(crate) fn node_number(name: &str) -> Option<u32> {
    match name.strip_prefix("sandbox")? {
        "" => Some(1),
        rest => rest.strip_prefix('-')?.parse().ok(),
    }
}
