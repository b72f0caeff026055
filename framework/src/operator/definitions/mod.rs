//! The commands `crd install` and `crd migrate`: they bring the definitions of the operator's kinds into a cluster, and the stored objects to
//! the version in which the API server stores them now.
//!
//! Both connect with the rights of the person who runs them, and build no reconciler.
//!
//! | file | holds |
//! | --- | --- |
//! | `install.rs` | `crd install`, which refuses what stored objects or clients would lose |
//! | `migrate.rs` | `crd migrate` |

mod install;
mod migrate;
