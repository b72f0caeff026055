use serde_json::Value;

use super::{
    fields::{Condition, Fields},
    readiness::Readiness::{self, Failed, NotReady, Ready},
};

/// The readiness of an object that was written as JSON.
pub(super) fn readiness(object: &Value) -> Readiness {
    let object = Fields(object);
    if let Some(known) = by_common_fields(object) {
        return known;
    }
    let version = object.text("/apiVersion");
    let (group, _) = version.split_once('/').unwrap_or(("", version));
    match (group, object.text("/kind")) {
        ("apps", "Deployment") => deployment(object),
        ("apps", "StatefulSet") => stateful_set(object),
        ("apps", "DaemonSet") => daemon_set(object),
        ("apps", "ReplicaSet") | ("", "ReplicationController") => replica_set(object),
        ("", "Pod") => pod(object),
        ("batch", "Job") => job(object),
        ("", "Service") => service(object),
        ("", "PersistentVolumeClaim") => claim(object),
        ("policy", "PodDisruptionBudget") => disruption_budget(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(object),
        ("apiregistration.k8s.io", "APIService") => api_service(object),
        ("", "Namespace") => namespace(object),
        _ => by_conditions(object, is_built_in(group)),
    }
}

/// Whether the group belongs to Kubernetes: it has no dot, or is one of `*.k8s.io` that the API server itself serves.
fn is_built_in(group: &str) -> bool {
    const DOTTED: &[&str] = &[
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "lifecycle.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    ];
    !group.contains('.') || DOTTED.contains(&group)
}

/// What all kinds have in common. `None` if the rules of the kind decide.
fn by_common_fields(object: Fields<'_>) -> Option<Readiness> {
    if object.at("/metadata/deletionTimestamp").is_some() {
        return Some(NotReady("it is being deleted".into()));
    }
    if let (Some(generation), Some(observed)) = (
        object.number("/metadata/generation"),
        object.number("/status/observedGeneration"),
    ) && generation != observed
    {
        return Some(NotReady(format!(
            "its controller has seen generation {observed}, not yet {generation}"
        )));
    }
    object
        .conditions()
        .filter(|one| one.is_true())
        .find_map(|one| match one.kind() {
            "Reconciling" => Some(NotReady(one.explain())),
            "Stalled" => Some(Failed(one.explain())),
            _ => None,
        })
}

/// For kinds without rules of their own.
fn by_conditions(object: Fields<'_>, is_built_in: bool) -> Readiness {
    let found = |kind: &str| {
        let mut all = object.items("/status/conditions").iter();
        all.any(|one| Fields(one).text("/type") == kind)
    };
    for kind in ["Ready", "Available"] {
        match object.condition(kind) {
            Some(condition) => return must_be_true(condition),
            None if found(kind) => {
                return NotReady(format!("the condition {kind} is of an older generation"));
            }
            None => {}
        }
    }
    match object.at("/status") {
        None if !is_built_in => {
            NotReady("it has no status: its controller has not seen it yet".into())
        }
        _ => Ready,
    }
}

fn must_be_true(condition: Condition<'_>) -> Readiness {
    match condition.is_true() {
        true => Ready,
        false => NotReady(condition.explain()),
    }
}

/// The first of `checks` whose count is below `wanted`, as a text such as `1 of 3 replicas are ready`.
fn too_few(wanted: i64, checks: &[(i64, &str)]) -> Option<Readiness> {
    let (found, state) = checks.iter().find(|(found, _)| *found < wanted)?;
    Some(NotReady(format!("{found} of {wanted} replicas {state}")))
}

/// Replicas that are left from before.
fn too_many(wanted: i64, found: i64) -> Option<Readiness> {
    (found > wanted).then(|| {
        NotReady(format!(
            "{} old replicas still exist",
            found.saturating_sub(wanted)
        ))
    })
}

/// The replicas that the spec asks for. The controllers of Kubernetes use 1 if it does not say.
fn wanted_replicas(object: Fields<'_>) -> i64 {
    object.number("/spec/replicas").unwrap_or(1)
}

fn deployment(object: Fields<'_>) -> Readiness {
    let progressing = object.condition("Progressing");
    if let Some(condition) = progressing
        && condition.reason() == "ProgressDeadlineExceeded"
    {
        return Failed(condition.explain());
    }
    let wanted = wanted_replicas(object);
    let [all, updated, ready, available] = [
        "/status/replicas",
        "/status/updatedReplicas",
        "/status/readyReplicas",
        "/status/availableReplicas",
    ]
    .map(|pointer| object.count(pointer));
    let counts = too_few(wanted, &[(all, "exist"), (updated, "are updated")])
        .or_else(|| too_many(wanted, all))
        .or_else(|| too_few(updated, &[(available, "are available")]))
        .or_else(|| too_few(wanted, &[(ready, "are ready")]));
    if let Some(not_ready) = counts {
        return not_ready;
    }
    // Without a deadline, or with the largest one, the Deployment's controller does not report its progress.
    let deadline = object.number("/spec/progressDeadlineSeconds");
    let reports_progress = deadline.is_some_and(|seconds| seconds != i64::from(i32::MAX));
    let is_complete = progressing.is_some_and(|condition| {
        condition.is_true() && condition.reason() == "NewReplicaSetAvailable"
    });
    if reports_progress && !is_complete {
        return NotReady("the new ReplicaSet is not available yet".into());
    }
    match object.condition("Available") {
        Some(condition) => must_be_true(condition),
        None => NotReady("it has no condition Available yet".into()),
    }
}

fn stateful_set(object: Fields<'_>) -> Readiness {
    let wanted = wanted_replicas(object);
    let all = object.count("/status/replicas");
    let ready = object.count("/status/readyReplicas");
    let counts =
        too_few(wanted, &[(all, "exist"), (ready, "are ready")]).or_else(|| too_many(wanted, all));
    if let Some(not_ready) = counts {
        return not_ready;
    }
    // Somebody deletes the Pods to update them.
    if object.text("/spec/updateStrategy/type") == "OnDelete" {
        return Ready;
    }
    if let Some(partition) = object.number("/spec/updateStrategy/rollingUpdate/partition") {
        let updated = object.count("/status/updatedReplicas");
        let rest = wanted.saturating_sub(partition);
        return too_few(rest, &[(updated, "are updated")]).unwrap_or(Ready);
    }
    let current = object.count("/status/currentReplicas");
    if let Some(not_ready) = too_few(wanted, &[(current, "are of the current revision")]) {
        return not_ready;
    }
    match object.text("/status/currentRevision") == object.text("/status/updateRevision") {
        true => Ready,
        false => NotReady("the new revision is not complete".into()),
    }
}

fn daemon_set(object: Fields<'_>) -> Readiness {
    if object.at("/status/observedGeneration").is_none() {
        return NotReady("its controller has not seen it yet".into());
    }
    let wanted = object.count("/status/desiredNumberScheduled");
    let [current, updated, available, ready] = [
        "/status/currentNumberScheduled",
        "/status/updatedNumberScheduled",
        "/status/numberAvailable",
        "/status/numberReady",
    ]
    .map(|pointer| object.count(pointer));
    let on_delete = object.text("/spec/updateStrategy/type") == "OnDelete";
    let updated = if on_delete { wanted } else { updated };
    let checks = [
        (current, "exist"),
        (updated, "are updated"),
        (available, "are available"),
        (ready, "are ready"),
    ];
    too_few(wanted, &checks).unwrap_or(Ready)
}

fn replica_set(object: Fields<'_>) -> Readiness {
    if let Some(condition) = object.condition("ReplicaFailure")
        && condition.is_true()
    {
        return NotReady(condition.explain());
    }
    let wanted = wanted_replicas(object);
    let [all, labelled, available, ready] = [
        "/status/replicas",
        "/status/fullyLabeledReplicas",
        "/status/availableReplicas",
        "/status/readyReplicas",
    ]
    .map(|pointer| object.count(pointer));
    let checks = [
        (labelled, "have the labels of the template"),
        (available, "are available"),
        (ready, "are ready"),
    ];
    too_few(wanted, &checks)
        .or_else(|| too_many(wanted, all))
        .unwrap_or(Ready)
}

fn pod(object: Fields<'_>) -> Readiness {
    match object.text("/status/phase") {
        "Succeeded" => Ready,
        "Failed" => {
            let (reason, message) = (
                object.text("/status/reason"),
                object.text("/status/message"),
            );
            let texts = ["its phase is Failed", reason, message];
            let texts = texts.into_iter().filter(|text| !text.is_empty());
            Failed(texts.collect::<Vec<_>>().join(": "))
        }
        phase => {
            let ready = object.condition("Ready");
            if phase == "Running" && ready.is_some_and(Condition::is_true) {
                return Ready;
            }
            if let Some(container) = waiting_container(object, |reason| reason == CRASH_LOOP)
                && phase == "Running"
            {
                return Failed(container);
            }
            not_ready_pod(object, phase)
        }
    }
}

const CRASH_LOOP: &str = "CrashLoopBackOff";

/// Says as much as the Pod tells of why it is not ready.
fn not_ready_pod(object: Fields<'_>, phase: &str) -> Readiness {
    let unscheduled = object.condition("PodScheduled");
    if let Some(condition) = unscheduled.filter(|condition| condition.is_false()) {
        return NotReady(condition.explain());
    }
    let usual = |reason: &str| matches!(reason, "ContainerCreating" | "PodInitializing");
    if let Some(container) = waiting_container(object, |reason| !usual(reason)) {
        return NotReady(container);
    }
    NotReady(match (phase, object.condition("Ready")) {
        ("", _) => "its node has not reported a phase yet".into(),
        ("Running", Some(ready)) => ready.explain(),
        (phase, _) => format!("its phase is {phase}"),
    })
}

/// The first container that waits for a reason that `matches`, as a text.
fn waiting_container(object: Fields<'_>, matches: impl Fn(&str) -> bool) -> Option<String> {
    let lists = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let mut all = lists.into_iter().flat_map(|list| object.items(list));
    all.find_map(|container| {
        let container = Fields(container);
        let reason = container.text("/state/waiting/reason");
        let found = !reason.is_empty() && matches(reason);
        found.then(|| format!("the container {} waits: {reason}", container.text("/name")))
    })
}

fn job(object: Fields<'_>) -> Readiness {
    let holds = |kind: &str| object.condition(kind).filter(|one| one.is_true());
    if holds("Complete").is_some() {
        return Ready;
    }
    if let Some(condition) = holds("Failed") {
        return Failed(condition.explain());
    }
    if holds("Suspended").is_some() {
        return NotReady("it is suspended".into());
    }
    if object.at("/status/startTime").is_none() {
        return NotReady("it has not started".into());
    }
    let parallelism = object.number("/spec/parallelism").unwrap_or(1);
    let completions = object.number("/spec/completions").unwrap_or(parallelism);
    let [succeeded, active, failed] = ["/status/succeeded", "/status/active", "/status/failed"]
        .map(|pointer| object.count(pointer));
    NotReady(format!(
        "it runs: {succeeded} of {completions} Pods have succeeded, {active} are active, {failed} have failed"
    ))
}

fn service(object: Fields<'_>) -> Readiness {
    if object.text("/spec/type") != "LoadBalancer" {
        return Ready;
    }
    if object.text("/spec/clusterIP").is_empty() {
        return NotReady("it has no cluster IP".into());
    }
    match object.items("/status/loadBalancer/ingress").is_empty() {
        true => NotReady("its load balancer has no address yet".into()),
        false => Ready,
    }
}

fn claim(object: Fields<'_>) -> Readiness {
    match object.text("/status/phase") {
        "Bound" => Ready,
        "Lost" => Failed("its volume is lost".into()),
        "" => NotReady("it has no phase yet".into()),
        phase => NotReady(format!("its phase is {phase}, not Bound")),
    }
}

fn disruption_budget(object: Fields<'_>) -> Readiness {
    if object.at("/status/observedGeneration").is_none() {
        return NotReady("its controller has not seen it yet".into());
    }
    match object.condition("DisruptionAllowed") {
        Some(condition) if condition.reason() == "SyncFailed" => NotReady(condition.explain()),
        _ => Ready,
    }
}

fn definition(object: Fields<'_>) -> Readiness {
    if let Some(names) = object
        .condition("NamesAccepted")
        .filter(|one| one.is_false())
    {
        return Failed(names.explain());
    }
    match object.condition("Established") {
        Some(condition) if condition.is_true() => Ready,
        Some(condition) if condition.is_false() && condition.reason() != "Installing" => {
            Failed(condition.explain())
        }
        Some(condition) => NotReady(condition.explain()),
        None => NotReady("it has no condition Established yet".into()),
    }
}

fn api_service(object: Fields<'_>) -> Readiness {
    match object.condition("Available") {
        Some(condition) => must_be_true(condition),
        None => NotReady("it has no condition Available yet".into()),
    }
}

fn namespace(object: Fields<'_>) -> Readiness {
    match object.text("/status/phase") {
        "Active" => Ready,
        "" => NotReady("it has no phase yet".into()),
        phase => NotReady(format!("its phase is {phase}, not Active")),
    }
}
