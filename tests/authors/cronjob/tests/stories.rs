//! The whole operator, on a paused clock. It starts at the beginning of 2026.
#![cfg(feature = "dev")]

use author_cronjob::{ConcurrencyPolicy, CronJob, CronJobSpec, SCHEDULED_AT};
use pilothouse::{
    client::{ListParams, Patch, PatchParams},
    k8s::{api::batch::v1::Job, api::events::v1, jiff::Timestamp},
    operator::Running,
    prelude::*,
    resource::Conditions,
    testing::{Answer, Cluster, RequestMatcher, Sandbox},
};
use serde_json::{Value, json};

/// A cluster with the operator.
struct Story {
    cluster: Cluster,
    running: Option<Running>,
}

impl Story {
    async fn begin() -> Self {
        // Without the simulator, the test does the work of the controller of Jobs.
        let cluster = Cluster::with(Sandbox::builder().seed(1)).unwrap();
        let mut story = Self {
            cluster,
            running: None,
        };
        story.start().await;
        story
    }

    async fn start(&mut self) {
        let running = self.cluster.run(author_cronjob::operator()).await;
        self.running = Some(running.unwrap());
    }

    async fn stop(&mut self) {
        self.running.take().unwrap().stop().await;
    }

    async fn create(&self, spec: CronJobSpec) {
        self.cluster
            .create(&cron_job("report", spec))
            .await
            .unwrap();
    }

    async fn set(&self, spec: Value) {
        let patch = json!({ "spec": spec });
        let patched = self.cluster.patch::<CronJob>("report", patch).await;
        patched.unwrap();
    }

    /// Lets time pass until half a minute after this time of the first day.
    async fn until(&self, time: &str) {
        let until: Timestamp = at(time).parse().unwrap();
        let wait = until.duration_since(self.cluster.now());
        let wait = Duration::try_from(wait).unwrap() + Duration::from_secs(30);
        tokio::time::sleep(wait).await;
    }

    /// Ends a run, as the controller of Jobs would.
    async fn end(&self, time: &str, condition: &str) {
        let decided = match condition {
            "Complete" => "SuccessCriteriaMet",
            _ => "FailureTarget",
        };
        let is_true = |condition| json!({"type": condition, "status": "True"});
        let now = self.cluster.now().to_string();
        let mut ended = json!({"status": {
            "conditions": [is_true(decided), is_true(condition)],
            "startTime": now,
        }});
        if condition == "Complete" {
            ended["status"]["completionTime"] = now.into();
        }
        let (jobs, params) = (self.cluster.api::<Job>(), PatchParams::default());
        let name = job_name(time);
        let ended = jobs
            .patch_status(&name, &params, &Patch::Merge(ended))
            .await;
        ended.unwrap();
        self.cluster.settle().await;
    }

    async fn all<K: Resource>(&self) -> Vec<K> {
        let list = self.cluster.api::<K>().list(&ListParams::default()).await;
        list.unwrap().items
    }

    /// The times of all Jobs.
    async fn jobs(&self) -> Vec<String> {
        let jobs = self.all::<Job>().await;
        let mut times: Vec<_> = jobs
            .iter()
            .map(|job| time_of(job.annotation(SCHEDULED_AT)))
            .collect();
        times.sort();
        times
    }

    async fn cron_job(&self) -> CronJob {
        self.cluster.get("report").await.unwrap().unwrap()
    }

    /// The number of active Jobs, and the time of the last run.
    async fn status(&self) -> (usize, String) {
        let status = self.cron_job().await.status.unwrap();
        assert_eq!(status.active.len(), status.active_jobs);
        let last = status.last_schedule_time.map(|time| time.0.to_string());
        (status.active_jobs, time_of(last.as_deref()))
    }

    /// The status, the reason and the message of `Ready`.
    async fn ready(&self) -> (String, String, String) {
        let conditions = self.cron_job().await.status.unwrap().conditions;
        let ready = conditions.of_type("Ready").unwrap().clone();
        (ready.status, ready.reason, ready.message)
    }

    /// The counts, reasons and notes of all Events, oldest first.
    async fn events(&self) -> Vec<String> {
        let mut events = self.all::<v1::Event>().await;
        events.sort_by_key(|event| event.event_time.as_ref().map(|time| time.0));
        let text = |text: Option<String>| text.unwrap_or_default();
        let line = |event: v1::Event| {
            let count = event.series.map_or(1, |series| series.count);
            format!("{count} {}: {}", text(event.reason), text(event.note))
        };
        events.into_iter().map(line).collect()
    }
}

/// This time of the first day.
fn at(time: &str) -> String {
    format!("2026-01-01T{time}:00Z")
}

fn job_name(time: &str) -> String {
    let run: Timestamp = at(time).parse().unwrap();
    format!("report-{}", run.as_second())
}

/// The time of day of a timestamp.
fn time_of(timestamp: Option<&str>) -> String {
    timestamp.map_or(String::new(), |text| text[11..16].to_owned())
}

fn cron_job(name: &str, spec: CronJobSpec) -> CronJob {
    CronJob {
        metadata: ObjectMeta {
            name: Some(name.into()),
            ..Default::default()
        },
        spec,
        status: None,
    }
}

fn spec(schedule: &str) -> CronJobSpec {
    let spec = json!({
        "schedule": schedule,
        "jobTemplate": {
            "metadata": {"labels": {"app": "report"}},
            "spec": {"template": {"spec": {
                "containers": [{"name": "main", "image": "busybox:1.37"}],
                "restartPolicy": "Never",
            }}},
        },
    });
    serde_json::from_value(spec).unwrap()
}

/// All objects after a day in which each run takes a minute and each tenth one fails.
async fn day() -> Vec<Value> {
    let mut story = Story::begin().await;
    story.create(spec("*/15 * * * *")).await;
    for run in 1..=24 * 4 - 1 {
        let time = format!("{:02}:{:02}", run / 4, run % 4 * 15);
        story.until(&time).await;
        assert_eq!(story.status().await, (1, time.clone()));
        story
            .end(&time, if run % 10 == 0 { "Failed" } else { "Complete" })
            .await;
        assert_eq!(story.status().await, (0, time));
    }
    assert_eq!(story.jobs().await, ["22:30", "23:15", "23:30", "23:45"]);
    assert_eq!(story.ready().await.0, "True");
    let unused = story.running.as_ref().unwrap().unused_access();
    assert_eq!(unused.to_string(), "");
    story.stop().await;
    let values = |objects| serde_json::to_value(objects).unwrap();
    let mut objects = vec![json!(story.all::<CronJob>().await)];
    objects.push(values(story.all::<Job>().await));
    objects.push(json!(story.events().await));
    story.cluster.stop().await;
    objects
}

#[tokio::test(start_paused = true)]
async fn a_day_has_all_runs_and_two_days_are_equal() {
    let one = day().await;
    let events = one[2].to_string();
    let count = |reason: &str| events.matches(reason).count();
    // Those of the last hour: a server removes older Events.
    assert_eq!((count("1 Started"), count("1 Removed")), (4, 4));
    let job = &one[1][0];
    assert_eq!(job["metadata"]["labels"]["app"], "report");
    assert_eq!(job["metadata"]["ownerReferences"][0]["kind"], "CronJob");
    assert_eq!(one, day().await);
}

#[tokio::test(start_paused = true)]
async fn allow_runs_jobs_at_the_same_time() {
    let story = Story::begin().await;
    story.create(spec("0 * * * *")).await;
    story.until("02:00").await;
    assert_eq!(story.jobs().await, ["01:00", "02:00"]);
    assert_eq!(story.status().await, (2, "02:00".into()));
}

#[tokio::test(start_paused = true)]
async fn forbid_waits_for_the_end_of_the_active_job() {
    let story = Story::begin().await;
    let concurrency_policy = ConcurrencyPolicy::Forbid;
    story
        .create(CronJobSpec {
            concurrency_policy,
            ..spec("0 * * * *")
        })
        .await;
    story.until("03:10").await;
    assert_eq!(story.jobs().await, ["01:00"]);
    // Only the latest of the runs that had to wait starts.
    story.end("01:00", "Complete").await;
    assert_eq!(story.jobs().await, ["01:00", "03:00"]);
    assert_eq!(story.status().await, (1, "03:00".into()));
}

#[tokio::test(start_paused = true)]
async fn replace_deletes_the_active_job() {
    let story = Story::begin().await;
    let concurrency_policy = ConcurrencyPolicy::Replace;
    story
        .create(CronJobSpec {
            concurrency_policy,
            ..spec("0 * * * *")
        })
        .await;
    let [one, two] = ["01:00", "02:00"].map(job_name);
    story.until("01:30").await;
    assert_eq!(story.events().await, [format!("1 Started: Job {one}")]);
    story.until("02:00").await;
    assert_eq!(story.jobs().await, ["02:00"]);
    assert_eq!(story.status().await, (1, "02:00".into()));
    // A server removes an Event after an hour: the first one is gone.
    let expected = [
        format!("1 Removed: Job {one}"),
        format!("1 Started: Job {two}"),
    ];
    assert_eq!(story.events().await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_suspended_cron_job_starts_nothing_until_it_is_resumed() {
    let story = Story::begin().await;
    story
        .create(CronJobSpec {
            suspend: true,
            ..spec("0 * * * *")
        })
        .await;
    story.until("03:10").await;
    assert_eq!(story.jobs().await, [""; 0]);
    assert_eq!(story.status().await, (0, String::new()));

    // The latest missed run starts at once.
    story.set(json!({"suspend": false})).await;
    story.cluster.settle().await;
    assert_eq!(story.jobs().await, ["03:00"]);

    // Active runs go on and their end is noticed.
    story.set(json!({"suspend": true})).await;
    story.until("04:00").await;
    story.end("03:00", "Complete").await;
    assert_eq!(story.jobs().await, ["03:00"]);
    assert_eq!(story.status().await, (0, "03:00".into()));
}

#[tokio::test(start_paused = true)]
async fn after_a_pause_of_the_operator_only_a_run_within_the_deadline_starts() {
    for (deadline, expected) in [(None, "04:00"), (Some(1200), "04:00"), (Some(300), "01:00")] {
        let mut story = Story::begin().await;
        let starting_deadline_seconds = deadline;
        story
            .create(CronJobSpec {
                starting_deadline_seconds,
                ..spec("0 * * * *")
            })
            .await;
        story.until("01:00").await;
        story.stop().await;
        story.until("04:10").await;
        story.start().await;
        story.cluster.settle().await;
        assert_eq!(story.status().await.1, expected, "{deadline:?}");
        story.until("05:00").await;
        assert_eq!(story.status().await.1, "05:00", "{deadline:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn too_many_missed_runs_are_shown_until_a_deadline_is_set() {
    let mut story = Story::begin().await;
    story.create(spec("* * * * *")).await;
    story.until("00:01").await;
    story.stop().await;
    story.until("02:00").await;
    story.start().await;
    story.cluster.settle().await;
    let (status, reason, message) = story.ready().await;
    assert_eq!((&*status, &*reason), ("False", "ReconcileFailed"));
    assert_eq!(
        message,
        "more than 100 runs were missed since 2026-01-01T00:01:00Z: \
         set or decrease startingDeadlineSeconds, or check the clock"
    );
    story.set(json!({"startingDeadlineSeconds": 90})).await;
    story.cluster.settle().await;
    assert_eq!(story.ready().await.0, "True");
    assert_eq!(story.jobs().await, ["00:01", "02:00"]);
}

#[tokio::test(start_paused = true)]
async fn no_ended_job_is_kept_if_the_limits_are_zero_and_none_runs_again() {
    let story = Story::begin().await;
    let none = CronJobSpec {
        successful_jobs_history_limit: 0,
        failed_jobs_history_limit: 0,
        ..spec("0 * * * *")
    };
    story.create(none).await;
    for (time, condition) in [("01:00", "Complete"), ("02:00", "Failed")] {
        story.until(time).await;
        story.end(time, condition).await;
        assert_eq!(story.jobs().await, [""; 0]);
        assert_eq!(story.status().await, (0, time.into()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_deleted_job_is_not_made_again() {
    let mut story = Story::begin().await;
    story.create(spec("0 * * * *")).await;
    story.until("01:00").await;
    story
        .cluster
        .delete::<Job>(&job_name("01:00"))
        .await
        .unwrap();
    story.cluster.settle().await;
    assert_eq!(story.jobs().await, [""; 0]);
    assert_eq!(story.status().await, (0, "01:00".into()));
    // A restart does not forget this.
    story.stop().await;
    story.start().await;
    story.until("01:30").await;
    assert_eq!(story.jobs().await, [""; 0]);
    story.until("02:00").await;
    assert_eq!(story.jobs().await, ["02:00"]);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_schedule_is_shown_and_not_retried() {
    let story = Story::begin().await;
    story.create(spec("61 * * * *")).await;
    story.cluster.settle().await;
    let problem = "invalid schedule: minute: \"61\" is no value or range from 0 to 59";
    let expected = ("False".into(), "ReconcileFailed".into(), problem.into());
    assert_eq!(story.ready().await, expected);
    assert_eq!(
        story.events().await,
        [format!("1 ReconcileFailed: {problem}")]
    );

    story.cluster.forget_requests();
    story.until("06:00").await;
    assert_eq!(story.cluster.writes(), []);

    story.set(json!({"schedule": "0 * * * *"})).await;
    story.cluster.settle().await;
    assert_eq!(story.ready().await.0, "True");
    assert_eq!(story.jobs().await, ["06:00"]);
}

#[tokio::test(start_paused = true)]
async fn the_definition_refuses_other_mistakes() {
    let story = Story::begin().await;
    story.create(spec("0 * * * *")).await;
    for (change, problem) in [
        (
            json!({"schedule": "@hourly  "}),
            "schedule must have five fields",
        ),
        (json!({"schedule": "*"}), "should be at least 9 chars long"),
        (
            json!({"concurrencyPolicy": "Never"}),
            "supported values: \"Allow\", \"Forbid\", \"Replace\"",
        ),
        (
            json!({"failedJobsHistoryLimit": -1}),
            "should be greater than or equal to 0",
        ),
        (
            json!({"startingDeadlineSeconds": -1}),
            "should be greater than or equal to 0",
        ),
        (
            json!({"jobTemplate": null}),
            "spec.jobTemplate: Required value",
        ),
    ] {
        let patch = json!({ "spec": change });
        let refused = story.cluster.patch::<CronJob>("report", patch).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(problem), "{change}: {refused}");
    }
    let long = cron_job(&"x".repeat(53), spec("0 * * * *"));
    story.cluster.create(&long).await.unwrap();
    let shown = |cron: &CronJob| {
        let status = cron.status.as_ref();
        status.is_some_and(|status| status.conditions.is_false("Ready"))
    };
    story
        .cluster
        .until(long.name(), "show the problem", shown)
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_restart_with_nothing_changed_writes_nothing() {
    let mut story = Story::begin().await;
    story.create(spec("0 * * * *")).await;
    story.until("01:00").await;
    story.end("01:00", "Complete").await;
    story.until("02:00").await;
    story.stop().await;
    story.cluster.forget_requests();
    story.start().await;
    story.until("02:50").await;
    let mut writes = story.cluster.writes();
    // The test's own installation.
    writes.retain(|write| write.resource != "customresourcedefinitions");
    assert_eq!(writes, []);
    story.until("03:00").await;
    assert_eq!(story.jobs().await, ["01:00", "02:00", "03:00"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_starts_once_if_requests_fail_and_an_answer_is_lost() {
    let story = Story::begin().await;
    story.create(spec("0 * * * *")).await;
    let faults = story.cluster.faults();
    let jobs = || RequestMatcher::any().verb("patch").resource("jobs");
    faults.answer(jobs(), Answer::status(500, "InternalError"), 5);
    faults.lose_responses(jobs(), 1);
    story.until("01:00").await;
    assert_eq!(story.status().await, (1, "01:00".into()));
    story.end("01:00", "Complete").await;
    assert_eq!(story.jobs().await, ["01:00"]);
    assert_eq!(story.ready().await.0, "True");
}

#[tokio::test(start_paused = true)]
async fn the_starts_of_each_minute_are_one_event() {
    let story = Story::begin().await;
    story.create(spec("* * * * *")).await;
    for run in 1..=40 {
        let time = format!("00:{run:02}");
        story.until(&time).await;
        story.end(&time, "Complete").await;
    }
    // The recorder writes the count with growing pauses.
    story.until("00:59").await;
    let events = story.events().await;
    assert_eq!(events.len(), 2, "{events:?}");
}
