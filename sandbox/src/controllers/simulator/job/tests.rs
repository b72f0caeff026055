use std::time::Duration;

use serde_json::{Value, json};

use super::pod::FINALIZER;
use crate::api::Propagation;
use crate::controllers::simulator::object::{condition, is_true, jobs, number};
use crate::controllers::simulator::world::World;
use crate::meta;

fn job(spec: Value) -> Value {
    let mut job = json!({
        "metadata": {"name": "work", "namespace": "default"},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "busybox"}],
        }}},
    });
    for (field, value) in spec.as_object().unwrap() {
        job["spec"][field] = value.clone();
    }
    job
}

fn world(spec: Value) -> World {
    let world = World::new();
    world.create(&jobs(), job(spec));
    world
}

/// The conditions that are true, in their order.
fn conditions(job: &Value) -> Vec<String> {
    let conditions = job["status"]["conditions"].as_array();
    let all = conditions.into_iter().flatten();
    let holding = all.filter(|condition| condition["status"] == "True");
    holding
        .map(|condition| {
            let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
            format!("{} {}", text("type"), text("reason"))
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_job_completes_by_itself() {
    let world = world(json!({}));
    world.pass_millis(1).await;
    let open = world.get(&jobs(), "work");
    let status = json!({
        "active": 1, "ready": 0, "terminating": 0, "startTime": "2026-01-01T00:00:00Z",
        "uncountedTerminatedPods": {},
    });
    assert_eq!(open["status"], status);
    let pod = world.pods().remove(0);
    assert_eq!(meta::finalizers(&pod), [FINALIZER]);
    assert!(meta::name(&pod).starts_with("work-"));
    let labels = &pod["metadata"]["labels"];
    assert_eq!(labels["batch.kubernetes.io/job-name"], "work");
    assert_eq!(labels["job-name"], "work");
    assert_eq!(labels["controller-uid"], meta::uid(&open));
    assert_eq!(pod["metadata"]["ownerReferences"][0]["kind"], "Job");

    world.pass_millis(900).await;
    assert_eq!(world.get(&jobs(), "work")["status"]["ready"], 1);
    world.pass(2).await;
    let done = world.get(&jobs(), "work");
    assert_eq!(
        conditions(&done),
        [
            "SuccessCriteriaMet CompletionsReached",
            "Complete CompletionsReached"
        ]
    );
    let status = &done["status"];
    assert_eq!(status["succeeded"], 1);
    assert_eq!(status["ready"], 0);
    assert_eq!(status["uncountedTerminatedPods"], json!({}));
    assert_eq!(status["completionTime"], "2026-01-01T00:00:01Z");
    assert!(status.get("active").is_none() && status.get("failed").is_none());
    let pod = world.pods().remove(0);
    assert_eq!(pod["status"]["phase"], "Succeeded");
    assert!(meta::finalizers(&pod).is_empty());
    let name = meta::name(&pod);
    assert_eq!(
        world.events("work"),
        [
            "Completed: Job completed".to_owned(),
            format!("SuccessfulCreate: Created pod: {name}")
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_job_runs_as_many_pods_at_a_time_as_its_parallelism() {
    let world = world(json!({"completions": 5, "parallelism": 2}));
    world.pass_millis(1_000).await;
    assert_eq!(world.get(&jobs(), "work")["status"]["active"], 2);
    world.pass_millis(1_500).await;
    let job = world.get(&jobs(), "work");
    assert_eq!(
        (
            number(&job, "/status/succeeded"),
            number(&job, "/status/active")
        ),
        (2, 2)
    );
    world.pass(10).await;
    let job = world.get(&jobs(), "work");
    assert_eq!(number(&job, "/status/succeeded"), 5);
    assert!(is_true(&job, "Complete"));
    assert_eq!(world.count("Succeeded"), 5);
}

#[tokio::test(start_paused = true)]
async fn a_work_queue_ends_with_the_last_pod_after_the_first_success() {
    let world = world(json!({"parallelism": 3}));
    world
        .sandbox
        .pods()
        .of("work")
        .times(1)
        .succeed_after(Duration::from_secs(1));
    world
        .sandbox
        .pods()
        .all()
        .succeed_after(Duration::from_secs(60));
    world.pass(10).await;
    let job = world.get(&jobs(), "work");
    assert!(finished(&job).is_empty());
    world.pass(60).await;
    let job = world.get(&jobs(), "work");
    assert_eq!(number(&job, "/status/succeeded"), 3);
    assert_eq!(finished(&job), "Complete");
}

fn finished(job: &Value) -> &str {
    super::jobs::finish(job).map_or("", |end| end["type"].as_str().unwrap())
}

#[tokio::test(start_paused = true)]
async fn failed_pods_are_replaced_after_a_growing_pause_up_to_the_limit() {
    let world = world(json!({"backoffLimit": 2}));
    world
        .sandbox
        .pods()
        .of("work")
        .exit_after(Duration::ZERO, 3);
    world.pass(9).await;
    assert_eq!(world.count("Failed"), 1);
    // 10 s after the first failure, and 20 s after the second one.
    world.pass(4).await;
    assert_eq!(world.count("Failed"), 2);
    world.pass(15).await;
    assert_eq!(world.count("Failed"), 2);
    assert_eq!(finished(&world.get(&jobs(), "work")), "");
    world.pass(10).await;
    let job = world.get(&jobs(), "work");
    assert_eq!(world.count("Failed"), 3);
    assert_eq!(number(&job, "/status/failed"), 3);
    assert_eq!(
        conditions(&job),
        [
            "FailureTarget BackoffLimitExceeded",
            "Failed BackoffLimitExceeded"
        ]
    );
    assert!(job["status"].get("completionTime").is_none());
    let state = "/status/containerStatuses/0/state/terminated/exitCode";
    assert!(world.pods().iter().all(|pod| number(pod, state) == 3));
    let event = "BackoffLimitExceeded: Job has reached the specified backoff limit";
    assert!(world.events("work").contains(&event.to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_rule_can_let_only_the_first_pods_fail() {
    let world = world(json!({}));
    world
        .sandbox
        .pods()
        .of("work")
        .times(2)
        .fail_after(Duration::from_secs(5));
    world.pass(90).await;
    let job = world.get(&jobs(), "work");
    assert_eq!(finished(&job), "Complete");
    assert_eq!(
        (
            number(&job, "/status/failed"),
            number(&job, "/status/succeeded")
        ),
        (2, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn containers_that_start_again_after_a_failure_count_towards_the_limit() {
    let mut object = job(json!({"backoffLimit": 2}));
    object["spec"]["template"]["spec"]["restartPolicy"] = json!("OnFailure");
    let world = World::new();
    world.sandbox.pods().of("work").crash_loop();
    world.create(&jobs(), object);
    world.pass(5).await;
    let pod = world.pods().remove(0);
    assert_eq!(number(&pod, "/status/containerStatuses/0/restartCount"), 1);
    world.pass(60).await;
    let job = world.get(&jobs(), "work");
    assert_eq!(conditions(&job)[1], "Failed BackoffLimitExceeded");
    // The Pod that ran was deleted, and counts as failed.
    assert_eq!(number(&job, "/status/failed"), 1);
    assert!(world.pods().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_a_job_and_its_pods() {
    let world = world(json!({"activeDeadlineSeconds": 30}));
    world.sandbox.pods().of("work").run();
    world.pass(29).await;
    assert_eq!(world.count("Running"), 1);
    world.pass_millis(1_050).await;
    // The Pod still ends: the Job has not finished.
    let job = world.get(&jobs(), "work");
    assert_eq!(conditions(&job), ["FailureTarget DeadlineExceeded"]);
    assert_eq!(number(&job, "/status/terminating"), 1);
    world.pass(5).await;
    let job = world.get(&jobs(), "work");
    assert_eq!(conditions(&job)[1], "Failed DeadlineExceeded");
    assert_eq!(number(&job, "/status/terminating"), 0);
    assert!(world.pods().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_suspended_job_has_no_pods_until_it_is_resumed() {
    let world = world(json!({"suspend": true}));
    world.pass(10).await;
    let job = world.get(&jobs(), "work");
    assert!(world.pods().is_empty());
    assert_eq!(conditions(&job), ["Suspended JobSuspended"]);
    assert!(job["status"].get("startTime").is_none());
    world.sandbox.pods().of("work").run();
    world.change(&jobs(), "work", |job| job["spec"]["suspend"] = json!(false));
    world.pass(2).await;
    let job = world.get(&jobs(), "work");
    assert_eq!(job["status"]["startTime"], "2026-01-01T00:00:10Z");
    assert_eq!(condition(&job, "Suspended").unwrap()["status"], "False");
    assert_eq!(world.count("Running"), 1);
    world.change(&jobs(), "work", |job| job["spec"]["suspend"] = json!(true));
    world.pass(2).await;
    let job = world.get(&jobs(), "work");
    assert!(world.pods().is_empty());
    assert_eq!(
        (
            number(&job, "/status/failed"),
            number(&job, "/status/active")
        ),
        (0, 0)
    );
    let events = world.events("work");
    assert!(
        events.contains(&"Resumed: Job resumed".to_owned()),
        "{events:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_indexed_job_runs_one_pod_for_each_index() {
    let world = world(json!({"completions": 4, "parallelism": 3, "completionMode": "Indexed"}));
    world.pass(1).await;
    let pods = world.pods();
    let index = "batch.kubernetes.io/job-completion-index";
    for (at, pod) in pods.iter().enumerate() {
        let at = at.to_string();
        assert!(meta::name(pod).starts_with(&format!("work-{at}-")));
        assert_eq!(pod["metadata"]["annotations"][index], at);
        assert_eq!(pod["metadata"]["labels"][index], at);
        assert_eq!(pod["spec"]["hostname"], format!("work-{at}"));
        assert_eq!(
            pod["spec"]["containers"][0]["env"][0]["name"],
            "JOB_COMPLETION_INDEX"
        );
    }
    assert_eq!(pods.len(), 3);
    world.pass_millis(900).await;
    assert_eq!(
        world.get(&jobs(), "work")["status"]["completedIndexes"],
        "0-2"
    );
    world.pass(5).await;
    let job = world.get(&jobs(), "work");
    assert_eq!(job["status"]["completedIndexes"], "0-3");
    assert_eq!(finished(&job), "Complete");
    assert_eq!(number(&job, "/status/succeeded"), 4);
}

#[tokio::test(start_paused = true)]
async fn an_index_fails_alone_with_a_limit_per_index() {
    let world = world(json!({
        "completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 1,
        "backoffLimit": 100,
    }));
    // The Pod of index 0 is always the first one.
    world
        .sandbox
        .pods()
        .of("work")
        .times(1)
        .fail_after(Duration::ZERO);
    world.pass(5).await;
    let job = world.get(&jobs(), "work");
    assert_eq!(job["status"]["completedIndexes"], "1");
    // It waits for the Pod in its place, to which it hands its count of failures.
    let failed = world
        .pods()
        .into_iter()
        .find(|pod| pod["status"]["phase"] == "Failed");
    assert_eq!(meta::finalizers(&failed.unwrap()), [FINALIZER]);
    world.sandbox.pods().of("work").fail_after(Duration::ZERO);
    world.pass(20).await;
    let job = world.get(&jobs(), "work");
    assert_eq!(job["status"]["failedIndexes"], "0");
    assert_eq!(conditions(&job)[1], "Failed FailedIndexes");
    assert_eq!(
        (
            number(&job, "/status/failed"),
            number(&job, "/status/succeeded")
        ),
        (2, 1)
    );
    assert!(
        world
            .pods()
            .iter()
            .all(|pod| meta::finalizers(pod).is_empty())
    );
}

#[tokio::test(start_paused = true)]
async fn a_failure_policy_ends_a_job_at_once() {
    let world = world(json!({"podFailurePolicy": {"rules": [
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
    ]}}));
    world
        .sandbox
        .pods()
        .of("work")
        .exit_after(Duration::from_secs(1), 42);
    world.pass(5).await;
    let job = world.get(&jobs(), "work");
    assert_eq!(conditions(&job)[1], "Failed PodFailurePolicy");
    let message = condition(&job, "Failed").unwrap()["message"]
        .as_str()
        .unwrap();
    assert!(message.ends_with("failed with exit code 42 matching FailJob rule at index 0"));
    assert_eq!(number(&job, "/status/failed"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_success_policy_completes_a_job_and_ends_the_other_pods() {
    let world = world(json!({
        "completions": 3, "parallelism": 3, "completionMode": "Indexed",
        "successPolicy": {"rules": [{"succeededCount": 1}]},
    }));
    world.sandbox.pods().all().run();
    world
        .sandbox
        .pods()
        .of("work")
        .times(1)
        .succeed_after(Duration::from_secs(1));
    world.pass(5).await;
    let job = world.get(&jobs(), "work");
    assert_eq!(
        conditions(&job),
        ["SuccessCriteriaMet SuccessPolicy", "Complete SuccessPolicy"]
    );
    assert_eq!(
        (
            number(&job, "/status/succeeded"),
            number(&job, "/status/failed")
        ),
        (1, 0)
    );
    assert_eq!(world.phases().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_pod_is_replaced_and_counts_as_failed() {
    let world = world(json!({}));
    world.sandbox.pods().of("work").run();
    world.pass(5).await;
    let first = meta::name(&world.pods()[0]).to_owned();
    world.delete(&crate::controllers::simulator::object::pods(), &first, None);
    world.pass(30).await;
    let job = world.get(&jobs(), "work");
    assert_eq!(
        (
            number(&job, "/status/failed"),
            number(&job, "/status/active")
        ),
        (1, 1)
    );
    assert_eq!(world.count("Running"), 1);
    assert_ne!(meta::name(&world.pods()[0]), first);
}

#[tokio::test(start_paused = true)]
async fn a_finished_job_is_deleted_when_its_time_to_live_is_over() {
    let world = world(json!({"ttlSecondsAfterFinished": 60}));
    world.pass(50).await;
    assert_eq!(finished(&world.get(&jobs(), "work")), "Complete");
    world.pass(20).await;
    assert!(world.find(&jobs(), "work").is_none());
    assert!(world.pods().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_deleted_job_takes_its_pods_along() {
    for propagation in [Propagation::Background, Propagation::Foreground] {
        let world = world(json!({"parallelism": 2, "completions": 2}));
        world.sandbox.pods().of("work").run();
        world.pass(5).await;
        world.delete(&jobs(), "work", Some(propagation));
        world.pass(5).await;
        assert!(world.find(&jobs(), "work").is_none());
        assert!(world.pods().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_another_controller_manages_stays_as_it_is() {
    let world = world(json!({"managedBy": "example.com/queue"}));
    world.pass(10).await;
    assert!(world.pods().is_empty());
    assert!(
        world.get(&jobs(), "work")["status"]
            .get("startTime")
            .is_none()
    );
}

#[tokio::test(start_paused = true)]
async fn a_namespace_with_a_job_can_be_deleted() {
    let world = World::new();
    let namespaces = crate::registry::GroupResource::new("", "namespaces");
    let place = json!({"metadata": {"name": "place"}});
    world.create(&namespaces, place);
    let mut object = job(json!({"parallelism": 2, "completions": 2}));
    object["metadata"]["namespace"] = json!("place");
    world.sandbox.pods().of("work").run();
    world.create(&jobs(), object);
    world.pass(5).await;
    let options = crate::api::DeleteOptions::default();
    let deleted = world.handle.delete(&namespaces, None, "place", &options);
    deleted.unwrap();
    world.pass(60).await;
    assert!(world.handle.get(&namespaces, None, "place").is_none());
}
