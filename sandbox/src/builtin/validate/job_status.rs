use std::collections::BTreeSet;

use super::internal_form::internal_invalid;
use super::job::{common_index, count_indexes};
use super::part::Part;
use crate::schema::{FieldError, FieldErrorKind};

/// The status of a Job: its counters, what its conditions promise, and what of it may not change. What the writer leaves as it was is not judged: it may
/// have become wrong by a change of the specification.
pub(super) fn job_status(job: &Part, old: &Part, found: &mut Vec<FieldError>) {
    let (now, before) = (State::of(job), State::of(old));
    let (spec, status, was) = (job.get("spec"), job.get("status"), old.get("status"));
    counters(&status, found);
    let changed = |field: &str| status.get(field).value != was.get(field).value;
    let conditions = status.get("conditions").path;
    let condition = |applies: bool, detail: &str, found: &mut Vec<FieldError>| {
        if applies {
            let kind = FieldErrorKind::Invalid;
            found.push(FieldError::new(kind, &conditions, None, detail));
        }
    };
    let State {
        complete,
        failed,
        goal,
        target,
    } = now;
    let now_complete = complete != before.complete;
    let now_failed = failed != before.failed;
    let now_finished = now.finished() != before.finished();
    let detail = "cannot set Complete=True and Failed=true conditions";
    let judged = now_complete || now_failed;
    condition(judged && complete && failed, detail, found);
    let detail = "cannot set Complete=True and FailureTarget=true conditions";
    let judged = now_complete || target != before.target;
    condition(judged && complete && target, detail, found);
    times(&spec, (&status, &was), [&now, &before], found);
    let detail = "cannot set Failed=True condition without the FailureTarget=true condition";
    let judged = now_failed || changed("failedIndexes");
    condition(judged && failed && !target, detail, found);
    let detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
    let judged = now_complete || goal != before.goal;
    condition(judged && complete && !goal, detail, found);
    for field in ["active", "terminating"] {
        let count = status.get(field);
        let some = count.number().is_some_and(|number| number > 0);
        if now.finished() && some && (now_finished || changed(field)) {
            count.invalid(format!("{field}>0 is invalid for finished job"), found);
        }
    }
    let pods = status.get("uncountedTerminatedPods");
    let some = !pods.list("failed").is_empty() || !pods.list("succeeded").is_empty();
    if now.finished() && some && (now_finished || changed("uncountedTerminatedPods")) {
        let detail = "must be empty for finished job";
        found.push(internal_invalid(
            "batch.UncountedTerminatedPods",
            &pods.path,
            pods.value,
            detail,
        ));
    }
    indexes(&spec, (&status, &was), found);
    let (ready, active) = (status.get("ready"), status.number_of("active"));
    let too_many = ready
        .number()
        .is_some_and(|ready| ready > active.unwrap_or(0));
    if too_many && (changed("ready") || changed("active")) {
        ready.invalid("cannot set more ready pods than active", found);
    }
    let detail = "cannot set SuccessCriteriaMet=True and Failed=true conditions";
    condition(goal && failed, detail, found);
    let detail = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions";
    condition(goal && target, detail, found);
    let detail =
        "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
    let by_policy = spec.set("successPolicy").is_some();
    condition(by_policy && complete && !goal, detail, found);
    for (was, is, name) in [
        (before.failed, failed, "Failed"),
        (before.complete, complete, "Complete"),
        (before.target, target, "FailureTarget"),
    ] {
        let detail = format!("cannot disable the terminal {name}=True condition");
        condition(was && !is, &detail, found);
    }
    decreased(&spec, (&status, &was), found);
    let detail = "cannot disable the SuccessCriteriaMet=True condition";
    condition(before.goal && !goal, detail, found);
    let detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
    condition(before.complete && !before.goal && goal, detail, found);
}

/// Which conditions of a Job are true.
struct State {
    complete: bool,
    failed: bool,
    goal: bool,
    target: bool,
}

impl State {
    fn of(job: &Part) -> Self {
        let status = job.get("status");
        let has = |kind| has_condition(&status, kind, "True");
        Self {
            complete: has("Complete"),
            failed: has("Failed"),
            goal: has("SuccessCriteriaMet"),
            target: has("FailureTarget"),
        }
    }

    fn finished(&self) -> bool {
        self.complete || self.failed
    }
}

fn has_condition(status: &Part, kind: &str, value: &str) -> bool {
    let mut conditions = status.items("conditions");
    conditions.any(|one| one.text_of("type") == kind && one.text_of("status") == value)
}

fn counters(status: &Part, found: &mut Vec<FieldError>) {
    for field in ["active", "succeeded", "failed", "ready", "terminating"] {
        status.get(field).not_negative(found);
    }
    let pods = status.get("uncountedTerminatedPods");
    let mut seen = BTreeSet::new();
    for pod in ["succeeded", "failed"]
        .into_iter()
        .flat_map(|list| pods.items(list))
    {
        match pod.text() {
            "" => pod.invalid("must not be empty", found),
            uid if !seen.insert(uid) => pod.duplicate(found),
            _ => {}
        }
    }
}

/// When a Job has started and when it is complete.
fn times(
    spec: &Part,
    (status, was): (&Part, &Part),
    [now, before]: [&State; 2],
    found: &mut Vec<FieldError>,
) {
    let (start, end) = (status.get("startTime"), status.get("completionTime"));
    let started = start.value != was.get("startTime").value;
    let ended = end.value != was.get("completionTime").value;
    if now.complete != before.complete || ended {
        if end.is_set() && !now.complete {
            let detail = "cannot set completionTime when there is no Complete=True condition";
            end.invalid(detail, found);
        }
        if now.complete && !end.is_set() {
            end.missing("completionTime is required for Complete jobs", found);
        }
    }
    if (started || ended) && start.is_set() && end.is_set() && end.text() < start.text() {
        end.invalid("must be equal to or after `startTime`", found);
    }
    let is_empty = spec.is_true("suspend") && spec.number_of("completions") == Some(0);
    let judged = (now.finished() != before.finished() || started) && !is_empty;
    if judged && now.finished() && !start.is_set() {
        start.missing("startTime is required for finished job", found);
    }
    if ended && end.is_set() && was.get("completionTime").is_set() {
        end.invalid("field is immutable", found);
    }
    let resumes =
        has_condition(was, "Suspended", "True") && has_condition(status, "Suspended", "False");
    let is_running = !spec.is_true("suspend") && !resumes;
    if started && is_running && was.get("startTime").is_set() {
        start.invalid("field is immutable for unsuspended job once set", found);
    }
}

fn indexes(spec: &Part, (status, was): (&Part, &Part), found: &mut Vec<FieldError>) {
    let (done, failed) = (status.get("completedIndexes"), status.get("failedIndexes"));
    let done_changed = done.text() != was.text_of("completedIndexes");
    let failed_changed = failed.value != was.get("failedIndexes").value;
    let per_index = spec.set("backoffLimitPerIndex").is_some();
    let completions = spec.number_of("completions");
    if let Some(completions) = completions {
        let is_judged = per_index && failed.is_set() && failed_changed;
        for (part, is_judged) in [(&done, done_changed), (&failed, is_judged)] {
            if let Err(wrong) = count_indexes(part.text(), completions)
                && is_judged
            {
                let name = part.path.rsplit('.').next().unwrap_or_default();
                part.invalid(format!("error parsing {name}: {wrong}"), found);
            }
        }
    }
    if done_changed && !done.text().is_empty() && spec.text_of("completionMode") != "Indexed" {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        done.invalid(detail, found);
    }
    if failed_changed && failed.is_set() && !per_index {
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        failed.invalid(detail, found);
    }
    if (done_changed || failed_changed)
        && let Some(completions) = completions
        && let Some(index) = common_index(done.text(), failed.text(), completions)
    {
        let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
        failed.invalid(detail, found);
    }
}

/// Counters that only grow. Those of an indexed Job become smaller with it.
fn decreased(spec: &Part, (status, was): (&Part, &Part), found: &mut Vec<FieldError>) {
    let number = |part: &Part, field: &str| part.number_of(field).unwrap_or(0);
    let scales = spec.text_of("completionMode") == "Indexed"
        && spec.get("completions").value == spec.get("parallelism").value;
    for (field, is_judged) in [("failed", true), ("succeeded", !scales)] {
        if is_judged && number(status, field) < number(was, field) {
            let detail = format!("cannot decrease the {field} counter");
            status
                .get(field)
                .invalid_as(number(status, field), detail, found);
        }
    }
}
