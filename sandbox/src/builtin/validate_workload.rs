use serde_json::{Value, json};

use super::validate::{at, immutable, list, not_negative, text};
use super::validate_pod::pod_spec;
use crate::api::names;
use crate::schema::FieldError;

pub(super) fn deployment(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    not_negative(object, "/spec/replicas", found);
    selector(object, "deployment", found);
    template(object, &["Always"], found);
    for pointer in [
        "/spec/minReadySeconds",
        "/spec/revisionHistoryLimit",
        "/spec/progressDeadlineSeconds",
    ] {
        not_negative(object, pointer, found);
    }
    const STRATEGIES: [&str; 2] = ["Recreate", "RollingUpdate"];
    let strategy = text(object, "/spec/strategy/type");
    if !STRATEGIES.contains(&strategy) {
        let field = "spec.strategy.type";
        found.push(FieldError::not_supported(field, strategy, STRATEGIES));
    }
    let update = at(object, "/spec/strategy/rollingUpdate");
    if strategy == "Recreate" && !update.is_null() {
        let detail = "may not be specified when strategy `type` is 'Recreate'";
        found.push(FieldError::forbidden("spec.strategy.rollingUpdate", detail));
    }
    let none = |name: &str| matches!(update[name].as_i64(), Some(0)) || update[name] == "0%";
    if none("maxSurge") && none("maxUnavailable") {
        let detail = "may not be 0 when `maxSurge` is 0";
        let field = "spec.strategy.rollingUpdate.maxUnavailable";
        let value = update["maxUnavailable"].clone();
        found.push(FieldError::invalid(field, value, detail));
    }
    if let Some(old) = old {
        immutable(object, old, "/spec/selector", found);
    }
}

pub(super) fn replica_set(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    not_negative(object, "/spec/replicas", found);
    selector(object, "deployment", found);
    template(object, &["Always"], found);
    if let Some(old) = old {
        immutable(object, old, "/spec/selector", found);
    }
}

pub(super) fn daemon_set(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    selector(object, "daemonset", found);
    template(object, &["Always"], found);
    if let Some(old) = old {
        immutable(object, old, "/spec/selector", found);
    }
}

pub(super) fn stateful_set(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    not_negative(object, "/spec/replicas", found);
    selector(object, "statefulset", found);
    template(object, &["Always"], found);
    let Some(old) = old else { return };
    let free = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ];
    let rest = |set: &Value| {
        let mut spec = set.get("spec").cloned().unwrap_or_default();
        if let Value::Object(fields) = &mut spec {
            fields.retain(|name, _| !free.contains(&name.as_str()));
        }
        spec
    };
    if rest(object) != rest(old) {
        let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
                      'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
        found.push(FieldError::forbidden("spec", detail));
    }
}

pub(super) fn job(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    for pointer in [
        "/spec/parallelism",
        "/spec/completions",
        "/spec/backoffLimit",
        "/spec/activeDeadlineSeconds",
        "/spec/ttlSecondsAfterFinished",
    ] {
        not_negative(object, pointer, found);
    }
    job_template(object.pointer("/spec/template"), "spec.template", found);
    if let Some(old) = old {
        immutable(object, old, "/spec/selector", found);
        immutable(object, old, "/spec/completionMode", found);
        let suspended = at(old, "/spec/suspend") == true && at(old, "/status/startTime").is_null();
        if !suspended {
            immutable(object, old, "/spec/template", found);
        }
    }
}

pub(super) fn cron_job(object: &Value, found: &mut Vec<FieldError>) {
    let schedule = text(object, "/spec/schedule");
    if schedule.is_empty() {
        found.push(FieldError::required("spec.schedule", ""));
    } else if !schedule.starts_with('@') && schedule.split_whitespace().count() != 5 {
        let detail = format!(
            "expected exactly 5 fields, found {}: [{schedule}]",
            schedule.split_whitespace().count()
        );
        found.push(FieldError::invalid("spec.schedule", schedule, detail));
    }
    const POLICIES: [&str; 3] = ["Allow", "Forbid", "Replace"];
    let policy = text(object, "/spec/concurrencyPolicy");
    if !POLICIES.contains(&policy) {
        let field = "spec.concurrencyPolicy";
        found.push(FieldError::not_supported(field, policy, POLICIES));
    }
    // A name with the suffix a Job gets must still fit a label.
    let name = text(object, "/metadata/name");
    if name.len() > 52 {
        let detail = "must be no more than 52 characters";
        found.push(FieldError::invalid("metadata.name", name, detail));
    }
    let template = object.pointer("/spec/jobTemplate/spec/template");
    job_template(template, "spec.jobTemplate.spec.template", found);
}

fn job_template(template: Option<&Value>, path: &str, found: &mut Vec<FieldError>) {
    const RESTARTS: [&str; 2] = ["Never", "OnFailure"];
    let spec = template.and_then(|template| template.get("spec"));
    pod_spec(spec, &format!("{path}.spec"), found);
    let restart = spec.map_or("", |spec| text(spec, "/restartPolicy"));
    if restart == "Always" {
        let field = format!("{path}.spec.restartPolicy");
        found.push(FieldError::not_supported(field, restart, RESTARTS));
    }
}

fn template(object: &Value, restarts: &[&str], found: &mut Vec<FieldError>) {
    let spec = object.pointer("/spec/template/spec");
    pod_spec(spec, "spec.template.spec", found);
    let restart = text(object, "/spec/template/spec/restartPolicy");
    if ["Never", "OnFailure"].contains(&restart) {
        let field = "spec.template.spec.restartPolicy";
        found.push(FieldError::not_supported(
            field,
            restart,
            restarts.iter().copied(),
        ));
    }
    let labels = at(object, "/spec/template/metadata/labels").as_object();
    for (key, value) in labels.into_iter().flatten() {
        let field = "spec.template.metadata.labels";
        for wrong in names::qualified_name(key) {
            found.push(FieldError::invalid(field, key.as_str(), wrong));
        }
        for wrong in names::label_value(value.as_str().unwrap_or_default()) {
            found.push(FieldError::invalid(field, value.clone(), wrong));
        }
    }
}

/// The selector must select something, and the pods of the template.
fn selector(object: &Value, kind: &str, found: &mut Vec<FieldError>) {
    let selector = at(object, "/spec/selector");
    if selector.is_null() {
        found.push(FieldError::required("spec.selector", ""));
    }
    let labels = selector["matchLabels"].as_object();
    let expressions = list(selector, "/matchExpressions");
    if labels.is_none_or(|labels| labels.is_empty()) && expressions.is_empty() {
        let detail = format!("empty selector is invalid for {kind}");
        let value = if selector.is_null() {
            json!({})
        } else {
            selector.clone()
        };
        found.push(FieldError::invalid("spec.selector", value, detail));
        return;
    }
    let template = at(object, "/spec/template/metadata/labels");
    if !selects(selector, template) {
        let value = if template.is_null() {
            json!({})
        } else {
            template.clone()
        };
        let detail = "`selector` does not match template `labels`";
        found.push(FieldError::invalid(
            "spec.template.metadata.labels",
            value,
            detail,
        ));
    }
}

/// Whether a LabelSelector selects these labels.
pub(crate) fn selects(selector: &Value, labels: &Value) -> bool {
    let wanted = selector["matchLabels"].as_object();
    let equal = wanted
        .into_iter()
        .flatten()
        .all(|(key, value)| labels.get(key) == Some(value));
    equal
        && list(selector, "/matchExpressions")
            .iter()
            .all(|expression| {
                let found = labels.get(text(expression, "/key"));
                let listed = found.is_some_and(|value| list(expression, "/values").contains(value));
                match text(expression, "/operator") {
                    "In" => listed,
                    "NotIn" => !listed,
                    "Exists" => found.is_some(),
                    "DoesNotExist" => found.is_none(),
                    _ => false,
                }
            })
}
