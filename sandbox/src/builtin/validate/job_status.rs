use super::job::count_indexes;
use super::part::Part;
use crate::schema::{FieldError, FieldErrorKind};

/// The status of a Job: its counters, and what its conditions promise.
pub(super) fn job_status(job: &Part, found: &mut Vec<FieldError>) {
    let (spec, status) = (job.get("spec"), job.get("status"));
    for field in ["active", "succeeded", "failed", "ready", "terminating"] {
        status.get(field).not_negative(found);
    }
    let has = |kind: &str| {
        let mut conditions = status.items("conditions");
        conditions.any(|one| one.text_of("type") == kind && one.text_of("status") == "True")
    };
    let (complete, failed) = (has("Complete"), has("Failed"));
    let (goal, target) = (has("SuccessCriteriaMet"), has("FailureTarget"));
    let conditions = status.get("conditions").path;
    let condition = |applies: bool, detail: &str, found: &mut Vec<FieldError>| {
        if applies {
            let kind = FieldErrorKind::Invalid;
            found.push(FieldError::new(kind, &conditions, None, detail));
        }
    };
    let detail = "cannot set Complete=True and Failed=true conditions";
    condition(complete && failed, detail, found);
    let detail = "cannot set Complete=True and FailureTarget=true conditions";
    condition(complete && target, detail, found);
    let (start, end) = (status.get("startTime"), status.get("completionTime"));
    if end.is_set() && !complete {
        let detail = "cannot set completionTime when there is no Complete=True condition";
        end.invalid(detail, found);
    }
    if complete && !end.is_set() {
        end.missing("completionTime is required for Complete jobs", found);
    }
    if start.is_set() && end.is_set() && end.text() < start.text() {
        end.invalid("must be equal to or after `startTime`", found);
    }
    let detail = "cannot set Failed=True condition without the FailureTarget=true condition";
    condition(failed && !target, detail, found);
    let detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
    condition(complete && !goal, detail, found);
    let finished = complete || failed;
    let active = status.get("active");
    if finished && active.number().is_some_and(|number| number > 0) {
        active.invalid("active>0 is invalid for finished job", found);
    }
    if finished && !start.is_set() {
        start.missing("startTime is required for finished job", found);
    }
    indexes(&spec, &status, found);
    let terminating = status.get("terminating");
    if finished && terminating.number().is_some_and(|number| number > 0) {
        terminating.invalid("terminating>0 is invalid for finished job", found);
    }
    let ready = status.get("ready");
    if ready
        .number()
        .is_some_and(|number| number > active.number().unwrap_or(0))
    {
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
}

fn indexes(spec: &Part, status: &Part, found: &mut Vec<FieldError>) {
    let (done, failed) = (status.get("completedIndexes"), status.get("failedIndexes"));
    let per_index = spec.set("backoffLimitPerIndex").is_some();
    if let Some(completions) = spec.number_of("completions") {
        for (part, applies) in [(&done, true), (&failed, per_index && failed.is_set())] {
            if let Err(wrong) = count_indexes(part.text(), completions)
                && applies
            {
                let name = part.path.rsplit('.').next().unwrap_or_default();
                part.invalid(format!("error parsing {name}: {wrong}"), found);
            }
        }
    }
    if !done.text().is_empty() && spec.text_of("completionMode") != "Indexed" {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        done.invalid(detail, found);
    }
    if failed.is_set() && !per_index {
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        failed.invalid(detail, found);
    }
}
