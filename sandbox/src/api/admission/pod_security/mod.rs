//! Pod Security: the standards that the labels of a namespace demand of its Pods (`pod-security.kubernetes.io/enforce`, `warn` and `audit`).
//!
//! A Pod that violates the enforced standard is refused. The template of a workload is only warned about: its controller meets the refusal.
//! Without labels everything is allowed.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `policy.rs` | [`Policy`], read from the labels |
//! | `pod.rs` | the parts of a Pod that the checks read |
//! | `checks.rs` | which checks a standard has, by its version |
//! | `baseline.rs`, `restricted.rs` | the checks |

mod baseline;
mod checks;
mod pod;
mod policy;
mod restricted;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::Target;
use crate::api::WriteOptions;
use crate::core::Core;
use crate::error::ApiError;
use crate::meta;
use crate::registry::GroupResource;
use crate::store::Key;

use checks::violations;
use pod::Pod;
use policy::{Level, Policy, Standard};

/// A write that is about to happen.
pub(in crate::api) struct Attempt<'a> {
    pub(in crate::api) target: &'a Target,
    pub(in crate::api) subresource: &'a str,
    /// The name of the request; empty if the server makes it.
    pub(in crate::api) name: &'a str,
    pub(in crate::api) old: Option<&'a Value>,
    pub(in crate::api) new: &'a Value,
    pub(in crate::api) options: &'a WriteOptions,
}

/// The subresources of Pods that change what the standards judge.
const CHANGED_BY: [&str; 3] = ["", "ephemeralcontainers", "resize"];

/// Judges a write by the standards of its namespace.
///
/// # Errors
/// 403 if a Pod violates the enforced standard, 422 if the labels of a namespace are wrong.
pub(in crate::api) fn check(
    core: &Core,
    attempt: &Attempt<'_>,
    warnings: &mut Vec<String>,
) -> Result<(), ApiError> {
    let kind = &attempt.target.kind;
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Namespace") if attempt.subresource.is_empty() => namespace(core, attempt, warnings),
        ("", "Pod") if CHANGED_BY.contains(&attempt.subresource) => {
            let (new, old) = (&attempt.new["spec"], attempt.old.map(|old| &old["spec"]));
            if old.is_some_and(|old| !is_changed(old, new)) {
                return Ok(());
            }
            judge(core, attempt, attempt.new, true, warnings)
        }
        _ if attempt.subresource.is_empty() => match template(kind, attempt.new) {
            Some(template) if !template.is_null() => {
                judge(core, attempt, template, false, warnings)
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// The template of the Pods of a workload; `None` for other kinds.
fn template<'a>(kind: &crate::registry::ServedKind, object: &'a Value) -> Option<&'a Value> {
    Some(match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "PodTemplate") => &object["template"],
        ("", "ReplicationController")
        | ("apps", "ReplicaSet" | "Deployment" | "StatefulSet" | "DaemonSet")
        | ("batch", "Job") => &object["spec"]["template"],
        ("batch", "CronJob") => &object["spec"]["jobTemplate"]["spec"]["template"],
        _ => return None,
    })
}

/// Whether a change of a Pod may change the judgement: another image, or another container.
fn is_changed(old: &Value, new: &Value) -> bool {
    let of = |spec: &Value, field: &str| -> Vec<Value> {
        let all = spec[field].as_array().into_iter().flatten();
        all.cloned().collect()
    };
    let differ = |field: &str| {
        let (old, new) = (of(old, field), of(new, field));
        let mut pairs = old.iter().zip(&new);
        old.len() != new.len() || pairs.any(|(old, new)| old["image"] != new["image"])
    };
    let known = of(old, "ephemeralContainers");
    let is_known = |one: &Value| {
        let mut known = known.iter();
        known.any(|known| known["name"] == one["name"] && known["image"] == one["image"])
    };
    differ("containers")
        || differ("initContainers")
        || !of(new, "ephemeralContainers").iter().all(is_known)
}

const PREFIX: &str = "pod-security.kubernetes.io/";

fn judge(
    core: &Core,
    attempt: &Attempt<'_>,
    object: &Value,
    is_pod: bool,
    warnings: &mut Vec<String>,
) -> Result<(), ApiError> {
    let namespace = attempt.target.namespace.as_deref().unwrap_or_default();
    let namespaces = GroupResource::new("", "namespaces");
    let Some(found) = core.store.get(&namespaces, &Key::new(None, namespace)) else {
        return Ok(());
    };
    let (policy, wrong) = Policy::of(&found.object["metadata"]["labels"]);
    let audit = &attempt.options.audit;
    let note = |key: &str, value: String| audit.annotate(&format!("{PREFIX}{key}"), || value);
    let privileged = |standard: Standard| standard.level == Level::Privileged;
    if wrong.is_empty() && privileged(policy.warn) && privileged(policy.audit) {
        if is_pod && privileged(policy.enforce) {
            note("enforce-policy", "privileged:latest".into());
            return Ok(());
        }
        if !is_pod {
            return Ok(());
        }
    }
    let pod = Pod::new(&object["metadata"]["annotations"], &object["spec"]);
    let found = |standard: Standard| {
        let found = violations(standard, &pod);
        let details: Vec<String> = found.iter().map(ToString::to_string).collect();
        (!details.is_empty()).then(|| details.join(", "))
    };
    if is_pod {
        note("enforce-policy", policy.enforce.to_string());
    }
    if let Some(details) = found(policy.audit) {
        let text = format!("would violate PodSecurity \"{}\": {details}", policy.audit);
        note("audit-violations", text);
    }
    if let Some(details) = found(policy.enforce).filter(|_| is_pod) {
        let why = format!("violates PodSecurity \"{}\": {details}", policy.enforce);
        let resource = attempt.target.resource();
        // Also a name that the server has made.
        let name = meta::name(object);
        return Err(ApiError::forbidden(&resource, name, &why));
    }
    if let Some(details) = found(policy.warn) {
        warnings.push(format!(
            "would violate PodSecurity \"{}\": {details}",
            policy.warn
        ));
    }
    Ok(())
}

/// Refuses wrong labels, and warns about present Pods that violate a stricter standard.
fn namespace(
    core: &Core,
    attempt: &Attempt<'_>,
    warnings: &mut Vec<String>,
) -> Result<(), ApiError> {
    let (policy, wrong) = Policy::of(&attempt.new["metadata"]["labels"]);
    let before = attempt
        .old
        .map(|old| Policy::of(&old["metadata"]["labels"]));
    let is_old = before.as_ref().is_some_and(|(_, before)| *before == wrong);
    if !wrong.is_empty() && !is_old {
        return Err(ApiError::invalid(&attempt.target.kind, attempt.name, wrong));
    }
    let Some((before, _)) = before else {
        return Ok(());
    };
    let (old, new) = (before.enforce, policy.enforce);
    let is_relaxed = new.version == old.version && new.level <= old.level;
    if new != old && new.level != Level::Privileged && !is_relaxed {
        present_pods(core, attempt.name, new, warnings);
    }
    Ok(())
}

/// The most Pods that are looked at.
const MOST: usize = 3000;

fn present_pods(core: &Core, namespace: &str, standard: Standard, warnings: &mut Vec<String>) {
    let pods = GroupResource::new("", "pods");
    let Some(Ok(listed)) = core.store.list(&pods, Some(namespace), None, None) else {
        return;
    };
    let all = listed.entries;
    if all.len() > MOST {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {MOST} of {} existing pods",
            all.len()
        ));
    }
    // The Pods by what is wrong with them.
    let mut found = BTreeMap::<String, BTreeSet<String>>::new();
    // One of each controller first, because the others are alike.
    let mut controllers = BTreeSet::new();
    let (first, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|entry| {
        let owners = entry.object["metadata"]["ownerReferences"].as_array();
        let mut owners = owners.into_iter().flatten();
        let controller = owners.find(|owner| owner["controller"] == json!(true));
        controller.is_none_or(|owner| controllers.insert(owner["uid"].to_string()))
    });
    for entry in first.into_iter().chain(rest).take(MOST) {
        let object = &entry.object;
        let pod = Pod::new(&object["metadata"]["annotations"], &object["spec"]);
        let reasons = violations(standard, &pod).into_iter();
        let reasons: Vec<String> = reasons.map(|one| one.reason).collect();
        if !reasons.is_empty() {
            let names = found.entry(reasons.join(", ")).or_default();
            names.insert(meta::name(object).to_owned());
        }
    }
    if found.is_empty() {
        return;
    }
    warnings.push(format!(
        "existing pods in namespace {namespace:?} violate the new PodSecurity enforce level \"{standard}\""
    ));
    let lines = found.into_iter().map(|(reasons, names)| {
        let first = names.first().cloned().unwrap_or_default();
        match names.len() {
            1 => format!("{first}: {reasons}"),
            2 => format!("{first} (and 1 other pod): {reasons}"),
            count => format!("{first} (and {} other pods): {reasons}", count - 1),
        }
    });
    let mut lines: Vec<String> = lines.collect();
    lines.sort();
    warnings.extend(lines);
}
