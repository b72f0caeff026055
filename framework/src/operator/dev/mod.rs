//! The subcommand `dev`: runs the operator against an API server in the same process.
//!
//! `cluster.rs` starts the server, `kubeconfig.rs` writes its kubeconfig into a folder that `private_folder.rs`
//! protects, and `banner.rs` is the text for the user.

mod banner;
mod cluster;
mod kubeconfig;
#[cfg(unix)]
mod private_folder;

pub(super) use banner::Banner;
pub(super) use cluster::DevCluster;
