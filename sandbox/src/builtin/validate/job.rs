use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::cron::{schedule, time_zone};
use super::internal_form::internal_invalid;
use super::network::is_domain_path;
use super::part::Part;
use super::pod::{container_names, pod_template};
use super::selector::{label_selector, selects, selects_template};
use crate::names;
use crate::schema::{FieldError, FieldErrorKind};

const MODES: [&str; 2] = ["NonIndexed", "Indexed"];

/// A Job that is created or replaces `old`.
pub(super) fn job(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let job = Part::new(object, "");
    let spec = job.get("spec");
    if old.is_none() {
        generated_selector(&job, found);
    }
    selected_spec(&spec, found);
    pod_names(&job, found);
    if let Some(old) = old {
        change(&spec, &Part::new(old, "").get("spec"), old, found);
    }
}

/// The server generates the selector and the labels that it selects, unless the Job says that it selects by itself.
fn generated_selector(job: &Part, found: &mut Vec<FieldError>) {
    let spec = job.get("spec");
    if spec.is_true("manualSelector") || spec.set("selector").is_none() {
        return;
    }
    let metadata = job.get("metadata");
    let (uid, name) = (metadata.text_of("uid"), metadata.text_of("name"));
    let expected = [
        ("controller-uid", uid),
        ("job-name", name),
        ("batch.kubernetes.io/controller-uid", uid),
        ("batch.kubernetes.io/job-name", name),
    ];
    let labels = spec.get("template").get("metadata").get("labels");
    for (key, value) in expected {
        let field = labels.named_as(format!("{}[{key}]", labels.path));
        match labels.value.get(key) {
            None => field.missing(format!("must be '{value}'"), found),
            Some(given) if given != value => field.invalid(format!("must be '{value}'"), found),
            Some(_) => {}
        }
    }
    let expected: Value = expected
        .iter()
        .map(|(key, value)| ((*key).to_owned(), json!(value)))
        .collect();
    let selector = spec.get("selector");
    if !selects(selector.value, &expected) {
        selector.invalid("`selector` not auto-generated", found);
    }
}

fn selected_spec(spec: &Part, found: &mut Vec<FieldError>) {
    job_spec(spec, found);
    match spec.set("selector") {
        Some(selector) => label_selector(selector.value, &selector.path, found),
        None => spec.get("selector").missing("", found),
    }
    let selector = spec.get("selector");
    selects_template(selector.value, &spec.get("template"), found);
}

/// The name of the last Pod of an indexed Job must be a label.
fn pod_names(job: &Part, found: &mut Vec<FieldError>) {
    let spec = job.get("spec");
    let completions = spec.number_of("completions").unwrap_or(0);
    if spec.text_of("completionMode") == "Indexed" && completions > 0 {
        let name = job.get("metadata").get("name");
        let last = format!("{}-{}", name.text(), completions - 1);
        if !names::dns_label(&last).is_empty() {
            let detail = format!("will not able to create pod with invalid DNS label: {last}");
            name.invalid(detail, found);
        }
    }
}

/// The specification of a Job, or of the Jobs of a CronJob.
fn job_spec(spec: &Part, found: &mut Vec<FieldError>) {
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        spec.get(field).not_negative(found);
    }
    let per_index = spec.get("backoffLimitPerIndex");
    if spec.set("maxFailedIndexes").is_some() && !per_index.is_set() {
        per_index.missing("when maxFailedIndexes is specified", found);
    }
    if let Some(manager) = spec.set("managedBy") {
        manager_of(&manager, found);
    }
    completion_mode(spec, found);
    if spec.set("podFailurePolicy").is_some() {
        failure_policy(spec, found);
    }
    if let Some(policy) = spec.set("successPolicy") {
        match spec.text_of("completionMode") {
            "Indexed" => success_policy(spec, &policy, found),
            _ => {
                let detail = "requires indexed completion mode";
                found.push(internal_invalid(
                    "batch.SuccessPolicy",
                    &policy.path,
                    policy.value,
                    detail,
                ));
            }
        }
    }
    if let Some(policy) = spec.set("podReplacementPolicy") {
        let known: &[&str] = match spec.set("podFailurePolicy") {
            Some(_) => &["Failed"],
            None => &["Failed", "TerminatingOrFailed"],
        };
        policy.one_of(known, found);
    }
    let template = spec.get("template");
    pod_template(&template, found);
    let restart = template.get("spec").get("restartPolicy");
    match restart.text() {
        "" | "Always" => restart.missing(r#"valid values: "OnFailure", "Never""#, found),
        "Never" => {}
        "OnFailure" => {
            if spec.set("podFailurePolicy").is_some() {
                let detail = r#"only "Never" is supported when podFailurePolicy is specified"#;
                restart.invalid(detail, found);
            }
        }
        _ => restart.one_of(&["OnFailure", "Never"], found),
    }
}

fn manager_of(manager: &Part, found: &mut Vec<FieldError>) {
    const LONGEST: usize = 63;
    let text = manager.text();
    match text.split_once('/') {
        _ if text.is_empty() => manager.missing("", found),
        Some((domain, path)) if !domain.is_empty() && !path.is_empty() => {
            for wrong in names::dns_subdomain(domain) {
                manager.invalid_as(domain, wrong, found);
            }
            if names::dns_subdomain(domain).is_empty() && !is_domain_path(text) {
                let detail = r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')";
                manager.invalid_as(path, detail, found);
            }
        }
        _ => {
            let detail = r#"must be a domain-prefixed path (such as "acme.io/foo")"#;
            manager.invalid(detail, found);
        }
    }
    if text.len() > LONGEST {
        found.push(FieldError::too_long(&manager.path, 63));
    }
}

fn completion_mode(spec: &Part, found: &mut Vec<FieldError>) {
    const MANY: i64 = 100_000;
    const FEW: i64 = 10_000;
    let mode = spec.get("completionMode");
    mode.one_of_if_set(&MODES, found);
    let completions = spec.number_of("completions");
    let (parallel, failed) = (spec.get("parallelism"), spec.get("maxFailedIndexes"));
    let per_index = spec.get("backoffLimitPerIndex");
    if mode.text() == "Indexed" {
        if completions.is_none() {
            let detail = "when completion mode is Indexed";
            spec.get("completions").missing(detail, found);
        }
        let at_most = |part: &Part, most: i64, detail: &str, found: &mut Vec<FieldError>| {
            if part.number().is_some_and(|number| number > most) {
                part.invalid(format!("must be less than or equal to {detail}"), found);
            }
        };
        let when = "100000 when completion mode is Indexed";
        at_most(&parallel, MANY, when, found);
        if let Some(completions) = completions {
            at_most(&failed, completions, "completions", found);
        }
        at_most(&failed, MANY, "100000", found);
        if completions.is_some_and(|completions| completions > MANY) && per_index.is_set() {
            if !failed.is_set() {
                let detail = "must be specified when completions is above 100000";
                failed.missing(detail, found);
            }
            let when =
                "10000 when completions are above 100000 and used with backoff limit per index";
            at_most(&parallel, FEW, when, found);
            at_most(&failed, FEW, when, found);
        }
    }
    if ["", "NonIndexed"].contains(&mode.text()) {
        for field in [per_index, failed] {
            if field.is_set() {
                field.invalid("requires indexed completion mode", found);
            }
        }
    }
}

/// What the failure of a Pod leads to.
fn failure_policy(spec: &Part, found: &mut Vec<FieldError>) {
    const MOST_RULES: usize = 20;
    let policy = spec.get("podFailurePolicy");
    let count = policy.list("rules").len();
    if count > MOST_RULES {
        found.push(FieldError::too_many(policy.get("rules").path, count, 20));
    }
    let containers = container_names(&spec.get("template").get("spec"));
    for rule in policy.items("rules") {
        let action = rule.get("action");
        if action.text() == "FailIndex" && spec.set("backoffLimitPerIndex").is_none() {
            action.invalid("requires the backoffLimitPerIndex to be set", found);
        }
        match action.text() {
            "" => action.missing(
                r#"valid values: ["Count" "FailIndex" "FailJob" "Ignore"]"#,
                found,
            ),
            _ => action.one_of(&["Count", "FailIndex", "FailJob", "Ignore"], found),
        }
        let codes = rule.set("onExitCodes");
        let has_conditions = !rule.list("onPodConditions").is_empty();
        if let Some(codes) = &codes {
            exit_codes(codes, &containers, found);
        }
        if has_conditions {
            pod_conditions(&rule, found);
        }
        let wrong = match (codes.is_some(), has_conditions) {
            (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        let kind = FieldErrorKind::Invalid;
        found.push(FieldError::new(kind, &rule.path, None, wrong));
    }
}

fn exit_codes(codes: &Part, containers: &BTreeSet<&str>, found: &mut Vec<FieldError>) {
    const MOST_CODES: usize = 255;
    let (operator, values) = (codes.get("operator"), codes.get("values"));
    match operator.text() {
        "" => operator.missing(r#"valid values: ["In" "NotIn"]"#, found),
        _ => operator.one_of(&["In", "NotIn"], found),
    }
    if let Some(name) = codes.set("containerName")
        && !containers.contains(name.text())
    {
        let detail = "must be one of the container or initContainer names in the pod template";
        name.invalid(detail, found);
    }
    let count = codes.list("values").len();
    if count == 0 {
        values.invalid("at least one value is required", found);
    } else if count > MOST_CODES {
        found.push(FieldError::too_many(&values.path, count, 255));
    }
    let mut known = BTreeSet::new();
    let mut last = i64::MIN;
    let mut is_ordered = true;
    for value in codes.items("values") {
        let number = value.number().unwrap_or(0);
        if operator.text() == "In" && number == 0 {
            value.invalid("must not be 0 for the In operator", found);
        }
        if !known.insert(number) {
            value.duplicate(found);
        }
        is_ordered &= last <= number;
        last = number;
    }
    if !is_ordered {
        values.invalid("must be ordered", found);
    }
}

fn pod_conditions(rule: &Part, found: &mut Vec<FieldError>) {
    const MOST_PATTERNS: usize = 20;
    let count = rule.list("onPodConditions").len();
    if count > MOST_PATTERNS {
        let field = rule.get("onPodConditions").path;
        found.push(FieldError::too_many(field, count, 20));
    }
    for pattern in rule.items("onPodConditions") {
        pattern.get("type").name(names::qualified_name, found);
        let status = pattern.get("status");
        match status.text() {
            "" => status.missing(r#"valid values: ["False" "True" "Unknown"]"#, found),
            _ => status.one_of(&["False", "True", "Unknown"], found),
        }
    }
}

/// Which Pods must succeed.
fn success_policy(spec: &Part, policy: &Part, found: &mut Vec<FieldError>) {
    const MOST_RULES: usize = 20;
    const LONGEST: usize = 64 * 1024;
    let (rules, count) = (policy.get("rules"), policy.list("rules").len());
    if count == 0 {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        rules.missing(detail, found);
    }
    if count > MOST_RULES {
        found.push(FieldError::too_many(&rules.path, count, 20));
    }
    let completions = spec.number_of("completions").unwrap_or(0);
    for rule in policy.items("rules") {
        let (wanted, indexes) = (rule.get("succeededCount"), rule.get("succeededIndexes"));
        if !wanted.is_set() && !indexes.is_set() {
            let detail = "at least one of succeededCount or succeededIndexes must be specified";
            rule.missing(detail, found);
        }
        let mut total = 0;
        if indexes.is_set() {
            if indexes.text().len() > LONGEST {
                found.push(FieldError::too_long(&indexes.path, 64 * 1024));
            }
            match count_indexes(indexes.text(), completions) {
                Ok(count) => total = count,
                Err(wrong) => {
                    let detail = format!("error parsing succeededIndexes: {wrong}");
                    indexes.invalid(detail, found);
                }
            }
        }
        wanted.not_negative(found);
        let Some(number) = wanted.number() else {
            continue;
        };
        if number > completions {
            let detail = format!(
                "must be less than or equal to {completions} (the number of specified completions)"
            );
            wanted.invalid(detail, found);
        }
        if indexes.is_set() && number > total {
            let detail = format!(
                "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
            );
            wanted.invalid(detail, found);
        }
    }
}

/// The number of indexes in a text such as `1,3-5`.
pub(super) fn count_indexes(text: &str, completions: i64) -> Result<i64, String> {
    let (mut last, mut total) = (None, 0);
    for interval in text.split(',').filter(|_| !text.is_empty()) {
        let (first, end) = index_interval(interval, completions)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(wrong_order(last, first));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

/// The first index that two lists of intervals have in common. Intervals that cannot be read are left out.
pub(super) fn common_index(one: &str, other: &str, completions: i64) -> Option<i64> {
    let read = |text: &str| -> Vec<(i64, i64)> {
        let intervals = text.split(',');
        let read = intervals.filter_map(|interval| index_interval(interval, completions).ok());
        read.collect()
    };
    let (one, other) = (read(one), read(other));
    let (mut ones, mut others) = (one.iter().peekable(), other.iter().peekable());
    while let (Some((first, end)), Some((other_first, other_end))) = (ones.peek(), others.peek()) {
        if first <= other_end && other_first <= end {
            return Some(*first.max(other_first));
        }
        match first <= other_first {
            true => ones.next(),
            false => others.next(),
        };
    }
    None
}

/// The first and the last index of a text like `3-5` or `3`.
fn index_interval(interval: &str, completions: i64) -> Result<(i64, i64), String> {
    let index = |text: &str| {
        let number = text.parse::<i64>();
        let number =
            number.map_err(|_| format!("cannot convert string to integer for index: {text:?}"))?;
        match number >= completions {
            true => Err(format!("too large index: {text:?}")),
            false => Ok(number),
        }
    };
    let ends: Vec<&str> = interval.splitn(4, '-').collect();
    if ends.len() > 2 {
        return Err(format!(
            "the fragment {interval:?} violates the requirement that an index interval can have at most two parts separated by '-'"
        ));
    }
    let first = index(ends[0])?;
    let Some(end) = ends.get(1) else {
        return Ok((first, first));
    };
    let end = index(end)?;
    match first >= end {
        true => Err(wrong_order(first, end)),
        false => Ok((first, end)),
    }
}

fn wrong_order(last: i64, next: i64) -> String {
    format!("non-increasing order, previous: {last}, current: {next}")
}

/// What of a Job may not change.
fn change(spec: &Part, old: &Part, old_job: &Value, found: &mut Vec<FieldError>) {
    let completions = spec.get("completions");
    if spec.text_of("completionMode") != "Indexed" {
        completions.unchanged(&old.get("completions"), found);
    } else if completions.value != old.get("completions").value
        && completions.is_set()
        && completions.value != spec.get("parallelism").value
    {
        let detail = "can only be modified in tandem with spec.parallelism";
        completions.invalid(detail, found);
    }
    spec.get("selector").unchanged(&old.get("selector"), found);
    template_change(spec, old, old_job, found);
    spec.get("completionMode")
        .unchanged(&old.get("completionMode"), found);
    for (field, kind) in [
        ("podFailurePolicy", "batch.PodFailurePolicy"),
        ("backoffLimitPerIndex", ""),
        ("managedBy", ""),
        ("successPolicy", "batch.SuccessPolicy"),
    ] {
        let now = spec.get(field);
        if now.is_set() && !kind.is_empty() {
            if now.value != old.get(field).value {
                let detail = "field is immutable";
                found.push(internal_invalid(kind, &now.path, now.value, detail));
            }
        } else {
            now.unchanged(&old.get(field), found);
        }
    }
}

/// The template of a suspended Job may still be placed elsewhere and be given other resources.
fn template_change(spec: &Part, old: &Part, old_job: &Value, found: &mut Vec<FieldError>) {
    let (template, old_template) = (spec.get("template"), old.get("template"));
    let mut kept = old_template.value.clone();
    let status = &old_job["status"];
    let suspended = old.is_true("suspend");
    let is_stopped = suspended && status["startTime"].is_null()
        || status["conditions"].as_array().is_some_and(|conditions| {
            let mut all = conditions.iter();
            suspended && all.any(|one| one["type"] == "Suspended" && one["status"] == "True")
        });
    if is_stopped {
        for pointer in [
            "/metadata/annotations",
            "/metadata/labels",
            "/spec/nodeSelector",
            "/spec/tolerations",
            "/spec/schedulingGates",
            "/spec/affinity/nodeAffinity",
        ] {
            copy(template.value, &mut kept, pointer);
        }
        for list in ["containers", "initContainers"] {
            let count = template.get("spec").list(list).len();
            for index in 0..count {
                let pointer = format!("/spec/{list}/{index}/resources");
                copy(template.value, &mut kept, &pointer);
            }
        }
    }
    if *template.value != kept {
        found.push(internal_invalid(
            "core.PodTemplateSpec",
            &template.path,
            template.value,
            "field is immutable",
        ));
    }
}

/// Copies a field, or its absence.
fn copy(from: &Value, to: &mut Value, pointer: &str) {
    let Some((owner, name)) = pointer.rsplit_once('/') else {
        return;
    };
    let given = from.pointer(pointer).cloned();
    let Some(fields) = to.pointer_mut(owner).and_then(Value::as_object_mut) else {
        return;
    };
    match given {
        Some(value) => drop(fields.insert(name.to_owned(), value)),
        None => drop(fields.remove(name)),
    }
}

/// A CronJob that is created or replaces `old`.
pub(super) fn cron_job(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let job = Part::new(object, "");
    let spec = job.get("spec");
    let is_created = old.is_none();
    let old = old.map(|old| Part::new(old, "").get("spec"));
    schedule(&spec, old.as_ref(), found);
    spec.get("startingDeadlineSeconds").not_negative(found);
    let is_new = old.is_none_or(|old| old.get("timeZone").value != spec.get("timeZone").value);
    if is_new && let Some(zone) = spec.set("timeZone") {
        time_zone(&zone, found);
    }
    let policies = &["Allow", "Forbid", "Replace"];
    spec.get("concurrencyPolicy").choice(policies, found);
    let jobs = spec.get("jobTemplate").get("spec");
    job_spec(&jobs, found);
    if let Some(selector) = jobs.set("selector") {
        selector.invalid("`selector` will be auto-generated", found);
    }
    if jobs.is_true("manualSelector") {
        let field = jobs.get("manualSelector").path;
        found.push(FieldError::not_supported(field, true, ["nil", "false"]));
    }
    for field in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        spec.get(field).not_negative(found);
    }
    // The name of a Job, which gets a suffix, must still fit a label.
    let name = job.get("metadata").get("name");
    if is_created && name.text().len() > 52 {
        name.invalid("must be no more than 52 characters", found);
    }
}
