//! The printed manifests of the examples, and of the operator that `cargo pilothouse new` writes, on a real control plane: it accepts all of them,
//! and the operators work in the pods that it makes from them, with the printed roles.
//!
//! The tests need the control plane of `tests/cluster` and the file systems of the images that `tests/image/build` makes:
//!
//! ```text
//! export PILOTHOUSE_CLUSTER_BINARY=$(tests/cluster/build) PILOTHOUSE_IMAGES=$(tests/image/build)
//! cargo test -p pilothouse-tests --features slow --test deployed
//! ```
//!
//! The dry run also needs Helm (`PILOTHOUSE_HELM`) and the definitions of the Prometheus operator's kinds (`PILOTHOUSE_MONITORING_KINDS`);
//! `.ci/run` says where they come from.
//!
//! | what a pod has on a node | here |
//! | --- | --- |
//! | the file system of its image, which it cannot write | the program runs in a file system of the same files (`chroot`), as a user who can write nothing there |
//! | user, group, no capabilities, no way to get more | those of the pod; the tests read them in `/proc` |
//! | token, certificate authority and namespace | the projected volume that the server adds to the pod, filled as a kubelet does, with a token for this pod |
//! | arguments, variables, probes, time to stop | those of the pod as the server stored it |
//! | an address of its own | an address of the loopback network, with the ports of the pod. So that two pods have the same port, the variables `…_METRICS_ADDRESS` and `…_WEBHOOK_ADDRESS` name the address |
//! | Services | their addresses are of the loopback network, too; this process listens there and forwards each connection to a pod that the Service selects |
//! | `/proc` and a host name of its own | not here: the program cannot measure its own process, and the identity in the Lease has the host name of the machine |
//! | limits of memory, the seccomp profile, the network policy | not here: no container runtime |
#![cfg(unix)]

mod accepted;
mod images;
mod node;
#[allow(dead_code)]
#[path = "../../../examples/recorded/objects.rs"]
mod objects;
mod operators;
mod owners;
mod probe;
mod services;
#[allow(dead_code, reason = "the operators run as programs here")]
#[path = "../stories/mod.rs"]
mod stories;
