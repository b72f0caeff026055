use serde_json::{Value, json};

use super::deadline::Deadline;
use super::scale::selector_text;
use super::update::Change;
use super::{Answered, DeleteOptions, Target, WriteOptions, delete, update};
use crate::core::Core;
use crate::error::{ApiError, Cause};
use crate::meta;
use crate::registry::GroupResource;
use crate::store::selector::LabelSelector;

const REASON: &str = "DisruptionBudget";
const REFUSED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
/// How many evictions a budget may have that its controller has not seen yet.
const MAX_DISRUPTED_PODS: usize = 2000;

/// Evicts a Pod: deletes it if its disruption budget allows that.
///
/// # Errors
/// 400 if the eviction names another Pod; 404; 409 if a precondition fails; 429 as long as the budget does not allow
/// the eviction.
pub(crate) async fn evict(
    core: &Core,
    target: &Target,
    name: &str,
    eviction: Value,
    options: &WriteOptions,
    mut deletion: DeleteOptions,
) -> Result<Answered, ApiError> {
    let (eviction, warnings) =
        super::admit_own_kind(core, target, "eviction", name, eviction, options).await?;
    let eviction = &eviction;
    let options = &options.unadmitted();
    deletion.admitted = false;
    if meta::name(eviction) != name {
        let message = "name in URL does not match name in Eviction object";
        return Err(ApiError::bad_request(message));
    }
    deletion.dry_run |= options.dry_run;
    let given_version = deletion.resource_version.is_some();
    let deadline = Deadline::new();
    loop {
        deadline.check()?;
        let pod = super::get_current(core, target, name).await?;
        let phase = pod.pointer("/status/phase").and_then(Value::as_str);
        let ended = matches!(phase, Some("Succeeded" | "Failed")) || meta::is_deleting(&pod);
        let mut pinned = deletion.clone();
        if ended || phase == Some("Pending") {
            if !ended && !given_version {
                pinned.resource_version = Some(meta::resource_version(&pod).into());
            }
        } else {
            let mut budgets = budgets(core, target, &pod).into_iter();
            match (budgets.next(), budgets.next()) {
                (_, Some(_)) => {
                    let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                    return Err(ApiError::new(500, "", message));
                }
                (Some(budget), None) if is_unguarded(&pod, &budget) => {
                    pinned.resource_version = Some(meta::resource_version(&pod).into());
                }
                (Some(budget), None) => {
                    decrement(core, target, name, &budget, deletion.dry_run).await?;
                }
                (None, None) => {}
            }
        }
        match end(core, target, name, options, pinned).await {
            // Another client changed the Pod meanwhile: read it again, unless the request names a resource version.
            Err(error) if error.reason == "Conflict" && !given_version => {
                if deletion.uid.is_some() {
                    return Err(error);
                }
            }
            outcome => {
                return outcome.map(|()| Answered {
                    answer: super::success(201),
                    warnings,
                });
            }
        }
    }
}

/// The disruption budgets that select a Pod.
fn budgets(core: &Core, target: &Target, pod: &Value) -> Vec<Value> {
    let resource = GroupResource::new("policy", "poddisruptionbudgets");
    let namespace = target.namespace.as_deref();
    let Some(Ok(all)) = core.store.list(&resource, namespace, None, None) else {
        return Vec::new();
    };
    let budgets = all.entries.into_iter().map(|entry| entry.object);
    let selects = |budget: &Value| {
        let selector = budget.pointer("/spec/selector");
        let selector = selector.filter(|selector| selector.is_object());
        // A missing selector selects no Pod, an empty one selects every Pod.
        let text = selector.map(selector_text);
        text.is_some_and(|text| LabelSelector::parse(&text).is_ok_and(|all| all.matches(pod)))
    };
    budgets
        .filter(|budget| selects(budget))
        .map(|budget| Value::clone(&budget))
        .collect()
}

/// Whether the budget allows the eviction of a Pod because that Pod is not ready and enough others are.
fn is_unguarded(pod: &Value, budget: &Value) -> bool {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    let (healthy, wanted) = (
        number(budget, "/status/currentHealthy"),
        number(budget, "/status/desiredHealthy"),
    );
    let always = budget.pointer("/spec/unhealthyPodEvictionPolicy") == Some(&json!("AlwaysAllow"));
    !ready && (always || healthy >= wanted && wanted > 0)
}

fn number(budget: &Value, pointer: &str) -> i64 {
    let number = budget.pointer(pointer).and_then(Value::as_i64);
    number.unwrap_or(0)
}

/// Takes one of the disruptions that a budget allows.
async fn decrement(
    core: &Core,
    pods: &Target,
    pod: &str,
    budget: &Value,
    dry_run: bool,
) -> Result<(), ApiError> {
    // The server makes this write itself, in its own name.
    let options = WriteOptions {
        manager: "kube-apiserver".into(),
        dry_run,
        ..WriteOptions::default()
    };
    let registry = core.registry();
    let name = meta::name(budget);
    let kind = registry.storage("policy", "poddisruptionbudgets");
    let kind = kind.ok_or_else(|| pods.not_found(pod))?;
    let target = Target::new(kind, pods.namespace.as_deref());
    let now = core.clock.timestamp();
    update(core, &target, name, "status", &options, |budget| {
        allows(budget)?;
        let mut budget = budget.clone();
        let left = number(&budget, "/status/disruptionsAllowed") - 1;
        budget["status"]["disruptionsAllowed"] = left.into();
        budget["status"]["disruptedPods"][pod] = now.as_str().into();
        if left == 0 {
            set_disruption_condition(&mut budget, "InsufficientPods", "", &now);
        }
        Ok(Change::Plain(budget))
    })
    .await
    .map(|_| ())
}

/// Sets the condition that says whether a budget allows evictions: only if there are `SufficientPods`.
pub(crate) fn set_disruption_condition(budget: &mut Value, reason: &str, message: &str, now: &str) {
    let status = match reason {
        "SufficientPods" => "True",
        _ => "False",
    };
    let generation = meta::generation(budget).unwrap_or(0);
    let conditions = &mut budget["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    let known = conditions
        .iter_mut()
        .find(|condition| condition["type"] == "DisruptionAllowed");
    let since = match &known {
        Some(known) if known["status"] == status => known["lastTransitionTime"].clone(),
        _ => now.into(),
    };
    let condition = json!({
        "type": "DisruptionAllowed", "status": status, "reason": reason,
        "message": message, "lastTransitionTime": since, "observedGeneration": generation,
    });
    match known {
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
}

fn allows(budget: &Value) -> Result<(), ApiError> {
    let name = meta::name(budget);
    let refused = |message: String, after: Option<u64>| {
        let cause = Cause::field(REASON, "", message);
        let error = ApiError::new(429, "TooManyRequests", REFUSED).because(vec![cause]);
        Err(error.retry_after(after))
    };
    let forbidden = |why: &str| {
        let resource = GroupResource::new("policy", "poddisruptionbudget");
        Err(ApiError::forbidden(&resource, name, why))
    };
    let seen = number(budget, "/status/observedGeneration");
    if seen < meta::generation(budget).unwrap_or(0) {
        let message =
            format!("The disruption budget {name} is still being processed by the server.");
        return refused(message, Some(10));
    }
    let disrupted = budget.pointer("/status/disruptedPods");
    if disrupted
        .and_then(Value::as_object)
        .map_or(0, serde_json::Map::len)
        > MAX_DISRUPTED_PODS
    {
        return forbidden(
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        );
    }
    match number(budget, "/status/disruptionsAllowed") {
        0 => refused(refusal(budget), None),
        allowed if allowed < 0 => forbidden("pdb disruptions allowed is negative"),
        _ => Ok(()),
    }
}

fn refusal(budget: &Value) -> String {
    let name = meta::name(budget);
    let (healthy, wanted) = (
        number(budget, "/status/currentHealthy"),
        number(budget, "/status/desiredHealthy"),
    );
    let conditions = budget
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let condition = conditions.into_iter().flatten().find(|condition| {
        condition["type"] == "DisruptionAllowed" && condition["status"] == "False"
    });
    let text = |field: &str| {
        let text = condition.and_then(|condition| condition.get(field)?.as_str());
        text.unwrap_or_default()
    };
    let (reason, message) = (text("reason"), text("message"));
    if !message.is_empty() && reason == "SyncFailed" {
        format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {message}"
        )
    } else if healthy <= wanted {
        format!(
            "The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"
        )
    } else if !message.is_empty() {
        format!(
            "The disruption budget {name} does not allow evicting pods currently ({reason}): {message}"
        )
    } else {
        format!("The disruption budget {name} does not allow evicting pods currently")
    }
}

/// Writes the reason of the eviction into the Pod, and deletes the Pod.
async fn end(
    core: &Core,
    target: &Target,
    name: &str,
    options: &WriteOptions,
    mut deletion: DeleteOptions,
) -> Result<(), ApiError> {
    if !deletion.dry_run {
        let now = core.clock.timestamp();
        let written = update(core, target, name, "status", options, |pod| {
            delete::preconditions(target, name, pod, &deletion)?;
            let mut pod = pod.clone();
            set_condition(
                &mut pod,
                &json!({
                    "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                    "message": "Eviction API: evicting", "lastProbeTime": null, "lastTransitionTime": now,
                }),
            );
            Ok(Change::Owned(pod))
        })
        .await?;
        if deletion.resource_version.is_some() {
            deletion.resource_version = Some(meta::resource_version(&written.object).into());
        }
    }
    delete::delete(core, target, name, &deletion)
        .await
        .map(|_| ())
}

/// Sets a condition of a Pod's status by its type. If the condition had the same status before, it keeps its transition
/// time.
pub(super) fn set_condition(pod: &mut Value, condition: &Value) {
    if !pod["status"].is_object() {
        pod["status"] = json!({});
    }
    let conditions = &mut pod["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    let of_type = |known: &&mut Value| known["type"] == condition["type"];
    match conditions.iter_mut().find(of_type) {
        Some(known) if known["status"] == condition["status"] => {
            let since = known["lastTransitionTime"].clone();
            *known = condition.clone();
            known["lastTransitionTime"] = since;
        }
        Some(known) => *known = condition.clone(),
        None => conditions.push(condition.clone()),
    }
}
