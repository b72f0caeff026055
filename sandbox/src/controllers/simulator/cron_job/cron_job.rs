use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::missed::{due, until_next};
use super::schedule::Schedule;
use crate::api::{DeleteOptions, Handle, Propagation};
use crate::controllers::simulator::events::{self, Message};
use crate::controllers::simulator::job::finish;
use crate::controllers::simulator::object::{
    controller_reference, cron_jobs, is_controlled_by, jobs, update,
};
use crate::meta;

const COMPONENT: &str = "cronjob-controller";
const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// Starts the Job that is due, and reports the Jobs that run. Returns the time until the next one.
pub(in crate::controllers::simulator) fn reconcile(
    handle: &Handle,
    cron_job: &Value,
) -> Option<Duration> {
    let mut step = Step {
        handle,
        cron_job,
        status: cron_job["status"].clone(),
        jobs: handle.list(&jobs(), Some(meta::text(cron_job, "namespace"))),
    };
    step.jobs.retain(|job| is_controlled_by(job, cron_job));
    if !step.status.is_object() {
        step.status = json!({});
    }
    step.clean_up();
    step.follow_jobs();
    let next = match meta::is_deleting(cron_job) {
        true => None,
        false => step.start(),
    };
    step.write_status();
    next
}

struct Step<'a> {
    handle: &'a Handle,
    cron_job: &'a Value,
    status: Value,
    jobs: Vec<Arc<Value>>,
}

impl Step<'_> {
    /// Deletes the oldest finished Jobs beyond the limits.
    fn clean_up(&mut self) {
        for (limit, kind) in [
            ("successfulJobsHistoryLimit", "Complete"),
            ("failedJobsHistoryLimit", "Failed"),
        ] {
            let Some(limit) = self.cron_job["spec"][limit].as_u64() else {
                continue;
            };
            let ended = |job: &&Arc<Value>| finish(job).is_some_and(|end| end["type"] == kind);
            let mut ended: Vec<Arc<Value>> = self.jobs.iter().filter(ended).cloned().collect();
            ended.retain(|job| !meta::is_deleting(job));
            ended.sort_by_cached_key(|job| {
                let start = job["status"]["startTime"].as_str().map(str::to_owned);
                // A Job without a start comes last.
                (start.is_none(), start, meta::name(job).to_owned())
            });
            let surplus = ended
                .len()
                .saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
            for job in ended.iter().take(surplus) {
                self.delete(job);
            }
        }
    }

    /// Reports which Jobs run, and the last success.
    fn follow_jobs(&mut self) {
        for job in self.jobs.clone() {
            let (name, uid) = (meta::name(&job), meta::uid(&job));
            let active = self.active().iter().any(|one| one["uid"] == uid);
            let Some(end) = finish(&job) else {
                if !active {
                    let text =
                        format!("Saw a job that the controller did not create or forgot: {name}");
                    self.record(true, "UnexpectedJob", &text);
                }
                continue;
            };
            if active {
                self.forget(uid);
                let kind = end["type"].as_str().unwrap_or_default();
                let text = format!("Saw completed job: {name}, condition: {kind}");
                self.record(false, "SawCompletedJob", &text);
            }
            let time = job["status"]["completionTime"].as_str();
            let last = self.status["lastSuccessfulTime"].as_str();
            if let Some(time) = time.filter(|time| last.is_none_or(|last| last < *time)) {
                self.status["lastSuccessfulTime"] = json!(time);
            }
        }
        for gone in self.active() {
            let uid = gone["uid"].as_str().unwrap_or_default();
            if self.jobs.iter().all(|job| meta::uid(job) != uid) {
                let name = gone["name"].as_str().unwrap_or_default();
                self.record(
                    false,
                    "MissingJob",
                    &format!("Active job went missing: {name}"),
                );
                self.forget(uid);
            }
        }
    }

    fn start(&mut self) -> Option<Duration> {
        let spec = &self.cron_job["spec"];
        let zone = match spec["timeZone"].as_str() {
            None => TimeZone::UTC,
            Some(name) => match TimeZone::get(name) {
                Ok(zone) => zone,
                Err(error) => {
                    let text = format!("invalid timeZone: {name:?}: {error}");
                    self.record(true, "UnknownTimeZone", &text);
                    return None;
                }
            },
        };
        if spec["suspend"] == true {
            return None;
        }
        let text = spec["schedule"].as_str().unwrap_or_default();
        let schedule = match Schedule::parse(text) {
            Ok(schedule) => schedule,
            Err(error) => {
                let text = format!("unparseable schedule: {text:?} : {error}");
                self.record(true, "UnparseableSchedule", &text);
                return None;
            }
        };
        let now = self.handle.core().clock.now();
        let last = self.status["lastScheduleTime"].as_str();
        let last: Option<Timestamp> = last.and_then(|last| last.parse().ok());
        let created = meta::text(self.cron_job, "creationTimestamp").parse().ok();
        let since = last.or(created)?;
        let deadline = spec["startingDeadlineSeconds"]
            .as_i64()
            .map(SignedDuration::from_secs);
        // Times that can no longer be made up for are not looked at.
        let oldest = deadline.and_then(|deadline| now.checked_sub(deadline).ok());
        let due = match due(
            &schedule,
            &zone,
            oldest.map_or(since, |at| at.max(since)),
            now,
        ) {
            Ok(due) => due,
            Err(error) => {
                let text = format!("invalid schedule: {text} : {error}");
                self.record(true, "InvalidSchedule", &text);
                return None;
            }
        };
        if due.many_missed {
            let text = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
            self.record(true, "TooManyMissedTimes", text);
        }
        let next = |since| until_next(&schedule, &zone, since, now);
        let Some(time) = due.latest.filter(|time| Some(*time) != last) else {
            return next(since);
        };
        if deadline.is_some_and(|deadline| now.duration_since(time) > deadline) {
            let time = time.strftime("%a, %d %b %Y %H:%M:%S UTC");
            let text = format!("Missed scheduled time to start a job: {time}");
            self.record(true, "MissSchedule", &text);
            return next(since);
        }
        if !self.make_room() {
            return next(since);
        }
        if !self.create(time, &zone) {
            return next(since);
        }
        self.status["lastScheduleTime"] = json!(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        next(time)
    }

    /// Applies the policy for Jobs that run. Returns whether a Job may start.
    fn make_room(&mut self) -> bool {
        let active = self.active();
        match self.cron_job["spec"]["concurrencyPolicy"].as_str() {
            Some("Forbid") if !active.is_empty() => {
                let text = "Not starting job because prior execution is running and concurrency policy is Forbid";
                self.record(false, "JobAlreadyActive", text);
                false
            }
            Some("Replace") => {
                for job in self.jobs.clone() {
                    if active.iter().any(|one| one["uid"] == meta::uid(&job)) {
                        self.delete(&job);
                    }
                }
                true
            }
            _ => true,
        }
    }

    /// Creates the Job of a time. Returns whether the time is done with.
    fn create(&mut self, time: Timestamp, zone: &TimeZone) -> bool {
        let template = &self.cron_job["spec"]["jobTemplate"];
        let name = format!(
            "{}-{}",
            meta::name(self.cron_job),
            time.as_second().div_euclid(60)
        );
        let mut annotations = template["metadata"]["annotations"].clone();
        if !annotations.is_object() {
            annotations = json!({});
        }
        let local = time.to_zoned(zone.clone());
        let offset = if zone == &TimeZone::UTC { "Z" } else { "%:z" };
        let stamp = local
            .strftime(&format!("%Y-%m-%dT%H:%M:%S{offset}"))
            .to_string();
        annotations[SCHEDULED] = json!(stamp);
        let job = json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": name,
                "namespace": meta::text(self.cron_job, "namespace"),
                "labels": template["metadata"]["labels"],
                "annotations": annotations,
                "ownerReferences": [controller_reference(self.cron_job)],
            },
            "spec": template["spec"],
        });
        match self.handle.create(&jobs(), job) {
            Ok(job) => {
                self.record(false, "SuccessfulCreate", &format!("Created job {name}"));
                let mut active = self.active();
                active.push(json!({
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "namespace": job["metadata"]["namespace"],
                    "name": name,
                    "uid": meta::uid(&job),
                    "resourceVersion": meta::resource_version(&job),
                }));
                self.status["active"] = active.into();
                true
            }
            // Another Job has the name.
            Err(error) if error.code == 409 => false,
            Err(error) => {
                self.record(
                    true,
                    "FailedCreate",
                    &format!("Error creating job: {error}"),
                );
                false
            }
        }
    }

    fn delete(&mut self, job: &Value) {
        let options = DeleteOptions {
            propagation: Some(Propagation::Background),
            uid: Some(meta::uid(job).to_owned()),
            ..DeleteOptions::default()
        };
        let (namespace, name) = (meta::text(job, "namespace"), meta::name(job));
        let deleted = self.handle.delete(&jobs(), Some(namespace), name, &options);
        if let Err(error) = deleted {
            self.record(true, "FailedDelete", &format!("Deleted job: {error}"));
            return;
        }
        self.forget(meta::uid(job));
        self.jobs.retain(|known| meta::uid(known) != meta::uid(job));
        self.record(false, "SuccessfulDelete", &format!("Deleted job {name}"));
    }

    fn active(&self) -> Vec<Value> {
        let active = self.status["active"].as_array();
        active.cloned().unwrap_or_default()
    }

    fn forget(&mut self, uid: &str) {
        let mut active = self.active();
        active.retain(|one| one["uid"] != uid);
        self.status["active"] = active.into();
    }

    fn write_status(&self) {
        let mut status = self.status.clone();
        if let Some(fields) = status.as_object_mut() {
            fields.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
        }
        update(
            self.handle,
            &cron_jobs(),
            self.cron_job,
            "status",
            |object| {
                object["status"] = status.clone();
            },
        );
    }

    fn record(&self, warning: bool, reason: &str, message: &str) {
        let what = Message {
            component: COMPONENT,
            warning,
            reason,
        };
        events::record(self.handle, self.cron_job, what, message);
    }
}
