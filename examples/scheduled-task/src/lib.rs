//! Runs a command periodically, each time as a Job, like a small CronJob.

use pilothouse::{
    k8s::{
        api::batch::v1::{Job, JobSpec},
        apimachinery::pkg::apis::meta::v1::Condition,
        jiff::Timestamp,
    },
    prelude::*,
    resource::{Conditions, NewCondition},
};

// ANCHOR: kind
/// A command that runs periodically.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.pilothouse.dev", version = "v1", namespaced)]
pub struct ScheduledTask {
    pub metadata: ObjectMeta,
    pub spec: ScheduledTaskSpec,
    pub status: Option<ScheduledTaskStatus>,
}

/// The command, and how often it runs.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScheduledTaskSpec {
    /// Seconds between two starts. A start is skipped while a run is active.
    #[schema(minimum = 1, column = "Every")]
    pub every_seconds: i64,
    /// The image of the container.
    pub image: String,
    /// The command. If it is empty, the image's own command runs.
    #[serde(default)]
    pub command: Vec<String>,
    /// How many ended runs are kept for inspection.
    #[serde(default = "three")]
    #[schema(minimum = 1)]
    pub history: i32,
}

/// The state of the runs.
#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScheduledTaskStatus {
    /// Name of the active Job.
    #[schema(column = "Active")]
    pub active: Option<String>,
    /// The condition `Healthy` says whether the last run succeeded.
    pub conditions: Vec<Condition>,
}

fn three() -> i32 {
    3
}
// ANCHOR_END: kind

struct ScheduledTaskReconciler;

// ANCHOR: reconciler
impl Reconciler for ScheduledTaskReconciler {
    type Resource = ScheduledTask;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns::<Job>()
            .deletes::<Job>()
            .finalizer("demo.pilothouse.dev/scheduled-task")
    }

    async fn reconcile(
        &self,
        task: Arc<ScheduledTask>,
        cx: &Context<ScheduledTask>,
    ) -> Result<Action> {
        let (run, next) = task.schedule(cx.now());
        let mut jobs = cx.list_owned::<Job>()?.items;
        jobs.sort_by_key(|job| run_of(job));
        let mut status = task.status.clone().unwrap_or_default();

        let was_active = |job: &Arc<Job>| status.active.as_deref() == Some(job.name());
        if let Some(job) = jobs.iter().find(|job| was_active(job))
            && let Some(succeeded) = succeeded(job)
        {
            cx.event(ended(job, succeeded));
            status.conditions.set(healthy(&task, succeeded), cx.now())?;
        }
        let active = jobs.iter().find(|job| succeeded(job).is_none());
        status.active = match active {
            Some(job) => Some(job.name().to_owned()),
            // The Job has the number of the run in its name, so two calls start only one Job.
            None if jobs.last().is_none_or(|last| run_of(last) < run) => {
                let job = cx.apply(job(&task, run)).await?;
                let started = NewEvent::normal("Started", "Start").note(format!("run {run}"));
                cx.event(started.related(&job));
                Some(job.name().to_owned())
            }
            None => None,
        };
        let ended: Vec<_> = jobs.iter().filter(|job| succeeded(job).is_some()).collect();
        let kept = usize::try_from(task.spec.history).unwrap_or(1).max(1);
        for old in &ended[..ended.len().saturating_sub(kept)] {
            cx.delete(&***old).await?;
        }
        cx.update_status(status).await?;
        Ok(Action::requeue_after(next))
    }
}
// ANCHOR_END: reconciler

// ANCHOR: cleanup
impl Cleanup for ScheduledTaskReconciler {
    /// Lets an active run end before the task and its Jobs are deleted.
    async fn cleanup(
        &self,
        _task: Arc<ScheduledTask>,
        cx: &Context<ScheduledTask>,
    ) -> Result<Action> {
        let jobs = cx.list_owned::<Job>()?.items;
        let active = |job: &&Arc<Job>| succeeded(job).is_none() && !job.is_deleting();
        let Some(job) = jobs.iter().find(active) else {
            return Ok(Action::wait());
        };
        let waiting = NewEvent::normal("Waiting", "Delete").note("for the active run to end");
        cx.event(waiting.related(&**job));
        // The end of the Job leads to a call at once. Until then the Event is recorded each minute.
        Ok(Action::requeue_after(Duration::from_secs(60)))
    }
}
// ANCHOR_END: cleanup

impl ScheduledTask {
    /// The number of the latest run that is due, and the time until the next one.
    fn schedule(&self, now: Timestamp) -> (i64, Duration) {
        let every = self.spec.every_seconds.max(1);
        let created = self.metadata.creation_timestamp.as_ref();
        let age = created.map_or(0, |created| now.as_second() - created.0.as_second());
        let next = every - age.max(0) % every;
        (age.max(0) / every, Duration::from_secs(next.unsigned_abs()))
    }
}

/// The number of a Job's run.
fn run_of(job: &Job) -> i64 {
    let number = job.name().rsplit_once('-').map(|(_, number)| number);
    number.and_then(|number| number.parse().ok()).unwrap_or(-1)
}

/// Whether a Job has succeeded; `None` if it has not ended.
fn succeeded(job: &Job) -> Option<bool> {
    let conditions = job.status.as_ref()?.conditions.as_deref()?;
    let holds = |kind: &str| {
        let mut all = conditions.iter();
        all.any(|condition| condition.type_ == kind && condition.status == "True")
    };
    (holds("Complete") || holds("Failed")).then(|| holds("Complete"))
}

/// The Event about a run that has ended.
fn ended(job: &Job, succeeded: bool) -> NewEvent {
    let event = match succeeded {
        true => NewEvent::normal("Succeeded", "Run"),
        false => NewEvent::warning("Failed", "Run"),
    };
    event
        .note(format!("run {} has ended", run_of(job)))
        .related(job)
}

fn healthy(task: &ScheduledTask, succeeded: bool) -> NewCondition {
    let condition = match succeeded {
        true => NewCondition::is_true("Healthy", "Succeeded"),
        false => NewCondition::is_false("Healthy", "Failed"),
    };
    condition.observed(task)
}

// ANCHOR: job
/// The Job of one run.
fn job(task: &ScheduledTask, run: i64) -> Job {
    let command = task.spec.command.clone();
    let main = Container {
        name: "main".into(),
        image: Some(task.spec.image.clone()),
        command: Some(command).filter(|command| !command.is_empty()),
        ..Default::default()
    };
    Job {
        spec: Some(JobSpec {
            backoff_limit: Some(0),
            template: PodTemplateSpec {
                spec: Some(PodSpec {
                    containers: vec![main],
                    restart_policy: Some("Never".into()),
                    ..Default::default()
                }),
                ..Default::default()
            },
            ..Default::default()
        }),
        ..Job::named(format!("{}-{run}", task.name()))
    }
}
// ANCHOR_END: job

/// The operator, for `main` and for the tests.
pub fn operator() -> Operator {
    Operator::new("scheduled-task").controller(ScheduledTaskReconciler)
}

#[cfg(all(test, feature = "dev"))]
mod tests;
