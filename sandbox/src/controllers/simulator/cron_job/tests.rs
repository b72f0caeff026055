use std::time::Duration;

use serde_json::{Value, json};

use crate::controllers::simulator::object::{cron_jobs, jobs};
use crate::controllers::simulator::world::World;
use crate::meta;

const MINUTE: u64 = 60;
/// The minutes from 1970 to the start of the sandbox.
const START: u64 = 1_767_225_600 / 60;

fn world(spec: Value) -> World {
    let world = World::new();
    let mut object = json!({
        "metadata": {"name": "tick", "namespace": "default"},
        "spec": {
            "schedule": "*/5 * * * *",
            "jobTemplate": {
                "metadata": {"labels": {"app": "tick"}},
                "spec": {"backoffLimit": 0, "template": {"spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "busybox"}],
                }}},
            },
        },
    });
    for (field, value) in spec.as_object().unwrap() {
        object["spec"][field] = value.clone();
    }
    world.create(&cron_jobs(), object);
    world
}

impl World {
    fn tick(&self) -> Value {
        self.get(&cron_jobs(), "tick")
    }

    /// The minutes, counted from the start, in the names of the Jobs.
    fn runs(&self) -> Vec<u64> {
        let all = self.handle.list(&jobs(), None);
        let minute = |name: &str| name.rsplit_once('-').unwrap().1.parse::<u64>().unwrap();
        all.iter()
            .map(|job| minute(meta::name(job)) - START)
            .collect()
    }

    fn active(&self) -> usize {
        self.tick()["status"]["active"]
            .as_array()
            .map_or(0, Vec::len)
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_starts_at_each_time_of_the_schedule() {
    let world = world(json!({}));
    world.pass(4 * MINUTE).await;
    assert!(world.runs().is_empty());
    assert_eq!(world.tick()["status"], json!({}));
    world.pass(MINUTE + 1).await;
    assert_eq!(world.runs(), [5]);
    let tick = world.tick();
    let job = world.get(&jobs(), &format!("tick-{}", START + 5));
    assert_eq!(tick["status"]["lastScheduleTime"], "2026-01-01T00:05:00Z");
    let active = &tick["status"]["active"][0];
    assert_eq!(
        (&active["uid"], &active["kind"]),
        (&job["metadata"]["uid"], &json!("Job"))
    );
    assert_eq!(job["metadata"]["labels"]["app"], "tick");
    assert_eq!(job["metadata"]["ownerReferences"][0]["kind"], "CronJob");
    assert_eq!(
        job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"],
        "2026-01-01T00:05:00Z"
    );
    world.pass(5).await;
    let tick = world.tick();
    assert!(tick["status"].get("active").is_none());
    assert_eq!(tick["status"]["lastSuccessfulTime"], "2026-01-01T00:05:01Z");
    let name = meta::name(&job);
    assert_eq!(
        world.events("tick"),
        [
            format!("SawCompletedJob: Saw completed job: {name}, condition: Complete"),
            format!("SuccessfulCreate: Created job {name}"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn only_the_last_successful_and_failed_jobs_stay() {
    let world = world(json!({"successfulJobsHistoryLimit": 2, "failedJobsHistoryLimit": 1}));
    world.pass(21 * MINUTE).await;
    assert_eq!(world.runs(), [15, 20]);
    world
        .sandbox
        .pods()
        .of("tick")
        .times(2)
        .fail_after(Duration::from_secs(1));
    world.pass(15 * MINUTE).await;
    // The runs 25 and 30 failed.
    assert_eq!(world.runs(), [20, 30, 35]);
    let events = world.events("tick");
    assert!(events.contains(&format!("SuccessfulDelete: Deleted job tick-{}", START + 5)));
}

#[tokio::test(start_paused = true)]
async fn the_policy_decides_about_jobs_that_still_run() {
    for (policy, runs) in [
        ("Allow", vec![5, 10, 15]),
        ("Forbid", vec![5]),
        ("Replace", vec![15]),
    ] {
        let world = world(json!({"concurrencyPolicy": policy}));
        world.sandbox.pods().of("tick").run();
        world.pass(16 * MINUTE).await;
        assert_eq!(world.runs(), runs, "{policy}");
        assert_eq!(world.active(), runs.len(), "{policy}");
        assert_eq!(world.count("Running"), runs.len(), "{policy}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_forbidden_starts_once_the_last_one_has_ended() {
    let world = world(json!({"concurrencyPolicy": "Forbid"}));
    world
        .sandbox
        .pods()
        .of("tick")
        .succeed_after(Duration::from_secs(7 * MINUTE));
    world.pass(12 * MINUTE + 5).await;
    assert_eq!(world.runs(), [5, 10]);
    let events = world.events("tick");
    assert!(
        events
            .iter()
            .any(|event| event.starts_with("JobAlreadyActive: "))
    );
}

#[tokio::test(start_paused = true)]
async fn a_suspended_cron_job_starts_only_the_latest_run_when_it_is_resumed() {
    let world = world(json!({"suspend": true}));
    world.pass(21 * MINUTE).await;
    assert!(world.runs().is_empty());
    world.change(&cron_jobs(), "tick", |tick| {
        tick["spec"]["suspend"] = json!(false)
    });
    world.pass(1).await;
    assert_eq!(world.runs(), [20]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_too_late_does_not_start() {
    let world = world(json!({"suspend": true, "startingDeadlineSeconds": 30}));
    world.pass(6 * MINUTE).await;
    world.change(&cron_jobs(), "tick", |tick| {
        tick["spec"]["suspend"] = json!(false)
    });
    world.pass(1).await;
    assert!(world.runs().is_empty());
    world.pass(4 * MINUTE).await;
    assert_eq!(world.runs(), [10]);
}

#[tokio::test(start_paused = true)]
async fn a_schedule_follows_its_time_zone() {
    let world = world(json!({"schedule": "0 6 * * *", "timeZone": "Asia/Tokyo"}));
    world.pass(21 * 60 * MINUTE + 5).await;
    assert_eq!(world.runs(), [21 * 60]);
    let job = world.get(&jobs(), &format!("tick-{}", START + 21 * 60));
    assert_eq!(
        job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"],
        "2026-01-02T06:00:00+09:00"
    );
}

#[tokio::test(start_paused = true)]
async fn a_changed_schedule_holds_at_once() {
    let world = world(json!({"schedule": "@yearly"}));
    world.pass(MINUTE).await;
    world.change(&cron_jobs(), "tick", |tick| {
        tick["spec"]["schedule"] = json!("*/2 * * * *")
    });
    world.pass(MINUTE + 1).await;
    assert_eq!(world.runs(), [2]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_scheduled_is_reported() {
    // The API server refuses a schedule that cannot be read, and an unknown time zone.
    let world = world(json!({"schedule": "0 0 31 2 *"}));
    world.pass(1).await;
    let events = world.events("tick");
    assert!(events[0].starts_with("InvalidSchedule: "), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_was_deleted_is_no_longer_active() {
    let world = world(json!({}));
    world.sandbox.pods().of("tick").run();
    world.pass(5 * MINUTE + 5).await;
    assert_eq!(world.active(), 1);
    world.delete(&jobs(), &format!("tick-{}", START + 5), None);
    world.pass(1).await;
    assert_eq!(world.active(), 0);
}
