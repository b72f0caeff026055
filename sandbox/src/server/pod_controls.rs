//! The controls of simulated Pods and nodes.

use std::time::Duration;

use serde::Deserialize;
use tokio::io::AsyncWriteExt;

use crate::core::Core;
use crate::error::ApiError;
use crate::pods::Pods;

/// The body of `POST /sandbox/pods`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct PodControl {
    action: PodAction,
    /// A workload or a Pod. Without it the rule is for every Pod.
    of: Option<String>,
    namespace: Option<String>,
    times: Option<u32>,
    /// For `exit` and `failInit`.
    #[serde(default)]
    after_seconds: u64,
    /// For `exit`.
    code: Option<i32>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum PodAction {
    Run,
    Exit,
    CrashLoop,
    FailImagePull,
    NeverReady,
    FailInit,
    FailReadinessProbe,
    FailLivenessProbe,
    FailStartupProbe,
    Recover,
}

/// The body of `POST /sandbox/programs`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProgramControl {
    name: String,
    #[serde(default)]
    stdout: String,
    #[serde(default)]
    stderr: String,
    #[serde(default)]
    code: i32,
}

/// The body of `POST /sandbox/nodes`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeControl {
    action: NodeAction,
    name: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum NodeAction {
    Stop,
    Start,
}

fn pods(core: &Core) -> Pods<'_> {
    Pods::new(&core.clock, &core.store, &core.containers)
}

/// Sets a rule for Pods.
///
/// # Errors
/// 400 if the rule needs a field that is missing.
pub(super) fn control_pods(core: &Core, control: PodControl) -> Result<(), ApiError> {
    let pods = pods(core);
    let mut rule = match control.of {
        Some(workload) => pods.of(workload),
        None => pods.all(),
    };
    if let Some(namespace) = control.namespace {
        rule = rule.in_namespace(namespace);
    }
    if let Some(times) = control.times {
        rule = rule.times(times);
    }
    let after = Duration::from_secs(control.after_seconds);
    match control.action {
        PodAction::Run => rule.run(),
        PodAction::Exit => {
            let code = control.code.ok_or_else(|| {
                ApiError::bad_request(
                    "the action `exit` needs the field `code`: a number such as 1",
                )
            })?;
            rule.exit_after(after, code);
        }
        PodAction::CrashLoop => rule.crash_loop(),
        PodAction::FailImagePull => rule.fail_image_pull(),
        PodAction::NeverReady => rule.never_ready(),
        PodAction::FailInit => rule.fail_init_after(after),
        PodAction::FailReadinessProbe => rule.fail_readiness_probe(),
        PodAction::FailLivenessProbe => rule.fail_liveness_probe(),
        PodAction::FailStartupProbe => rule.fail_startup_probe(),
        PodAction::Recover => rule.recover(),
    }
    Ok(())
}

/// Lets each container have a program.
///
/// # Errors
/// 400 if the program has no name.
pub(super) fn control_programs(core: &Core, control: ProgramControl) -> Result<(), ApiError> {
    let ProgramControl {
        name,
        stdout,
        stderr,
        code,
    } = control;
    if name.is_empty() {
        let text =
            "the name of the program is empty: write the first word of a command, such as `date`";
        return Err(ApiError::bad_request(text));
    }
    pods(core).program(name, move |mut call| {
        let (stdout, stderr) = (stdout.clone(), stderr.clone());
        async move {
            // A client that does not read the output any more still gets the code.
            let _ = call.stdout.write_all(stdout.as_bytes()).await;
            let _ = call.stderr.write_all(stderr.as_bytes()).await;
            code
        }
    });
    Ok(())
}

/// Stops or starts a node.
///
/// # Errors
/// 404 if the simulator has no such node.
pub(super) fn control_nodes(core: &Core, control: &NodeControl) -> Result<(), ApiError> {
    let (pods, name) = (pods(core), control.name.as_str());
    let exists = match control.action {
        NodeAction::Stop => pods.stop_node(name),
        NodeAction::Start => pods.start_node(name),
    };
    match exists {
        true => Ok(()),
        false => {
            let text = format!(
                "the simulator has no node {name:?}: its nodes are `sandbox`, `sandbox-2` and so on"
            );
            Err(ApiError::new(404, "NotFound", text))
        }
    }
}
