//! The example operators from their users' view.

use pilothouse::{
    client::{Api, Client, DeleteParams, ListParams, Patch, PatchParams, PostParams},
    k8s::{
        api::{
            batch::v1::Job,
            core::v1::{ConfigMap, Namespace, Pod},
            events::v1::Event,
        },
        apimachinery::pkg::apis::meta::v1::Condition,
    },
    operator::{Operator, Running},
    resource::{Object, ObjectMeta},
};
use configmap_sync::{ASKS_FOR, SharedConfig, SharedConfigSpec};
use scheduled_task::{ScheduledTask, ScheduledTaskSpec};
use serde_json::json;

use crate::target::{Nodes, Target};

/// Installs the kinds and starts the operator.
async fn started(operator: Operator, client: &Client) -> Running {
    operator.install(client).await.unwrap();
    let running = operator.start(client.clone()).await.unwrap();
    running.synced().await;
    running
}

pub(crate) async fn a_scheduled_task_runs_repeatedly(target: &Target) {
    let operator = scheduled_task::operator().namespace(&target.namespace);
    let running = started(operator, &target.client).await;
    if let Nodes::Simulated(sandbox) = &target.nodes {
        // The test ends the Pods itself.
        let pods = sandbox.pods().of("greet");
        pods.in_namespace(&target.namespace).run();
    }
    let tasks = target.api::<ScheduledTask>();
    let jobs = target.api::<Job>();
    let task = ScheduledTask {
        metadata: ObjectMeta {
            name: Some("greet".into()),
            ..Default::default()
        },
        spec: ScheduledTaskSpec {
            every_seconds: 2,
            image: "busybox".into(),
            command: vec!["echo".into(), "hello".into()],
            history: 1,
        },
        status: None,
    };
    tasks.create(&PostParams::default(), &task).await.unwrap();

    // The runs follow each other, and one ended run is kept.
    let mut last = None;
    for succeeds in [true, false, true] {
        let active = || async {
            let task = tasks.get("greet").await.unwrap();
            let active = task.status?.active?;
            (Some(&active) != last.as_ref()).then_some(active)
        };
        let active = target.until("a run is active", active).await;
        end(target, &active, succeeds).await;
        let healthy = if succeeds { "True" } else { "False" };
        let told = || async {
            let status = tasks.get("greet").await.unwrap().status?;
            let one = |one: &&Condition| one.type_ == "Healthy" && one.status == healthy;
            status.conditions.iter().find(one).map(drop)
        };
        target.until(&format!("Healthy is {healthy}"), told).await;
        last = Some(active);
    }
    let kept = || async {
        let jobs = jobs.list(&ListParams::default()).await.unwrap().items;
        (jobs.len() <= 2).then_some(())
    };
    target.until("older runs are gone", kept).await;

    // An Event reports the run.
    let reasons = || async {
        let events = target.api::<Event>();
        let events = events.list(&ListParams::default()).await.unwrap().items;
        let by_us = |event: &&Event| {
            event.reporting_controller.as_deref() == Some("scheduled-task/scheduledtask")
        };
        let reasons: Vec<_> = events.iter().filter(by_us).collect();
        let told = |reason: &str| reasons.iter().any(|event| event.reason.as_deref() == Some(reason));
        (told("Started") && told("Succeeded") && told("Failed")).then_some(())
    };
    target.until("events tell of it", reasons).await;

    tasks
        .delete("greet", &DeleteParams::default())
        .await
        .unwrap();
    let waits = || async {
        let events = target.api::<Event>();
        let events = events.list(&ListParams::default()).await.unwrap().items;
        let mut reasons = events.iter().filter_map(|event| event.reason.as_deref());
        reasons.any(|reason| reason == "Waiting").then_some(())
    };
    let task = tasks.get_opt("greet").await.unwrap();
    if task.is_some_and(|task| task.status.is_some_and(|status| status.active.is_some())) {
        target.until("the task waits for its run", waits).await;
        assert!(tasks.get_opt("greet").await.unwrap().is_some());
    }
    let gone = || async {
        // A run in progress ends first.
        for job in jobs.list(&ListParams::default()).await.unwrap().items {
            if job.status.is_none_or(|status| status.conditions.is_none()) {
                end(target, job.metadata.name.as_deref().unwrap(), true).await;
            }
        }
        tasks.get_opt("greet").await.unwrap().is_none().then_some(())
    };
    target.until("the task is gone", gone).await;
    running.stop().await;
}

/// Ends the Pod of a Job, which the controller of Jobs follows.
async fn end(target: &Target, job: &str, succeeds: bool) {
    let params = PatchParams::default();
    let pods = target.api::<Pod>();
    let of_job = ListParams::default().labels(format!("batch.kubernetes.io/job-name={job}"));
    let pod = || async { pods.list(&of_job).await.unwrap().items.into_iter().next() };
    let pod = target.until("the Job has a Pod", pod).await;
    let phase = if succeeds { "Succeeded" } else { "Failed" };
    let status = Patch::Merge(json!({"status": {"phase": phase}}));
    let _gone = pods.patch_status(pod.name(), &params, &status).await;
}

pub(crate) async fn config_maps_are_copied_only_where_they_are_wanted(target: &Target) {
    let running = started(configmap_sync::operator(), &target.client).await;
    let all = target.api::<SharedConfig>();
    let name = target.namespace.as_str();
    let shared = SharedConfig {
        metadata: ObjectMeta {
            name: Some(name.into()),
            ..Default::default()
        },
        spec: SharedConfigSpec {
            data: [("colour".into(), "blue".into())].into(),
        },
        status: None,
    };
    all.create(&PostParams::default(), &shared).await.unwrap();
    let namespaces = Api::<Namespace>::all(&target.client);
    let other = Namespace::named(format!("{name}-other"));
    namespaces
        .create(&PostParams::default(), &other)
        .await
        .unwrap();
    let key = format!("{name}/{name}");
    let asks = async |namespace: &str, value: Option<&str>| {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {ASKS_FOR: value}}}));
        let params = PatchParams::default();
        namespaces.patch(namespace, &params, &patch).await.unwrap();
    };
    let colours = async |expected: [Option<&str>; 2]| {
        let seen = || async {
            let mut seen = Vec::new();
            for namespace in [name, other.name()] {
                let copies = Api::<ConfigMap>::namespaced(&target.client, namespace);
                let copy = copies.get_opt(name).await.unwrap();
                seen.push(copy.and_then(|copy| copy.data?.get("colour").cloned()));
            }
            let wanted = expected.map(|colour| colour.map(str::to_owned));
            (seen == wanted).then_some(())
        };
        target.until(&format!("{expected:?}"), seen).await;
    };

    asks(name, Some(&key)).await;
    asks(other.name(), Some(&key)).await;
    colours([Some("blue"), Some("blue")]).await;
    let copies = || async {
        let status = all.get(name).await.unwrap().status?;
        (status.copies == 2).then_some(())
    };
    target.until("two copies are reported", copies).await;

    let green = Patch::Merge(json!({"spec": {"data": {"colour": "green"}}}));
    let params = PatchParams::default();
    all.patch(name, &params, &green).await.unwrap();
    colours([Some("green"), Some("green")]).await;
    // The operator creates a deleted copy again.
    let maps = target.api::<ConfigMap>();
    maps.delete(name, &DeleteParams::default()).await.unwrap();
    colours([Some("green"), Some("green")]).await;
    asks(other.name(), None).await;
    colours([Some("green"), None]).await;
    asks(other.name(), Some(&key)).await;
    colours([Some("green"), Some("green")]).await;

    // The source is deleted when its copies are deleted.
    all.delete(name, &DeleteParams::default()).await.unwrap();
    let gone = || async { all.get_opt(name).await.unwrap().is_none().then_some(()) };
    target.until("the source is gone", gone).await;
    colours([None, None]).await;
    let params = DeleteParams::default();
    namespaces.delete(other.name(), &params).await.unwrap();
    running.stop().await;
}
