//! The subcommand `dev`: the operator against an API server in its own process.

mod banner;
mod cluster;
mod kubeconfig;
#[cfg(unix)]
mod private;

pub(super) use banner::Banner;
pub(super) use cluster::DevCluster;
