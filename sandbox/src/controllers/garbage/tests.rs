use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};

use crate::Sandbox;
use crate::api::{DeleteOptions, Handle, Propagation};
use crate::meta;
use crate::registry::GroupResource;

struct World {
    handle: Handle,
    sandbox: Sandbox,
}

impl World {
    fn new() -> Self {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        Self {
            handle: Handle::new(sandbox.core(), "test"),
            sandbox,
        }
    }

    /// Creates a ConfigMap, or a ClusterRole if `namespace` is empty.
    fn create(&self, namespace: &str, name: &str, owners: &[Value]) -> Value {
        let mut object = if namespace.is_empty() {
            json!({"metadata": {"name": name}, "rules": []})
        } else {
            json!({"metadata": {"name": name, "namespace": namespace}})
        };
        if !owners.is_empty() {
            object["metadata"]["ownerReferences"] = json!(owners);
        }
        self.handle.create(&resource(namespace), object).unwrap()
    }

    fn delete(&self, name: &str, propagation: Propagation) {
        let options = DeleteOptions {
            propagation: Some(propagation),
            ..DeleteOptions::default()
        };
        let resource = resource("default");
        self.handle
            .delete(&resource, Some("default"), name, &options)
            .unwrap();
    }

    /// Waits until the collector has nothing left to do: the paused clock moves only when no task can run.
    async fn wait_until_idle(&self) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }

    fn names(&self) -> Vec<String> {
        let list = self.handle.list(&resource("default"), Some("default"));
        list.iter()
            .map(|object| meta::name(object).to_owned())
            .collect()
    }

    fn get(&self, name: &str) -> Option<Value> {
        let object = self
            .handle
            .get(&resource("default"), Some("default"), name)?;
        Some(Value::clone(&object))
    }
}

fn resource(namespace: &str) -> GroupResource {
    if namespace.is_empty() {
        GroupResource::new("rbac.authorization.k8s.io", "clusterroles")
    } else {
        GroupResource::new("", "configmaps")
    }
}

fn owner(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "name": meta::name(object),
        "uid": meta::uid(object),
        "blockOwnerDeletion": true,
    })
}

fn config_map(name: &str, uid: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid})
}

#[tokio::test(start_paused = true)]
async fn dependents_of_a_deleted_owner_are_deleted_at_every_depth() {
    let world = World::new();
    let top = world.create("default", "a", &[]);
    let child = world.create("default", "b", &[owner(&top)]);
    world.create("default", "c", &[owner(&child)]);
    world.wait_until_idle().await;
    assert_eq!(world.names(), ["a", "b", "c"]);
    world.delete("a", Propagation::Background);
    world.wait_until_idle().await;
    assert!(world.names().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_dependent_of_several_owners_stays_until_the_last_owner_is_gone() {
    let world = World::new();
    let (one, two) = (
        world.create("default", "a", &[]),
        world.create("default", "b", &[]),
    );
    world.create("default", "c", &[owner(&one), owner(&two)]);
    world.delete("a", Propagation::Background);
    world.wait_until_idle().await;
    assert_eq!(world.names(), ["b", "c"]);
    let references = &world.get("c").unwrap()["metadata"]["ownerReferences"];
    assert_eq!(*references, json!([owner(&two)]));
    world.delete("b", Propagation::Background);
    world.wait_until_idle().await;
    assert!(world.names().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_never_existed_is_absent() {
    let world = World::new();
    world.create("default", "a", &[config_map("ghost", "no-such-uid")]);
    let real = world.create("default", "real", &[]);
    // The same name again, but another object.
    world.create("default", "b", &[config_map("real", "older-uid")]);
    world.create("default", "c", &[owner(&real)]);
    world.wait_until_idle().await;
    assert_eq!(world.names(), ["c", "real"]);
}

#[tokio::test(start_paused = true)]
async fn orphans_stay_without_the_reference() {
    let world = World::new();
    let top = world.create("default", "a", &[]);
    world.create("default", "b", &[owner(&top)]);
    world.delete("a", Propagation::Orphan);
    world.wait_until_idle().await;
    assert_eq!(world.names(), ["b"]);
    assert!(
        world.get("b").unwrap()["metadata"]
            .get("ownerReferences")
            .is_none()
    );
}

#[tokio::test(start_paused = true)]
async fn in_the_foreground_dependents_are_deleted_first() {
    let world = World::new();
    let top = world.create("default", "a", &[]);
    let child = world.create("default", "b", &[owner(&top)]);
    let resource = resource("default");
    let hold = |object: &mut Value| meta::set_finalizers(object, vec!["test/hold".into()]);
    let namespace = Some("default");
    world
        .handle
        .update(&resource, namespace, meta::name(&child), "", hold)
        .unwrap();
    world.delete("a", Propagation::Foreground);
    world.wait_until_idle().await;
    assert_eq!(
        world.names(),
        ["a", "b"],
        "b is held by a finalizer, a by b"
    );
    assert!(meta::is_deleting(&world.get("b").unwrap()));
    let release = |object: &mut Value| meta::set_finalizers(object, vec![]);
    world
        .handle
        .update(&resource, namespace, "b", "", release)
        .unwrap();
    world.wait_until_idle().await;
    assert!(world.names().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_namespaced_owner_of_a_cluster_scoped_object_is_reported_and_nothing_is_deleted() {
    let world = World::new();
    let top = world.create("default", "a", &[]);
    world.create("", "role", &[owner(&top)]);
    world.delete("a", Propagation::Background);
    world.wait_until_idle().await;
    let role = world.handle.get(&resource(""), None, "role");
    assert!(role.is_some());
    assert_eq!(reports(&world), ["role"]);
}

#[tokio::test(start_paused = true)]
async fn an_owner_in_another_namespace_is_absent_and_reported() {
    let world = World::new();
    let top = world.create("kube-system", "a", &[]);
    world.create("default", "b", &[owner(&top)]);
    world.wait_until_idle().await;
    assert!(world.names().is_empty());
    assert_eq!(reports(&world), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn a_dependent_waits_for_the_kind_of_its_owner_to_be_served() {
    let world = World::new();
    let mut unknown = config_map("x", "some-uid");
    unknown["apiVersion"] = json!("example.com/v1");
    world.create("default", "a", &[unknown]);
    world.wait_until_idle().await;
    assert_eq!(world.names(), ["a"]);
}

fn reports(world: &World) -> Vec<String> {
    let events = world.handle.list(&GroupResource::new("", "events"), None);
    let events = events
        .iter()
        .filter(|event| event["reason"] == "OwnerRefInvalidNamespace");
    events
        .filter_map(|event| event["involvedObject"]["name"].as_str())
        .map(str::to_owned)
        .collect()
}

impl World {
    fn set_finalizers(&self, name: &str, finalizers: &[&str]) {
        let set = |object: &mut Value| {
            let all = finalizers.iter().map(|one| (*one).to_owned());
            meta::set_finalizers(object, all.collect());
        };
        let resource = resource("default");
        self.handle
            .update(&resource, Some("default"), name, "", set)
            .unwrap();
    }

    fn is_deleting(&self, name: &str) -> bool {
        meta::is_deleting(&self.get(name).unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn a_dependent_that_does_not_block_does_not_hold_its_owner() {
    let world = World::new();
    let top = world.create("default", "a", &[]);
    let mut loose = owner(&top);
    loose["blockOwnerDeletion"] = json!(false);
    world.create("default", "b", &[loose]);
    world.set_finalizers("b", &["test/hold"]);
    world.delete("a", Propagation::Foreground);
    world.wait_until_idle().await;
    assert_eq!(world.names(), ["b"]);
    assert!(world.is_deleting("b"));
}

#[tokio::test(start_paused = true)]
async fn in_the_foreground_dependents_of_dependents_are_deleted_first() {
    let world = World::new();
    let top = world.create("default", "a", &[]);
    let child = world.create("default", "b", &[owner(&top)]);
    world.create("default", "c", &[owner(&child)]);
    world.set_finalizers("c", &["test/hold"]);
    world.delete("a", Propagation::Foreground);
    world.wait_until_idle().await;
    assert_eq!(world.names(), ["a", "b", "c"]);
    assert!(world.is_deleting("b") && world.is_deleting("c"));
    world.set_finalizers("c", &[]);
    world.wait_until_idle().await;
    assert!(world.names().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_dependent_is_deleted_as_its_own_finalizers_ask() {
    for (finalizer, left) in [("orphan", &["c"][..]), ("foregroundDeletion", &["b", "c"])] {
        let world = World::new();
        let top = world.create("default", "a", &[]);
        let child = world.create("default", "b", &[owner(&top)]);
        world.create("default", "c", &[owner(&child)]);
        world.set_finalizers("b", &[finalizer]);
        world.set_finalizers("c", &["test/hold"]);
        world.delete("a", Propagation::Background);
        world.wait_until_idle().await;
        assert_eq!(world.names(), left, "{finalizer}");
        assert_eq!(world.is_deleting("c"), finalizer != "orphan");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wrong_namespace_is_reported_once_however_often_the_object_changes() {
    let world = World::new();
    let top = world.create("default", "a", &[]);
    world.create("", "role", &[owner(&top)]);
    world.wait_until_idle().await;
    for value in ["1", "2"] {
        let change = |object: &mut Value| object["metadata"]["labels"] = json!({"l": value});
        world
            .handle
            .update(&resource(""), None, "role", "", change)
            .unwrap();
        world.wait_until_idle().await;
    }
    assert_eq!(reports(&world), ["role"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_being_deleted_keeps_its_references() {
    let world = World::new();
    let one = world.create("default", "a", &[]);
    let two = world.create("default", "b", &[]);
    let owners = [owner(&one), owner(&two)];
    world.create("default", "c", &owners);
    world.set_finalizers("c", &["test/hold"]);
    world.delete("c", Propagation::Background);
    world.delete("a", Propagation::Background);
    world.wait_until_idle().await;
    let references = &world.get("c").unwrap()["metadata"]["ownerReferences"];
    assert_eq!(*references, json!(owners));
}

#[tokio::test(start_paused = true)]
async fn a_dependent_is_judged_when_the_kind_of_its_owner_becomes_served() {
    let world = World::new();
    let mut unknown = config_map("x", "some-uid");
    unknown["apiVersion"] = json!("example.com/v1");
    unknown["kind"] = json!("Gadget");
    world.create("default", "a", &[unknown]);
    world.wait_until_idle().await;
    assert_eq!(world.names(), ["a"]);
    let definition = json!({
        "metadata": {"name": "gadgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    let definitions = GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions");
    world.handle.create(&definitions, definition).unwrap();
    world.wait_until_idle().await;
    assert!(world.names().is_empty());
}

impl World {
    /// A policy that refuses this operation on ConfigMaps to the garbage collector.
    fn refuse(&self, operation: &str) {
        let policy = json!({
            "matchConstraints": {"resourceRules": [{
                "operations": [operation], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
            }]},
            "validations": [{"expression": "!request.userInfo.username.endsWith('garbage-collector')"}],
        });
        let bound = json!({"policyName": "rules", "validationActions": ["Deny"]});
        for (plural, spec) in [(POLICIES, policy), (BINDINGS, bound)] {
            let object = json!({"metadata": {"name": "rules"}, "spec": spec});
            self.handle.create(&admission(plural), object).unwrap();
        }
    }

    /// Removes the policy.
    fn allow(&self) {
        let options = DeleteOptions::default();
        let binding = admission(BINDINGS);
        self.handle
            .delete(&binding, None, "rules", &options)
            .unwrap();
    }

    /// A webhook that is asked about this operation on ConfigMaps. It needs a second, and refuses the first request if
    /// `fails_first`.
    fn ask(&self, operation: &str, fails_first: bool) {
        let asked = Arc::new(AtomicBool::new(false));
        self.sandbox
            .webhook("default/rules", move |request: Request<Bytes>| {
                let refuses = fails_first && !asked.swap(true, Ordering::Relaxed);
                async move {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    let review: Value = serde_json::from_slice(request.body()).unwrap();
                    let response = json!({"uid": review["request"]["uid"], "allowed": !refuses});
                    let answer = json!({
                        "kind": "AdmissionReview", "apiVersion": review["apiVersion"], "response": response,
                    });
                    Response::new(answer.to_string().into())
                }
            });
        let webhook = json!({
            "name": "rules.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"namespace": "default", "name": "rules"}},
            "rules": [{"operations": [operation], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
        });
        let object = json!({"metadata": {"name": "rules"}, "webhooks": [webhook]});
        let resource = admission("validatingwebhookconfigurations");
        self.handle.create(&resource, object).unwrap();
    }
}

const POLICIES: &str = "validatingadmissionpolicies";
const BINDINGS: &str = "validatingadmissionpolicybindings";

fn admission(plural: &str) -> GroupResource {
    GroupResource::new("admissionregistration.k8s.io", plural)
}

#[tokio::test(start_paused = true)]
async fn an_owner_stays_until_its_orphans_have_lost_the_reference() {
    let world = World::new();
    let top = world.create("default", "a", &[]);
    world.create("default", "b", &[owner(&top)]);
    world.refuse("UPDATE");
    world.delete("a", Propagation::Orphan);
    world.wait_until_idle().await;
    assert_eq!(meta::finalizers(&world.get("a").unwrap()), ["orphan"]);
    world.allow();
    world.wait_until_idle().await;
    assert_eq!(world.names(), ["b"]);
    let metadata = &world.get("b").unwrap()["metadata"];
    assert!(metadata.get("ownerReferences").is_none());
}

#[tokio::test(start_paused = true)]
async fn an_owner_waits_for_a_webhook_that_is_asked_about_its_orphans() {
    let world = World::new();
    let top = world.create("default", "a", &[]);
    world.create("default", "b", &[owner(&top)]);
    world.ask("UPDATE", false);
    let options = DeleteOptions {
        propagation: Some(Propagation::Orphan),
        ..DeleteOptions::default()
    };
    // Deletions are not asked about.
    let resource = resource("default");
    let deleted = world
        .handle
        .delete(&resource, Some("default"), "a", &options);
    deleted.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(world.names(), ["a", "b"]);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(world.names(), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_deletion_is_tried_again() {
    let world = World::new();
    let top = world.create("default", "a", &[]);
    world.create("default", "b", &[owner(&top)]);
    world.refuse("DELETE");
    world.delete("a", Propagation::Background);
    world.wait_until_idle().await;
    assert_eq!(world.names(), ["b"]);
    world.allow();
    world.wait_until_idle().await;
    assert!(world.names().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_a_webhook_refuses_is_tried_again() {
    let world = World::new();
    let top = world.create("default", "a", &[]);
    world.create("default", "b", &[owner(&top)]);
    world.delete("a", Propagation::Background);
    world.ask("DELETE", true);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(world.names(), ["b"]);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(world.names().is_empty());
}

#[tokio::test(start_paused = true)]
async fn in_the_foreground_a_circle_of_owners_is_deleted() {
    let world = World::new();
    let one = world.create("default", "a", &[]);
    let two = world.create("default", "b", &[owner(&one)]);
    let close = |object: &mut Value| object["metadata"]["ownerReferences"] = json!([owner(&two)]);
    let resource = resource("default");
    world
        .handle
        .update(&resource, Some("default"), "a", "", close)
        .unwrap();
    world.delete("a", Propagation::Foreground);
    world.wait_until_idle().await;
    assert!(world.names().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_owner_goes_when_its_dependent_blocks_it_no_longer() {
    let world = World::new();
    let top = world.create("default", "a", &[]);
    world.create("default", "b", &[owner(&top)]);
    world.set_finalizers("b", &["test/hold"]);
    world.delete("a", Propagation::Foreground);
    world.wait_until_idle().await;
    assert_eq!(world.names(), ["a", "b"]);
    let release = |object: &mut Value| {
        object["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = json!(false);
    };
    let resource = resource("default");
    world
        .handle
        .update(&resource, Some("default"), "b", "", release)
        .unwrap();
    world.wait_until_idle().await;
    assert_eq!(world.names(), ["b"]);
}
