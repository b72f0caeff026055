//! A whole day of the operator, on a paused clock.
#![cfg(feature = "dev")]

use std::{sync::LazyLock, thread};

use pilothouse::{
    client::ListParams,
    k8s::{
        api::{batch::v1::Job, events::v1},
        jiff::Timestamp,
    },
    prelude::*,
    resource::Conditions,
    testing::Cluster,
};
use scheduled_task::{ScheduledTask, ScheduledTaskSpec};
use serde_json::Value;

// ANCHOR: day
const EVERY: Duration = Duration::from_secs(15 * 60);
const RUNS: u32 = 24 * 4;
const MINUTE: Duration = Duration::from_secs(60);

/// What a day leaves behind.
#[derive(Debug, PartialEq)]
struct Day {
    /// When each run was started.
    starts: Vec<Timestamp>,
    /// All objects, with all their timestamps.
    objects: Vec<Value>,
}

/// Lets a day pass, in which each run takes a minute and each tenth run fails.
async fn day() -> Day {
    let cluster = Cluster::start().unwrap();
    cluster.pods().of("greet").succeed_after(MINUTE);
    for run in (9..RUNS).step_by(10) {
        cluster.pods().of(format!("greet-{run}")).fail_after(MINUTE);
    }
    let running = cluster.run(scheduled_task::operator()).await.unwrap();
    cluster.create(&task()).await.unwrap();
    let mut starts = Vec::new();
    for run in 0..RUNS {
        let name = format!("greet-{run}");
        let job = cluster.until(&name, "exist", |_: &Job| true).await.unwrap();
        starts.push(job.metadata.creation_timestamp.unwrap().0);
        tokio::time::sleep(EVERY).await;
    }
    let objects = objects(&cluster).await;
    running.stop().await;
    cluster.stop().await;
    Day { starts, objects }
}
// ANCHOR_END: day

fn task() -> ScheduledTask {
    ScheduledTask {
        metadata: ObjectMeta {
            name: Some("greet".into()),
            ..Default::default()
        },
        spec: ScheduledTaskSpec {
            every_seconds: EVERY.as_secs().try_into().unwrap(),
            image: "busybox:1.37".into(),
            command: vec!["echo".into(), "hello".into()],
            history: 3,
        },
        status: None,
    }
}

async fn objects(cluster: &Cluster) -> Vec<Value> {
    async fn all<K: Resource>(cluster: &Cluster) -> Vec<Value> {
        let list = cluster.api::<K>().list(&ListParams::default()).await;
        let items = list.unwrap().items.into_iter();
        items
            .map(|one| serde_json::to_value(one).unwrap())
            .collect()
    }
    let mut objects = all::<ScheduledTask>(cluster).await;
    objects.extend(all::<Job>(cluster).await);
    objects.extend(all::<v1::Event>(cluster).await);
    objects
}

/// Two days, for both tests.
static DAYS: LazyLock<[Day; 2]> = LazyLock::new(|| {
    let other = thread::spawn(run_day);
    [run_day(), other.join().unwrap()]
});

/// Runs a day in a runtime of its own, whose clock is paused.
fn run_day() -> Day {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build();
    runtime.unwrap().block_on(day())
}

// ANCHOR: equal
#[test]
fn two_days_are_equal_with_all_timestamps() {
    let [one, other] = &*DAYS;
    assert_eq!(one.starts.len(), RUNS as usize);
    // A run starts when it is due, by the time of its task.
    let first = one.starts[0];
    for (run, start) in (0..).zip(&one.starts) {
        assert_eq!(*start, first + EVERY * run, "run {run}");
    }
    assert_eq!(one, other);
}
// ANCHOR_END: equal

#[test]
fn conditions_events_and_status_have_the_time_of_the_server() {
    let [day, _] = &*DAYS;
    let text = |object: &Value, path: &str| object.pointer(path)?.as_str().map(str::to_owned);
    let time = |object: &Value, path: &str| text(object, path)?.parse::<Timestamp>().ok();
    let task: ScheduledTask = serde_json::from_value(day.objects[0].clone()).unwrap();
    let conditions = task.status.unwrap().conditions;
    // The run with the number 89 failed and run 90 succeeded. So `Healthy` changed last at the end of run 90.
    let healthy = conditions.of_type("Healthy").unwrap();
    let late = healthy
        .last_transition_time
        .0
        .duration_since(day.starts[90] + MINUTE);
    // A Pod starts in less than a second.
    assert!((0..=1).contains(&late.as_secs()), "{late}");
    assert_eq!(healthy.status, "True");
    // The framework's own condition is as old as the task.
    let ready = conditions.of_type("Ready").unwrap();
    assert_eq!(
        (&*ready.status, ready.last_transition_time.0),
        ("True", day.starts[0])
    );

    let about = |run: u32| {
        let job = format!("greet-{run}");
        let is_it = move |event: &&Value| {
            text(event, "/related/name") == Some(job.clone())
                && text(event, "/reason").as_deref() == Some("Started")
        };
        day.objects.iter().find(is_it)
    };
    let last = about(95).expect("an Event about the last start");
    let seen = time(last, "/eventTime").unwrap();
    let late = seen.duration_since(day.starts[95]);
    assert!(late.as_secs() == 0 && !late.is_negative(), "{late}");
}
