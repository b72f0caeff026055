//! The programs that envtest starts, `kube-apiserver` and `etcd`, with the flags that it passes.
//!
//! envtest is the test environment of controller-runtime. It looks for both programs in the folder of `KUBEBUILDER_ASSETS`. Here
//! `kube-apiserver` is a sandbox with its objects in memory, and `etcd` only answers health checks.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `program.rs` | chooses the program by its name |
//! | `flags.rs` | reads flags as Go's flag packages do |
//! | `kube_apiserver.rs`, `etcd.rs` | the programs |
//! | `link.rs` | puts them into a folder |

mod etcd;
mod flags;
mod kube_apiserver;
mod link;
mod program;

pub(super) use link::link;
pub(super) use program::Program;
