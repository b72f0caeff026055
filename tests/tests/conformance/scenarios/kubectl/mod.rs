//! Commands of kubectl, which print the same on both servers.
//!
//! A scenario is a list of commands. The name of a command is the name of its case, so it has no `: ` inside. The manifests are in
//! `manifests`. No kubelet runs at either server, and no controller of workloads, so the Pods of Deployments do not exist.

mod change;
mod create;
mod delete;
mod read;
mod rollout;

pub(super) use change::{apply, attributes, patches};
pub(super) use create::{create, run_and_expose};
pub(super) use delete::{delete, wait};
pub(super) use read::{access, describe, discovery, get, jobs, nodes, pods};
pub(super) use rollout::{rollout, scale, set};

use serde_json::json;

use crate::run::{Ask, Run};

/// Runs commands in order. Each is its own name.
pub(super) async fn commands(run: &mut Run, lines: &[&str]) {
    for line in lines {
        run.kubectl(line, line, "").await;
    }
}

/// Runs commands with names, in order.
pub(super) async fn named(run: &mut Run, commands: &[(&str, &str)]) {
    for (name, line) in commands {
        run.kubectl(name, line, "").await;
    }
}

/// Creates the service account that a Pod needs, if the server did not.
pub(super) async fn account(run: &mut Run) {
    let accounts = run.path("v1/serviceaccounts");
    let account = json!({"metadata": {"name": "default"}});
    run.until(Ask::post(accounts, account), |answer| {
        matches!(answer.code, 201 | 409)
    })
    .await;
}
