//! The reconciler without a server or caches. The tests make time pass.

use pilothouse::{
    k8s::{
        api::{batch::v1::JobStatus, events::v1},
        jiff::SignedDuration,
    },
    testing::Offline,
};

use super::*;

const EVERY: i64 = 3600;

struct Story(Offline<ScheduledTaskReconciler>);

impl Story {
    fn begin(history: i32) -> Self {
        let offline = Offline::new(ScheduledTaskReconciler);
        let task = ScheduledTask {
            metadata: ObjectMeta {
                name: Some("greet".into()),
                ..Default::default()
            },
            spec: ScheduledTaskSpec {
                every_seconds: EVERY,
                image: "busybox".into(),
                command: vec!["echo".into(), "hello".into()],
                history,
            },
            status: None,
        };
        offline.seed(task);
        let story = Self(offline);
        story.set_run(0);
        story
    }

    fn task(&self) -> ScheduledTask {
        self.0.get("greet").unwrap()
    }

    // ANCHOR: time
    /// Sets the time: half of the hour of this run has passed.
    fn set_run(&self, run: i64) {
        let created = self.task().metadata.creation_timestamp.unwrap().0;
        let age = SignedDuration::from_secs(run * EVERY + EVERY / 2);
        self.0.set_time(created + age);
    }
    // ANCHOR_END: time

    /// Makes this run due, and reconciles.
    async fn hour(&self, run: i64) -> Action {
        self.set_run(run);
        self.reconcile().await
    }

    async fn reconcile(&self) -> Action {
        self.0.reconcile("greet").await.unwrap()
    }

    /// Sets the status of a Job that has ended, as the controller of Jobs would.
    fn end(&self, job: &str, condition: &str) {
        let mut job = self.0.get::<Job>(job).unwrap();
        let ended = serde_json::json!({"conditions": [{"type": condition, "status": "True"}]});
        job.status = Some(serde_json::from_value::<JobStatus>(ended).unwrap());
        self.0.seed(job);
    }

    /// The numbers of the runs whose Jobs exist, up to 9.
    fn jobs(&self) -> Vec<i64> {
        let is_there = |run: &i64| self.0.get::<Job>(&format!("greet-{run}")).is_some();
        (0..10).filter(is_there).collect()
    }

    fn status(&self) -> (Option<String>, Option<String>) {
        let status = self.task().status.unwrap_or_default();
        let healthy = status.conditions.of_type("Healthy");
        let healthy = healthy.map(|one| one.status.clone());
        (status.active, healthy)
    }

    fn events(&self) -> Vec<String> {
        let line = |event: v1::Event| {
            let text = |text: Option<String>| text.unwrap_or_default();
            format!("{}: {}", text(event.reason), text(event.note))
        };
        self.0.events().into_iter().map(line).collect()
    }
}

fn is(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[tokio::test(start_paused = true)]
async fn runs_start_one_after_the_other_and_some_ended_runs_are_kept() {
    let story = Story::begin(1);
    let action = story.reconcile().await;
    let half = Duration::from_secs(EVERY.unsigned_abs() / 2);
    assert_eq!(action, Action::requeue_after(half));
    assert_eq!(story.jobs(), [0]);
    assert_eq!(story.status(), (is("greet-0"), None));
    assert_eq!(story.events(), ["Started: run 0"]);

    // While a run is active, the next ones are skipped.
    let _ = story.hour(1).await;
    let _ = story.hour(2).await;
    assert_eq!(story.jobs(), [0]);
    assert!(story.events().is_empty());

    story.end("greet-0", "Complete");
    let _ = story.reconcile().await;
    assert_eq!(story.jobs(), [0, 2]);
    assert_eq!(story.status(), (is("greet-2"), is("True")));
    assert_eq!(
        story.events(),
        ["Succeeded: run 0 has ended", "Started: run 2"]
    );

    story.end("greet-2", "Failed");
    let _ = story.reconcile().await;
    // The older ended run is deleted, and no run starts before the hour has passed.
    assert_eq!(story.jobs(), [2]);
    assert_eq!(story.status(), (None, is("False")));
    assert_eq!(story.events(), ["Failed: run 2 has ended"]);

    story.0.forget_writes();
    let _ = story.reconcile().await;
    assert_eq!(story.0.writes(), []);

    let _ = story.hour(3).await;
    assert_eq!(story.jobs(), [2, 3]);
    assert_eq!(story.status(), (is("greet-3"), is("False")));
}

// ANCHOR: story
#[tokio::test(start_paused = true)]
async fn a_deleted_task_waits_for_its_active_run() {
    let story = Story::begin(3);
    let _ = story.reconcile().await;
    story.events();
    assert!(story.0.delete::<ScheduledTask>("greet"));
    assert_eq!(
        story.reconcile().await,
        Action::requeue_after(Duration::from_secs(60))
    );
    assert_eq!(story.events(), ["Waiting: for the active run to end"]);
    assert!(story.0.get::<ScheduledTask>("greet").is_some());

    story.end("greet-0", "Complete");
    let _ = story.reconcile().await;
    assert!(story.0.get::<ScheduledTask>("greet").is_none());
    story.0.deleted("greet").await.unwrap();
}
// ANCHOR_END: story

#[tokio::test(start_paused = true)]
async fn a_run_that_failed_to_start_is_started_by_the_next_reconcile() {
    let story = Story::begin(3);
    let away = pilothouse::resource::Status::from_code(503, "not now");
    story.0.fail_next::<Job>("apply", away);
    assert!(story.0.reconcile("greet").await.is_err());
    assert_eq!((story.jobs(), story.status()), (vec![], (None, None)));
    assert!(story.events().is_empty());

    let _ = story.reconcile().await;
    let _ = story.reconcile().await;
    assert_eq!(story.jobs(), [0]);
    assert_eq!(story.events(), ["Started: run 0"]);
}
