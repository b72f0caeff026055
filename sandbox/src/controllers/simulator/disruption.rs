//! Disruption budgets: how many of their Pods may be evicted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::deployment::bound;
use super::events::{self, Message};
use super::object::{
    controller, deployments, is_true, number, owner_of, pods, replica_sets, resource_of, since,
    update,
};
use crate::api::{Handle, read_scale, set_disruption_condition};
use crate::builtin;
use crate::meta;
use crate::registry::GroupResource;

/// How long an evicted Pod counts as gone until its deletion is seen.
const DELETION: Duration = Duration::from_secs(2 * 60);

pub(super) fn budgets() -> GroupResource {
    GroupResource::new("policy", "poddisruptionbudgets")
}

/// Whether a budget covers Pods with these labels.
pub(super) fn selects(budget: &Value, labels: &Value) -> bool {
    let selector = &budget["spec"]["selector"];
    selector.is_object() && builtin::selects(selector, labels)
}

/// Reports how many Pods of a budget are healthy and how many may be evicted. Returns the time until an evicted Pod counts again.
pub(super) fn reconcile(handle: &Handle, budget: &Value) -> Option<Duration> {
    if meta::is_deleting(budget) {
        return None;
    }
    let mut selected = handle.list(&pods(), Some(meta::text(budget, "namespace")));
    selected.retain(|pod| selects(budget, &pod["metadata"]["labels"]));
    if selected.is_empty() {
        record(handle, budget, false, "NoPods", "No matching pods found");
    }
    let counts = counts(handle, budget, &selected);
    let (expected, desired) = match counts {
        Ok(counts) => counts,
        Err(why) => {
            let text = format!("Failed to calculate the number of expected pods: {why}");
            record(
                handle,
                budget,
                true,
                "CalculateExpectedPodCountFailed",
                &text,
            );
            report_failure(handle, budget, &why);
            return None;
        }
    };
    let (disrupted, next) = disrupted(handle, budget, &selected);
    let healthy = selected.iter().filter(|pod| {
        !meta::is_deleting(pod) && !disrupted.contains_key(meta::name(pod)) && is_true(pod, "Ready")
    });
    let healthy = i64::try_from(healthy.count()).unwrap_or(i64::MAX);
    let allowed = match expected > 0 {
        true => (healthy - desired).max(0),
        false => 0,
    };
    let now = handle.core().clock.timestamp();
    update(handle, &budgets(), budget, "status", |current| {
        // The counts are those of another specification, or an eviction has used what they allow. That change leads here again.
        if meta::resource_version(current) != meta::resource_version(budget) {
            return;
        }
        let generation = meta::generation(current);
        let mut status = json!({
            "observedGeneration": generation, "currentHealthy": healthy, "desiredHealthy": desired,
            "expectedPods": expected, "disruptionsAllowed": allowed,
            "conditions": current["status"]["conditions"],
        });
        if !disrupted.is_empty() {
            status["disruptedPods"] = Value::Object(disrupted.clone());
        }
        current["status"] = status;
        let reason = match allowed {
            0 => "InsufficientPods",
            _ => "SufficientPods",
        };
        set_disruption_condition(current, reason, "", &now);
    });
    next
}

/// How many Pods there should be, and how many of them have to stay healthy.
fn counts(handle: &Handle, budget: &Value, pods: &[Arc<Value>]) -> Result<(i64, i64), String> {
    let spec = &budget["spec"];
    if !spec["maxUnavailable"].is_null() {
        let expected = scale(handle, budget, pods)?;
        let most = bound(&spec["maxUnavailable"], expected, true);
        return Ok((expected, (expected - most).max(0)));
    }
    match &spec["minAvailable"] {
        Value::Null => Ok((0, 0)),
        Value::Number(least) => {
            let count = i64::try_from(pods.len()).unwrap_or(i64::MAX);
            Ok((count, least.as_i64().unwrap_or_default()))
        }
        share => {
            let expected = scale(handle, budget, pods)?;
            Ok((expected, bound(share, expected, true)))
        }
    }
}

/// The replicas that the controllers of these Pods should have together.
fn scale(handle: &Handle, budget: &Value, pods: &[Arc<Value>]) -> Result<i64, String> {
    let mut scales: BTreeMap<String, i64> = BTreeMap::new();
    let mut unmanaged = false;
    for pod in pods {
        let Some(reference) = controller(pod) else {
            unmanaged = true;
            continue;
        };
        let missing = || format!("found no controllers for pod {:?}", meta::name(pod));
        let mut owner = owner_of(handle, pod).ok_or_else(missing)?;
        let mut resource = resource_of(handle, reference).ok_or_else(missing)?;
        if resource == replica_sets()
            && let Some(of_set) = owner_of(handle, &owner)
            && of_set["kind"] == "Deployment"
        {
            (owner, resource) = (of_set, deployments());
        }
        let target = handle.target(&resource, Some(meta::text(pod, "namespace")));
        let target = target.map_err(|_| missing())?;
        let scale = read_scale(&target, &owner)
            .map_err(|_| format!("{resource} does not implement the scale subresource"))?;
        scales.insert(
            meta::uid(&owner).to_owned(),
            number(&scale, "/spec/replicas"),
        );
    }
    if unmanaged {
        let text = "the budget selects Pods without a controller, and only a whole number as .spec.minAvailable counts them";
        record(handle, budget, true, "UnmanagedPods", text);
    }
    Ok(scales.values().sum())
}

/// The evicted Pods whose deletion is not seen yet, and the time until the first of them counts again.
fn disrupted(
    handle: &Handle,
    budget: &Value,
    pods: &[Arc<Value>],
) -> (Map<String, Value>, Option<Duration>) {
    let known = &budget["status"]["disruptedPods"];
    let mut kept = Map::new();
    let mut next = None;
    for pod in pods.iter().filter(|pod| !meta::is_deleting(pod)) {
        let time = &known[meta::name(pod)];
        let rest = since(handle, time).map(|age| DELETION.saturating_sub(age));
        if let Some(rest) = rest.filter(|rest| !rest.is_zero()) {
            kept.insert(meta::name(pod).to_owned(), time.clone());
            next = Some(next.map_or(rest, |next: Duration| next.min(rest)));
        }
    }
    (kept, next)
}

/// Allows no eviction, because the Pods cannot be counted.
fn report_failure(handle: &Handle, budget: &Value, why: &str) {
    let now = handle.core().clock.timestamp();
    update(handle, &budgets(), budget, "status", |current| {
        if !current["status"].is_object() {
            current["status"] = json!({});
        }
        current["status"]["disruptionsAllowed"] = json!(0);
        set_disruption_condition(current, "SyncFailed", why, &now);
    });
}

fn record(handle: &Handle, budget: &Value, warning: bool, reason: &str, text: &str) {
    let what = Message {
        component: "controllermanager",
        warning,
        reason,
    };
    events::record(handle, budget, what, text);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::budgets;
    use crate::api::{DeleteOptions, WriteOptions, evict};
    use crate::controllers::simulator::object::{deployments, is_true, pods};
    use crate::controllers::simulator::world::World;
    use crate::error::ApiError;
    use crate::meta;

    fn deployment() -> Value {
        json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            }},
        })
    }

    fn budget(bound: &str, value: Value) -> Value {
        json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {bound: value, "selector": {"matchLabels": {"app": "web"}}},
        })
    }

    /// Healthy, desired, expected and allowed.
    fn counts(world: &World) -> [i64; 4] {
        let budget = world.get(&budgets(), "web");
        let names = [
            "currentHealthy",
            "desiredHealthy",
            "expectedPods",
            "disruptionsAllowed",
        ];
        names.map(|name| budget["status"][name].as_i64().unwrap())
    }

    /// Evicts a Pod that runs: one that only starts may always be evicted.
    async fn evict_first(world: &World) -> Result<Value, ApiError> {
        let all = world.pods();
        let ready = |pod: &&Arc<Value>| !meta::is_deleting(pod) && is_true(pod, "Ready");
        let pod = all.iter().find(ready).unwrap();
        let name = meta::name(pod);
        let core = world.handle.core();
        let target = world.handle.target(&pods(), Some("default")).unwrap();
        let eviction = json!({"metadata": {"name": name}});
        let (options, deletion) = (WriteOptions::default(), DeleteOptions::default());
        let evicted = evict(core, &target, name, eviction, &options, deletion);
        evicted.await.map(|evicted| evicted.answer)
    }

    #[tokio::test(start_paused = true)]
    async fn a_budget_counts_its_pods() {
        let world = World::new();
        world.create(&deployments(), deployment());
        world.pass(5).await;
        for (bound, value, expected) in [
            ("maxUnavailable", json!(1), [3, 2, 3, 1]),
            ("maxUnavailable", json!("40%"), [3, 1, 3, 2]),
            ("minAvailable", json!(3), [3, 3, 3, 0]),
            ("minAvailable", json!("50%"), [3, 2, 3, 1]),
        ] {
            world.create(&budgets(), budget(bound, value.clone()));
            world.pass(1).await;
            assert_eq!(counts(&world), expected, "{bound} {value}");
            let condition = &world.get(&budgets(), "web")["status"]["conditions"][0];
            let reason = match expected[3] {
                0 => "InsufficientPods",
                _ => "SufficientPods",
            };
            assert_eq!(condition["reason"], reason);
            world.delete(&budgets(), "web", None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_eviction_waits_for_the_new_pod() {
        let world = World::new();
        world.create(&deployments(), deployment());
        world.create(&budgets(), budget("maxUnavailable", json!(1)));
        world.pass(5).await;
        evict_first(&world).await.unwrap();
        assert_eq!(evict_first(&world).await.unwrap_err().code, 429);
        world.pass_millis(300).await;
        assert_eq!(counts(&world), [2, 2, 3, 0]);
        assert_eq!(evict_first(&world).await.unwrap_err().code, 429);
        world.pass(5).await;
        assert_eq!(counts(&world), [3, 2, 3, 1]);
        evict_first(&world).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_that_is_being_deleted_is_not_healthy() {
        let world = World::new();
        world.create(&deployments(), deployment());
        world.create(&budgets(), budget("minAvailable", json!(1)));
        world.pass(5).await;
        assert_eq!(counts(&world), [3, 1, 3, 2]);
        let all = world.pods();
        let name = meta::name(&all[0]).to_owned();
        world.delete(&pods(), &name, None);
        world.pass_millis(1).await;
        let deleted = world.get(&pods(), &name);
        assert!(meta::is_deleting(&deleted) && is_true(&deleted, "Ready"));
        assert_eq!(counts(&world)[0], 2);
    }

    #[tokio::test(start_paused = true)]
    async fn pods_that_cannot_be_counted_are_not_evicted() {
        let world = World::new();
        let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "uid": "x", "controller": true});
        world.create(&pods(), json!({
            "metadata": {"name": "one", "namespace": "default", "labels": {"app": "web"}, "finalizers": ["example.com/stay"], "ownerReferences": [owner]},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }));
        world.create(&budgets(), budget("maxUnavailable", json!(1)));
        world.pass(2).await;
        let status = world.get(&budgets(), "web")["status"].clone();
        assert_eq!(status["disruptionsAllowed"], 0);
        assert_eq!(status["conditions"][0]["reason"], "SyncFailed");
        assert_eq!(
            status["conditions"][0]["message"],
            "found no controllers for pod \"one\""
        );
    }
}
