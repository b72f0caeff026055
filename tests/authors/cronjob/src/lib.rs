//! Runs Jobs at the times of a cron expression: the CronJob of kubebuilder's tutorial.

use pilothouse::{
    k8s::{
        api::{
            batch::v1::{Job, JobTemplateSpec},
            core::v1::ObjectReference,
        },
        apimachinery::pkg::apis::meta::v1::Time,
        jiff::{SignedDuration, Timestamp},
    },
    prelude::*,
};

pub use schedule::Schedule;

mod schedule;

/// The annotation of a Job with the time at which its run was due.
pub const SCHEDULED_AT: &str = "batch.example.com/scheduled-at";

/// A longer name leaves no room for the time of the run in the names of the Jobs.
const LONGEST_NAME: usize = 52;

/// More missed runs than this are an error: they would only show that something is wrong.
const MOST_MISSED: usize = 100;

/// Jobs that run at the times of a schedule.
#[derive(Resource, Clone, Debug)]
#[resource(group = "batch.example.com", version = "v1", namespaced)]
pub struct CronJob {
    pub metadata: ObjectMeta,
    pub spec: CronJobSpec,
    pub status: Option<CronJobStatus>,
}

/// What runs, and when.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CronJobSpec {
    /// Five fields: minute, hour, day of month, month, day of week. The time zone is UTC.
    #[schema(min_length = 9, max_length = 200, column = "Schedule")]
    #[schema(rule(
        "self.split(' ').filter(field, field != '').size() == 5",
        "schedule must have five fields"
    ))]
    pub schedule: String,
    /// A run that could not start for this time after it was due does not start at all.
    #[schema(minimum = 0)]
    pub starting_deadline_seconds: Option<i64>,
    /// What happens if a run is due while another one is active.
    #[serde(default)]
    pub concurrency_policy: ConcurrencyPolicy,
    /// Whether no run starts. Active runs go on.
    #[serde(default)]
    #[schema(column = "Suspend")]
    pub suspend: bool,
    /// The Job of each run.
    pub job_template: JobTemplateSpec,
    /// How many completed Jobs are kept.
    #[serde(default = "three")]
    pub successful_jobs_history_limit: usize,
    /// How many failed Jobs are kept.
    #[serde(default = "one")]
    pub failed_jobs_history_limit: usize,
}

/// What happens if a run is due while another one is active.
#[derive(Schema, Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub enum ConcurrencyPolicy {
    /// Both run.
    #[default]
    Allow,
    /// The new run waits for the end of the active one.
    Forbid,
    /// The new run replaces the active one.
    Replace,
}

/// The state of the runs.
#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CronJobStatus {
    /// The active Jobs.
    #[schema(list_type = "atomic")]
    pub active: Vec<ObjectReference>,
    /// Number of active Jobs.
    #[schema(column = "Active")]
    pub active_jobs: usize,
    /// When the latest run that has started was due.
    #[schema(column = "Last Schedule")]
    pub last_schedule_time: Option<Time>,
    /// The framework sets `Ready`: whether the last reconcile succeeded, and why not.
    pub conditions: Vec<Condition>,
}

fn one() -> usize {
    1
}

fn three() -> usize {
    3
}

struct CronJobReconciler;

impl Reconciler for CronJobReconciler {
    type Resource = CronJob;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Job>().deletes::<Job>()
    }

    async fn reconcile(&self, cron: Arc<CronJob>, cx: &Context<CronJob>) -> Result<Action> {
        let (spec, now) = (&cron.spec, cx.now());
        let mut jobs = cx.list_owned::<Job>()?.items;
        jobs.sort_by_key(|job| scheduled_at(job));
        let with = |state: State| {
            let jobs = jobs.iter().map(|job| &**job);
            let some = jobs.filter(move |job| State::of(job) == state);
            some.collect::<Vec<_>>()
        };
        let mut active = with(State::Active);

        // The status remembers the last run if its Job is gone. A Job remembers it if the status was not written.
        let last = cron
            .status
            .as_ref()
            .and_then(|status| status.last_schedule_time.clone());
        let last = jobs
            .iter()
            .filter_map(|job| scheduled_at(job))
            .chain(last.map(|time| time.0))
            .max();
        cx.update_status(status(&active, last)).await?;

        for (ended, limit) in [
            (with(State::Complete), spec.successful_jobs_history_limit),
            (with(State::Failed), spec.failed_jobs_history_limit),
        ] {
            let surplus = ended.len().saturating_sub(limit);
            for job in &ended[..surplus] {
                remove(job, cx).await?;
            }
        }

        if spec.suspend {
            return Ok(Action::wait());
        }
        let schedule = cron
            .schedule()
            .map_err(|error| Failure::from(error).terminal())?;
        let due = cron.due(&schedule, last, now)?;
        let next = match schedule.next(now) {
            Some(next) => Action::requeue_after(next.duration_since(now).unsigned_abs()),
            None => Action::wait(),
        };
        let Some(run) = due else {
            return Ok(next);
        };
        match spec.concurrency_policy {
            ConcurrencyPolicy::Allow => {}
            // The end of the active Job leads to a call at once.
            ConcurrencyPolicy::Forbid if active.is_empty() => {}
            ConcurrencyPolicy::Forbid => return Ok(next),
            ConcurrencyPolicy::Replace => {
                for job in active.drain(..) {
                    remove(job, cx).await?;
                }
            }
        }
        // The name of the Job contains the time of the run, so two calls start only one Job.
        let job = cx.apply(cron.job(run)).await?;
        let started = NewEvent::normal("Started", "Start").note(format!("Job {}", job.name()));
        // Without a related object, the starts of each minute are one Event with a count.
        cx.event(started);
        active.push(&job);
        cx.update_status(status(&active, Some(run))).await?;
        Ok(next)
    }
}

/// Deletes a Job.
async fn remove(job: &Job, cx: &Context<CronJob>) -> Result<()> {
    if !job.is_deleting() {
        cx.delete(job).await?;
        let removed = NewEvent::normal("Removed", "Delete").note(format!("Job {}", job.name()));
        cx.event(removed);
    }
    Ok(())
}

impl CronJob {
    /// The schedule. No retry of an error helps before somebody changes the object.
    fn schedule(&self) -> Result<Schedule, String> {
        if self.name().len() > LONGEST_NAME {
            return Err(format!("the name has more than {LONGEST_NAME} characters"));
        }
        self.spec.schedule.parse()
    }

    /// The latest run that is due and has not started.
    fn due(
        &self,
        schedule: &Schedule,
        last: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>> {
        let created = self.metadata.creation_timestamp.as_ref();
        let mut since = last.or(created.map(|time| time.0)).unwrap_or(now);
        if let Some(seconds) = self.spec.starting_deadline_seconds {
            since = since.max(now.saturating_sub(SignedDuration::from_secs(seconds))?);
        }
        let missed = schedule.runs_after(since).take_while(|run| *run <= now);
        let missed: Vec<_> = missed.take(MOST_MISSED + 1).collect();
        if missed.len() > MOST_MISSED {
            let text = format!(
                "more than {MOST_MISSED} runs were missed since {since}: \
                 set or decrease startingDeadlineSeconds, or check the clock"
            );
            return Err(Failure::new(text).terminal());
        }
        Ok(missed.last().copied())
    }

    /// The Job of a run.
    fn job(&self, run: Timestamp) -> Job {
        let template = self.spec.job_template.clone();
        let metadata = template.metadata.unwrap_or_default();
        let mut annotations = metadata.annotations.unwrap_or_default();
        annotations.insert(SCHEDULED_AT.into(), run.to_string());
        Job {
            metadata: ObjectMeta {
                name: Some(format!("{}-{}", self.name(), run.as_second())),
                labels: metadata.labels,
                annotations: Some(annotations),
                ..Default::default()
            },
            spec: template.spec,
            status: None,
        }
    }
}

/// What has become of a Job.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Active,
    Complete,
    Failed,
}

impl State {
    fn of(job: &Job) -> Self {
        let conditions = job
            .status
            .iter()
            .flat_map(|status| status.conditions.iter().flatten());
        let mut holding = conditions.filter(|condition| condition.status == "True");
        let state = holding.find_map(|condition| match &*condition.type_ {
            "Complete" => Some(Self::Complete),
            "Failed" => Some(Self::Failed),
            _ => None,
        });
        state.unwrap_or(Self::Active)
    }
}

/// When the run of a Job was due.
fn scheduled_at(job: &Job) -> Option<Timestamp> {
    job.annotation(SCHEDULED_AT)?.parse().ok()
}

/// The status with these active Jobs. The framework keeps the conditions.
fn status(active: &[&Job], last: Option<Timestamp>) -> CronJobStatus {
    CronJobStatus {
        active: active.iter().map(|job| reference(job)).collect(),
        active_jobs: active.len(),
        last_schedule_time: last.map(Time),
        ..Default::default()
    }
}

fn reference(job: &Job) -> ObjectReference {
    ObjectReference {
        api_version: Some("batch/v1".into()),
        kind: Some("Job".into()),
        namespace: job.metadata.namespace.clone(),
        name: job.metadata.name.clone(),
        uid: job.metadata.uid.clone(),
        ..Default::default()
    }
}

/// The operator, for `main` and for the tests.
pub fn operator() -> Operator {
    Operator::new("cronjob").controller(CronJobReconciler)
}
