use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::claims::claim_spec;
use super::internal_form::{internal_invalid, internal_not_supported, internal_text};
use super::part::Part;
use super::pod::pod_template;
use super::selector::{is_empty, is_usable, label_selector, selects_template};
use crate::names;
use crate::schema::{FieldError, FieldErrorKind};

/// A Deployment.
pub(super) fn deployment(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let spec = Part::new(object, "").get("spec");
    spec.get("replicas").not_negative(found);
    selected_template(&spec, "deployment", "ReplicaSet", found);
    strategy(&spec.get("strategy"), found);
    let ready = spec.get("minReadySeconds");
    ready.not_negative(found);
    spec.get("revisionHistoryLimit").not_negative(found);
    let deadline = spec.get("progressDeadlineSeconds");
    deadline.not_negative(found);
    if let Some(seconds) = deadline.number()
        && seconds <= ready.number().unwrap_or(0)
    {
        deadline.invalid("must be greater than minReadySeconds", found);
    }
    fixed_selector(&spec, old, found);
}

fn strategy(strategy: &Part, found: &mut Vec<FieldError>) {
    let update = strategy.get("rollingUpdate");
    match strategy.text_of("type") {
        "Recreate" => {
            if update.is_set() {
                let detail = "may not be specified when strategy `type` is 'Recreate'";
                update.forbidden(detail, found);
            }
        }
        "RollingUpdate" => {
            let (unavailable, surge) = (update.get("maxUnavailable"), update.get("maxSurge"));
            int_or_percent(&unavailable, found);
            int_or_percent(&surge, found);
            if amount(&unavailable) == 0 && amount(&surge) == 0 {
                unavailable.invalid("may not be 0 when `maxSurge` is 0", found);
            }
            at_most_all(&unavailable, found);
        }
        _ => {
            let known = &["Recreate", "RollingUpdate"];
            found.push(internal_not_supported(
                "apps.DeploymentStrategy",
                &strategy.path,
                strategy.value,
                known,
            ));
        }
    }
}

/// A ReplicaSet.
pub(super) fn replica_set(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let spec = Part::new(object, "").get("spec");
    spec.get("replicas").not_negative(found);
    spec.get("minReadySeconds").not_negative(found);
    selected_template(&spec, "deployment", "ReplicaSet", found);
    fixed_selector(&spec, old, found);
}

/// A ReplicationController, whose selector is a map.
pub(super) fn replication_controller(object: &Value, found: &mut Vec<FieldError>) {
    let spec = Part::new(object, "").get("spec");
    spec.get("minReadySeconds").not_negative(found);
    let selector = spec.get("selector");
    let labels = selector.value.as_object();
    if labels.is_none_or(|labels| labels.is_empty()) {
        selector.missing("", found);
    }
    spec.get("replicas").not_negative(found);
    let Some(template) = spec.set("template") else {
        return spec.get("template").missing("", found);
    };
    if labels.is_some_and(|labels| !labels.is_empty()) {
        let selector = json!({"matchLabels": selector.value});
        selects_template(&selector, &template, found);
    }
    pod_template(&template, found);
    long_running(&template, "ReplicationController", found);
}

/// A DaemonSet.
pub(super) fn daemon_set(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let spec = Part::new(object, "").get("spec");
    fixed_selector(&spec, old, found);
    let (selector, template) = (spec.get("selector"), spec.get("template"));
    if selector.is_set() {
        label_selector(selector.value, &selector.path, found);
    }
    selects_template(selector.value, &template, found);
    if selector.is_set() && is_empty(selector.value) {
        selector.invalid("empty selector is invalid for daemonset", found);
    }
    pod_template(&template, found);
    long_running(&template, "DaemonSet", found);
    spec.get("minReadySeconds").not_negative(found);
    let strategy = spec.get("updateStrategy");
    match strategy.text_of("type") {
        "OnDelete" => {}
        "RollingUpdate" => match strategy.set("rollingUpdate") {
            Some(update) => daemon_update(&update, found),
            None => strategy.get("rollingUpdate").missing("", found),
        },
        _ => {
            let known = &["RollingUpdate", "OnDelete"];
            found.push(internal_not_supported(
                "apps.DaemonSetUpdateStrategy",
                &strategy.path,
                strategy.value,
                known,
            ));
        }
    }
    spec.get("revisionHistoryLimit").not_negative(found);
}

/// A DaemonSet either stops Pods first or starts others first.
fn daemon_update(update: &Part, found: &mut Vec<FieldError>) {
    let (unavailable, surge) = (update.get("maxUnavailable"), update.get("maxSurge"));
    for part in [&unavailable, &surge] {
        int_or_percent(part, found);
    }
    for part in [&unavailable, &surge] {
        at_most_all(part, found);
    }
    match (amount(&unavailable) != 0, amount(&surge) != 0) {
        (true, true) => surge.invalid("may not be set when maxUnavailable is non-zero", found),
        (false, false) => unavailable.missing("cannot be 0 when maxSurge is 0", found),
        _ => {}
    }
}

/// A StatefulSet.
pub(super) fn stateful_set(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let spec = Part::new(object, "").get("spec");
    let policy = spec.get("podManagementPolicy");
    match policy.text() {
        "" => policy.missing("", found),
        "OrderedReady" | "Parallel" => {}
        _ => policy.invalid("must be 'OrderedReady' or 'Parallel'", found),
    }
    stateful_update(&spec.get("updateStrategy"), found);
    if let Some(policy) = spec.set("persistentVolumeClaimRetentionPolicy") {
        for field in ["whenDeleted", "whenScaled"] {
            policy.get(field).one_of(&["Retain", "Delete"], found);
        }
    }
    if old.is_none() {
        for claim in spec.items("volumeClaimTemplates") {
            claim_spec(&claim.get("spec"), found);
        }
    }
    spec.get("replicas").not_negative(found);
    spec.get("minReadySeconds").not_negative(found);
    spec.get("ordinals").get("start").not_negative(found);
    if old.is_none() {
        spec.get("serviceName").name_if_set(names::dns_label, found);
    }
    let selector = spec.get("selector");
    valid_selector(&selector, "statefulset", found);
    let template = spec.get("template");
    if is_usable(selector.value) {
        let prepared = with_claim_volumes(&spec);
        let prepared = prepared.as_ref().map(|it| Part::new(it, &template.path));
        selects_template(selector.value, &template, found);
        pod_template(prepared.as_ref().unwrap_or(&template), found);
        labels_again(&template, found);
    } else {
        selector.invalid("", found);
    }
    long_running(&template, "StatefulSet", found);
    if let Some(old) = old {
        stateful_change(&spec, &Part::new(old, "").get("spec"), found);
    }
}

/// A real server validates the labels of a template twice.
fn labels_again(template: &Part, found: &mut Vec<FieldError>) {
    let labels = template.get("metadata").get("labels");
    let path = template.get("labels").path;
    super::selector::labels_are_valid(labels.value.as_object(), &path, found);
}

fn stateful_update(strategy: &Part, found: &mut Vec<FieldError>) {
    const TYPE: &str = "apps.StatefulSetUpdateStrategy";
    let update = strategy.set("rollingUpdate");
    match (strategy.text_of("type"), update) {
        ("", _) => strategy.missing("", found),
        ("OnDelete", Some(update)) => {
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            let kind = "apps.RollingUpdateStatefulSetStrategy";
            found.push(internal_invalid(kind, &update.path, update.value, detail));
        }
        ("RollingUpdate", Some(update)) => {
            update.get("partition").not_negative(found);
            if let Some(unavailable) = update.set("maxUnavailable") {
                int_or_percent(&unavailable, found);
                if amount(&unavailable) == 0 {
                    unavailable.invalid("cannot be 0", found);
                }
                at_most_all(&unavailable, found);
            }
        }
        ("OnDelete" | "RollingUpdate", None) => {}
        _ => {
            let detail = "must be 'RollingUpdate' or 'OnDelete'";
            found.push(internal_invalid(
                TYPE,
                &strategy.path,
                strategy.value,
                detail,
            ));
        }
    }
}

/// The template of a StatefulSet's Pods: each claim template gives them a volume of its name, in place of one that the
/// template declares, and the StatefulSet names its Pods itself. `None` if this changes nothing.
fn with_claim_volumes(spec: &Part) -> Option<Value> {
    let claims: Vec<&str> = spec
        .items("volumeClaimTemplates")
        .map(|claim| claim.get("metadata").text_of("name"))
        .collect();
    let template = spec.get("template");
    let pods = template.get("spec");
    let is_named = ["hostname", "subdomain"]
        .iter()
        .any(|field| pods.set(field).is_some());
    if claims.is_empty() && !is_named {
        return None;
    }
    let known: BTreeSet<&str> = claims.iter().copied().collect();
    let volumes = known
        .iter()
        .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}));
    let declared = pods.list("volumes").iter();
    let kept = declared.filter(|volume| {
        let name = volume["name"].as_str().unwrap_or_default();
        !known.contains(name)
    });
    let volumes: Vec<Value> = volumes.chain(kept.cloned()).collect();
    let mut template = template.value.clone();
    let fields = template.get_mut("spec")?.as_object_mut()?;
    fields.insert("volumes".into(), volumes.into());
    fields.remove("hostname");
    fields.remove("subdomain");
    Some(template)
}

fn stateful_change(spec: &Part, old: &Part, found: &mut Vec<FieldError>) {
    spec.get("selector").unchanged(&old.get("selector"), found);
    let (claims, were) = (
        spec.get("volumeClaimTemplates"),
        old.get("volumeClaimTemplates"),
    );
    if claims.value != were.value {
        let shown = spec.list("volumeClaimTemplates").iter();
        let shown = shown.map(|claim| {
            let mut claim = claim.clone();
            if let Some(fields) = claim.as_object_mut() {
                fields.retain(|name, _| !["apiVersion", "kind"].contains(&name.as_str()));
            }
            internal_text("core.PersistentVolumeClaim", &claim)
        });
        let shown = match claims.is_set() {
            true => format!("[{}]", shown.collect::<Vec<_>>().join(",")),
            false => "null".to_owned(),
        };
        let detail = format!("{shown}: field is immutable");
        found.push(FieldError::new(
            FieldErrorKind::Invalid,
            &claims.path,
            None,
            detail,
        ));
    }
    for field in ["serviceName", "podManagementPolicy"] {
        spec.get(field).unchanged(&old.get(field), found);
    }
}

/// A ControllerRevision.
pub(super) fn revision(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let revision = Part::new(object, "");
    revision.get("revision").not_negative(found);
    let data = revision.get("data");
    match old {
        Some(old) => data.unchanged(&Part::new(old, "").get("data"), found),
        None if data.value.is_null() => data.missing("data is mandatory", found),
        None if !data.value.is_object() => {
            data.missing("data must be a valid JSON object", found);
        }
        None => {}
    }
}

/// The selector must select something, and it must select the Pods of the template. `owner` is what a real server calls the
/// kind whose Pods run for long.
fn selected_template(spec: &Part, kind: &str, owner: &str, found: &mut Vec<FieldError>) {
    let (selector, template) = (spec.get("selector"), spec.get("template"));
    valid_selector(&selector, kind, found);
    if !is_usable(selector.value) {
        return selector.invalid("invalid label selector", found);
    }
    selects_template(selector.value, &template, found);
    pod_template(&template, found);
    long_running(&template, owner, found);
}

fn valid_selector(selector: &Part, kind: &str, found: &mut Vec<FieldError>) {
    if !selector.is_set() {
        return selector.missing("", found);
    }
    label_selector(selector.value, &selector.path, found);
    if is_empty(selector.value) {
        selector.invalid(format!("empty selector is invalid for {kind}"), found);
    }
}

/// Pods that run for long always restart, and have no deadline.
fn long_running(template: &Part, owner: &str, found: &mut Vec<FieldError>) {
    let spec = template.get("spec");
    let restart = spec.get("restartPolicy");
    restart.one_of(&["Always"], found);
    if let Some(deadline) = spec.set("activeDeadlineSeconds") {
        let detail = format!("activeDeadlineSeconds in {owner} is not Supported");
        deadline.forbidden(detail, found);
    }
}

fn fixed_selector(spec: &Part, old: Option<&Value>, found: &mut Vec<FieldError>) {
    if let Some(old) = old {
        let old = Part::new(old, "").get("spec").get("selector");
        spec.get("selector").unchanged(&old, found);
    }
}

/// Refuses what is neither a number from 0 nor a share.
pub(super) fn int_or_percent(part: &Part, found: &mut Vec<FieldError>) {
    match part.value.is_string() {
        true => part.name(names::percent, found),
        false => part.not_negative(found),
    }
}

/// Refuses a share of more than all.
pub(super) fn at_most_all(part: &Part, found: &mut Vec<FieldError>) {
    if part.value.is_string() && names::percent(part.text()).is_empty() && amount(part) > 100 {
        part.invalid("must not be greater than 100%", found);
    }
}

/// The number or the share. A text that is no share counts as the number in it, as for a real server.
fn amount(part: &Part) -> i64 {
    let text = part.text();
    let digits = text.strip_suffix('%').unwrap_or(text);
    part.number().unwrap_or_else(|| match digits.parse() {
        Ok(number) => number,
        Err(_) if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) => {
            i64::MAX
        }
        Err(_) => 0,
    })
}
