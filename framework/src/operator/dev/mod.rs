//! The subcommand `dev`: runs the operator against an API server in the same process, or against the one of a kubeconfig.
//!
//! `server.rs` is either of them, `cluster.rs` starts the one in the process, `kubeconfig.rs` writes its kubeconfig into a folder that `private_folder.rs`
//! protects, `install_files.rs` installs the files of `--install`, `banner.rs` is the text for the user,
//! `ambiguous.rs` finds the kinds that kubectl needs with their group, `handover.rs` waits for the end of the process before this one, and
//! `summary.rs` is the line below the log.

mod ambiguous;
mod banner;
mod cluster;
mod handover;
mod install_files;
mod kubeconfig;
#[cfg(unix)]
mod private_folder;
mod server;
mod summary;

pub(super) use ambiguous::ambiguous_names;
pub(super) use banner::{Banner, Objects};
pub(super) use cluster::DevCluster;
pub(super) use handover::Handover;
pub(super) use install_files::{InstallFiles, OwnParts};
pub(super) use server::DevServer;
pub(super) use summary::show_summary;
