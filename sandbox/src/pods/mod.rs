//! What runs in simulated containers, as far as it can be seen through logs, exec, attach and port-forward.
//!
//! Nothing of the host is ever run. A program is a function that a test registers; a command that nobody registered fails
//! like one that is not in the image. A container's log begins with the simulator's own line, and grows by what is written
//! to it here.

mod container_log;
mod containers;
mod invocation;
mod pods;

pub(crate) use container_log::{ContainerLog, Entry, Source};
pub(crate) use containers::Containers;
pub use invocation::Invocation;
pub(crate) use invocation::{Ends, start};
pub use pods::Pods;
