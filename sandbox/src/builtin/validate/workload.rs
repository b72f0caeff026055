use serde_json::{Map, Value, json};

use super::fields::{at, immutable, list, not_negative, text};
use super::pod::pod_spec;
use crate::names;
use crate::schema::{FieldError, FieldErrorKind};

pub(super) fn deployment(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    not_negative(object, "/spec/replicas", found);
    selected_template(object, "deployment", found);
    for pointer in [
        "/spec/minReadySeconds",
        "/spec/revisionHistoryLimit",
        "/spec/progressDeadlineSeconds",
    ] {
        not_negative(object, pointer, found);
    }
    let strategy = text(object, "/spec/strategy/type");
    if !["Recreate", "RollingUpdate"].contains(&strategy) {
        // A real server shows the whole structure in the form of its internal type.
        let update = match at(object, "/spec/strategy/rollingUpdate") {
            Value::Null => "null".into(),
            update => format!(
                r#"{{"MaxUnavailable":{},"MaxSurge":{}}}"#,
                update["maxUnavailable"], update["maxSurge"]
            ),
        };
        let detail = format!(
            r#"{{"Type":{strategy:?},"RollingUpdate":{update}}}: supported values: "Recreate", "RollingUpdate""#
        );
        found.push(FieldError::new(
            FieldErrorKind::NotSupported,
            "spec.strategy",
            None,
            detail,
        ));
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
    selected_template(object, "deployment", found);
    if let Some(old) = old {
        immutable(object, old, "/spec/selector", found);
    }
}

pub(super) fn daemon_set(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    selected_template(object, "daemonset", found);
    if let Some(old) = old {
        immutable(object, old, "/spec/selector", found);
    }
}

pub(super) fn stateful_set(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    not_negative(object, "/spec/replicas", found);
    selected_template(object, "statefulset", found);
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
    job_spec(object, found);
    let Some(old) = old else { return };
    // A change is also validated as a new object.
    job_spec(object, found);
    immutable(object, old, "/spec/selector", found);
    let suspended = at(old, "/spec/suspend") == true && at(old, "/status/startTime").is_null();
    if !suspended {
        immutable(object, old, "/spec/template", found);
    }
    immutable(object, old, "/spec/completionMode", found);
}

fn job_spec(object: &Value, found: &mut Vec<FieldError>) {
    for pointer in [
        "/spec/parallelism",
        "/spec/completions",
        "/spec/activeDeadlineSeconds",
        "/spec/backoffLimit",
        "/spec/ttlSecondsAfterFinished",
    ] {
        not_negative(object, pointer, found);
    }
    job_template(object.pointer("/spec/template"), "spec.template", found);
    let selector = at(object, "/spec/selector");
    if selector.is_null() {
        found.push(FieldError::required("spec.selector", ""));
    } else {
        label_selector(selector, "spec.selector", found);
    }
    if is_usable(selector) {
        template_labels_match(object, found);
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
    // The name of a Job, which gets a suffix, must still fit a label.
    let name = text(object, "/metadata/name");
    if name.len() > 52 {
        let detail = "must be no more than 52 characters";
        found.push(FieldError::invalid("metadata.name", name, detail));
    }
    let template = object.pointer("/spec/jobTemplate/spec/template");
    job_template(template, "spec.jobTemplate.spec.template", found);
}

fn job_template(template: Option<&Value>, path: &str, found: &mut Vec<FieldError>) {
    let spec = template.and_then(|template| template.get("spec"));
    pod_spec(spec, &format!("{path}.spec"), found);
    let restart = spec.map_or("", |spec| text(spec, "/restartPolicy"));
    if matches!(restart, "" | "Always") {
        let detail = r#"valid values: "OnFailure", "Never""#;
        let field = format!("{path}.spec.restartPolicy");
        found.push(FieldError::required(field, detail));
    }
}

fn template(object: &Value, restarts: &[&str], found: &mut Vec<FieldError>) {
    let spec = object.pointer("/spec/template/spec");
    let with_claims = spec.and_then(|spec| with_claim_volumes(object, spec));
    pod_spec(with_claims.as_ref().or(spec), "spec.template.spec", found);
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
    labels_are_valid(labels, "spec.template.metadata.labels", found);
}

/// The specification of a StatefulSet's Pods: each claim template gives them a volume of its name, in place of one that
/// the Pod template declares. `None` without claim templates.
fn with_claim_volumes(object: &Value, spec: &Value) -> Option<Value> {
    let claims = list(object, "/spec/volumeClaimTemplates");
    if claims.is_empty() {
        return None;
    }
    let name = |claim| text(claim, "/metadata/name");
    let mut volumes: Vec<Value> = claims
        .iter()
        .map(|claim| json!({"name": name(claim), "persistentVolumeClaim": {"claimName": name(claim)}}))
        .collect();
    let declared = list(spec, "/volumes").iter();
    let kept = declared.filter(|volume| {
        claims
            .iter()
            .all(|claim| name(claim) != text(volume, "/name"))
    });
    volumes.extend(kept.cloned());
    let mut spec = spec.clone();
    spec.as_object_mut()?
        .insert("volumes".into(), volumes.into());
    Some(spec)
}

/// The selector must select something, and it must select the Pods of the template.
fn selected_template(object: &Value, kind: &str, found: &mut Vec<FieldError>) {
    let selector = at(object, "/spec/selector");
    if selector.is_null() {
        found.push(FieldError::required("spec.selector", ""));
    } else {
        label_selector(selector, "spec.selector", found);
        if is_empty(selector) {
            let detail = format!("empty selector is invalid for {kind}");
            found.push(FieldError::invalid(
                "spec.selector",
                selector.clone(),
                detail,
            ));
        }
    }
    if !is_usable(selector) {
        let detail = "invalid label selector";
        found.push(FieldError::invalid(
            "spec.selector",
            selector.clone(),
            detail,
        ));
        return;
    }
    template_labels_match(object, found);
    template(object, &["Always"], found);
}

fn template_labels_match(object: &Value, found: &mut Vec<FieldError>) {
    let selector = at(object, "/spec/selector");
    let labels = at(object, "/spec/template/metadata/labels");
    // A missing selector selects nothing, an empty one selects everything.
    let selects = !selector.is_null() && selects(selector, labels);
    if !selects {
        let detail = "`selector` does not match template `labels`";
        found.push(FieldError::invalid(
            "spec.template.metadata.labels",
            labels.clone(),
            detail,
        ));
    }
}

fn is_empty(selector: &Value) -> bool {
    let labels = selector["matchLabels"].as_object();
    labels.is_none_or(|labels| labels.is_empty()) && list(selector, "/matchExpressions").is_empty()
}

const OPERATORS: [&str; 4] = ["In", "NotIn", "Exists", "DoesNotExist"];

/// Whether the selector is valid.
fn is_usable(selector: &Value) -> bool {
    let mut errors = Vec::new();
    label_selector(selector, "", &mut errors);
    errors.is_empty()
}

/// Validates a LabelSelector.
pub(super) fn label_selector(selector: &Value, field: &str, found: &mut Vec<FieldError>) {
    let labels = selector["matchLabels"].as_object();
    labels_are_valid(labels, &format!("{field}.matchLabels"), found);
    let expressions = list(selector, "/matchExpressions").iter().enumerate();
    for (index, expression) in expressions {
        let field = format!("{field}.matchExpressions[{index}]");
        let values = list(expression, "/values");
        match text(expression, "/operator") {
            "In" | "NotIn" if values.is_empty() => found.push(FieldError::required(
                format!("{field}.values"),
                "must be specified when `operator` is 'In' or 'NotIn'",
            )),
            "Exists" | "DoesNotExist" if !values.is_empty() => found.push(FieldError::forbidden(
                format!("{field}.values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )),
            operator if OPERATORS.contains(&operator) => {}
            operator => {
                let detail = "not a valid selector operator";
                let field = format!("{field}.operator");
                found.push(FieldError::invalid(field, operator, detail));
            }
        }
        let key = text(expression, "/key");
        for wrong in names::qualified_name(key) {
            found.push(FieldError::invalid(format!("{field}.key"), key, wrong));
        }
        for (index, value) in values.iter().enumerate() {
            for wrong in names::label_value(value.as_str().unwrap_or_default()) {
                let field = format!("{field}.values[{index}]");
                found.push(FieldError::invalid(field, value.clone(), wrong));
            }
        }
    }
}

pub(super) fn labels_are_valid(
    labels: Option<&Map<String, Value>>,
    field: &str,
    found: &mut Vec<FieldError>,
) {
    for (key, value) in labels.into_iter().flatten() {
        for wrong in names::qualified_name(key) {
            found.push(FieldError::invalid(field, key.as_str(), wrong));
        }
        for wrong in names::label_value(value.as_str().unwrap_or_default()) {
            found.push(FieldError::invalid(field, value.clone(), wrong));
        }
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
