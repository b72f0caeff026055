use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::Sandbox;
use crate::api::update::Change;
use crate::api::{self, DeleteOptions, Handle, Target, WriteOptions, Written};
use crate::error::ApiError;
use crate::record::Audit;
use crate::registry::GroupResource;

/// A sandbox, and the requests of the reviews that its webhook got.
struct World {
    sandbox: Sandbox,
    asked: Arc<Mutex<Vec<Value>>>,
}

/// The answer to a review: what stands in `response` beside the UID.
type Answers = Box<dyn Fn(&Value) -> Value + Send + Sync>;

fn allowed() -> Value {
    json!({"allowed": true})
}

fn patched(operations: &Value) -> Value {
    let patch = STANDARD.encode(operations.to_string());
    json!({"allowed": true, "patchType": "JSONPatch", "patch": patch})
}

impl World {
    fn new(answers: Answers) -> Self {
        let sandbox = Sandbox::builder()
            .seed(1)
            .controllers(false)
            .build()
            .unwrap();
        let world = Self {
            sandbox,
            asked: Arc::default(),
        };
        let asked = world.asked.clone();
        let answers = Arc::new(answers);
        world.sandbox.webhook("default/rules", move |request: Request<Bytes>| {
            let (asked, answers) = (asked.clone(), answers.clone());
            async move {
                let review: Value = serde_json::from_slice(request.body()).unwrap();
                let mut seen = review["request"].clone();
                seen["path"] = request.uri().path().into();
                asked.lock().push(seen.clone());
                let mut response = answers(&seen);
                response["uid"] = review["request"]["uid"].clone();
                let answer = json!({
                    "kind": "AdmissionReview", "apiVersion": review["apiVersion"], "response": response,
                });
                Response::new(answer.to_string().into())
            }
        });
        world
    }

    fn target(&self, group: &str, plural: &str) -> Target {
        let registry = self.sandbox.core().registry();
        Target::new(registry.storage(group, plural).unwrap(), Some("default"))
    }

    fn configure(&self, kind: &str, name: &str, webhooks: &[Value]) {
        let handle = Handle::new(self.sandbox.core(), "test");
        let resource = format!("{}s", kind.to_lowercase());
        let resource = GroupResource::new("admissionregistration.k8s.io", resource);
        let object = json!({"metadata": {"name": name}, "webhooks": webhooks});
        handle.create(&resource, object).unwrap();
    }

    fn mutating(&self, name: &str, webhooks: &[Value]) {
        self.configure("MutatingWebhookConfiguration", name, webhooks);
    }

    fn validating(&self, name: &str, webhooks: &[Value]) {
        self.configure("ValidatingWebhookConfiguration", name, webhooks);
    }

    async fn create(&self, plural: &str, object: Value) -> Result<Written, ApiError> {
        let target = self.target("", plural);
        api::create(self.sandbox.core(), &target, object, &options(), false).await
    }

    async fn set(&self, name: &str, field: &str, value: &str) -> Result<Written, ApiError> {
        let target = self.target("", "configmaps");
        api::update(
            self.sandbox.core(),
            &target,
            name,
            "",
            &options(),
            |current| {
                let mut new = current.clone();
                new["data"][field] = value.into();
                Ok(Change::Plain(new))
            },
        )
        .await
    }

    fn paths(&self) -> Vec<String> {
        let asked = self.asked.lock();
        let path = |request: &Value| request["path"].as_str().unwrap().to_owned();
        asked.iter().map(path).collect()
    }
}

fn options() -> WriteOptions {
    WriteOptions {
        manager: "test".into(),
        admitted: true,
        ..WriteOptions::default()
    }
}

/// A webhook for ConfigMaps at this path.
fn hook(path: &str, fields: &Value) -> Value {
    let mut hook = json!({
        "name": format!("{path}.example.com"),
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"service": {"namespace": "default", "name": "rules", "path": format!("/{path}")}},
        "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
    });
    for (field, value) in fields.as_object().unwrap() {
        hook[field] = value.clone();
    }
    hook
}

fn map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"a": "1"}})
}

#[tokio::test(start_paused = true)]
async fn a_denial_is_the_answer() {
    let world = World::new(Box::new(|_| {
        json!({"allowed": false, "warnings": ["look"], "status": {
            "code": 409, "reason": "Conflict", "message": "taken", "details": {"name": "x"}}})
    }));
    world.validating("rules", &[hook("deny", &json!({}))]);
    let error = world.create("configmaps", map("a")).await.unwrap_err();
    let message = "admission webhook \"deny.example.com\" denied the request: taken";
    assert_eq!((error.code, error.message.as_str()), (409, message));
    assert_eq!(error.warnings(), ["look"]);
    let status = error.to_status();
    assert_eq!(status["reason"], "Conflict");
    assert_eq!(status["details"], json!({"name": "x"}));
    assert!(
        world
            .sandbox
            .core()
            .store
            .get(
                &GroupResource::new("", "configmaps"),
                &world.target("", "configmaps").key("a")
            )
            .is_none()
    );
}

#[tokio::test(start_paused = true)]
async fn the_audit_log_gets_what_webhooks_annotate_and_change() {
    let world = World::new(Box::new(|seen| match seen["path"].as_str() {
        Some("/nonsense") => json!({"allowed": "?", "patch": "?"}),
        Some("/add") => {
            let mut answer = patched(&json!([{"op": "add", "path": "/data/b", "value": "2"}]));
            answer["auditAnnotations"] = json!({"why": "because", "not/a/key": "x"});
            answer
        }
        _ => json!({"allowed": false, "auditAnnotations": {"denied": "yes"}}),
    }));
    let ignored = json!({"failurePolicy": "Ignore"});
    let mutating = [hook("nonsense", &ignored), hook("add", &json!({}))];
    world.mutating("changes", &mutating);
    let validating = [hook("nonsense", &ignored), hook("deny", &json!({}))];
    world.validating("rules", &validating);
    let audit = Audit::new(true);
    let options = WriteOptions {
        audit: audit.clone(),
        ..options()
    };
    let target = world.target("", "configmaps");
    let created = api::create(world.sandbox.core(), &target, map("a"), &options, false);
    created.await.unwrap_err();
    let annotation = |webhook: &str, mutated: bool| {
        format!(
            r#"{{"configuration":"changes","webhook":"{webhook}.example.com","mutated":{mutated}}}"#
        )
    };
    assert_eq!(
        json!(audit.notes().annotations),
        json!({
            "add.example.com/why": "because",
            "deny.example.com/denied": "yes",
            "failed-open.mutation.webhook.admission.k8s.io/round_0_index_0": "nonsense.example.com",
            "failed-open.validating.webhook.admission.k8s.io/round_0_index_0": "nonsense.example.com",
            "mutation.webhook.admission.k8s.io/round_0_index_0": annotation("nonsense", false),
            "mutation.webhook.admission.k8s.io/round_0_index_1": annotation("add", true),
        })
    );
}

#[tokio::test(start_paused = true)]
async fn a_denial_without_a_reason_is_a_bad_request() {
    let world = World::new(Box::new(|_| json!({"allowed": false})));
    world.validating("rules", &[hook("deny", &json!({}))]);
    let error = world.create("configmaps", map("a")).await.unwrap_err();
    let message = "admission webhook \"deny.example.com\" denied the request without explanation";
    assert_eq!((error.code, error.message.as_str()), (400, message));
    assert!(error.to_status().get("reason").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_mutation_is_stored_and_has_no_owner() {
    let world = World::new(Box::new(|_| {
        patched(&json!([
            {"op": "add", "path": "/data/b", "value": "2"},
            {"op": "add", "path": "/unknown", "value": true},
        ]))
    }));
    world.mutating("rules", &[hook("add", &json!({}))]);
    let created = world.create("configmaps", map("a")).await.unwrap().object;
    assert_eq!(created["data"], json!({"a": "1", "b": "2"}));
    assert!(created.get("unknown").is_none());
    let owned = &created["metadata"]["managedFields"][0]["fieldsV1"]["f:data"];
    assert_eq!(*owned, json!({".": {}, "f:a": {}}));
    let seen = world.asked.lock()[0].clone();
    assert_eq!(
        (&seen["operation"], &seen["name"]),
        (&json!("CREATE"), &json!("a"))
    );
    assert!(seen["object"]["metadata"].get("uid").is_none());
    assert!(seen["oldObject"].is_null());
    let changed = world.set("a", "c", "3").await.unwrap().object;
    assert_eq!(changed["data"], json!({"a": "1", "b": "2", "c": "3"}));
    let seen = world.asked.lock()[1].clone();
    assert_eq!(seen["oldObject"]["data"], json!({"a": "1", "b": "2"}));
    assert_eq!(
        seen["object"]["metadata"]["uid"],
        created["metadata"]["uid"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_object_is_validated_after_its_mutation() {
    let world = World::new(Box::new(|seen| {
        let port = match seen["object"]["metadata"]["name"] == "good" {
            true => 80,
            false => 0,
        };
        patched(&json!([{"op": "add", "path": "/spec/ports", "value": [{"port": port}]}]))
    }));
    let rules = json!([{"operations": ["CREATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["services"]}]);
    world.mutating("rules", &[hook("ports", &json!({"rules": rules}))]);
    let service =
        |name: &str| json!({"metadata": {"name": name}, "spec": {"selector": {"a": "b"}}});
    let created = world
        .create("services", service("good"))
        .await
        .unwrap()
        .object;
    assert_eq!(
        created["spec"]["ports"][0]["protocol"], "TCP",
        "defaults are set after the patch"
    );
    let error = world.create("services", service("bad")).await.unwrap_err();
    assert_eq!(error.code, 422);
}

#[tokio::test(start_paused = true)]
async fn webhooks_are_asked_in_order_and_again_if_they_want() {
    let world = World::new(Box::new(|seen| match seen["path"].as_str() {
        Some("/last") if seen["object"]["data"]["b"].is_null() => {
            patched(&json!([{"op": "add", "path": "/data/b", "value": "2"}]))
        }
        _ => allowed(),
    }));
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    world.mutating("b", &[hook("last", &again)]);
    world.mutating("a", &[hook("first", &again), hook("second", &json!({}))]);
    world.create("configmaps", map("a")).await.unwrap();
    assert_eq!(world.paths(), ["/first", "/second", "/last", "/first"]);
    assert_eq!(world.asked.lock()[3]["object"]["data"]["b"], "2");
}

/// Go reads bytes from base64 or from numbers, and kube-rs writes numbers.
#[tokio::test(start_paused = true)]
async fn a_patch_may_be_the_numbers_of_its_bytes() {
    let world = World::new(Box::new(|seen| {
        let patch = json!([{"op": "add", "path": "/data/b", "value": "2"}]).to_string();
        let mut numbers: Vec<u32> = patch.bytes().map(u32::from).collect();
        if seen["name"] == "bad" {
            numbers[0] += 256;
        }
        json!({"allowed": true, "patchType": "JSONPatch", "patch": numbers})
    }));
    world.mutating("numbers", &[hook("numbers", &json!({}))]);
    let created = world.create("configmaps", map("good")).await.unwrap();
    assert_eq!(created.object["data"]["b"], "2");
    let error = world.create("configmaps", map("bad")).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("cannot unmarshal 347 into Go struct field"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_cannot_be_used_fails_the_request_unless_it_is_ignored() {
    let world = World::new(Box::new(|_| json!({"allowed": true, "patch": "e30="})));
    let unknown = json!({"service": {"namespace": "default", "name": "nobody"}});
    let call = r#"failed to call webhook: Post "https://nobody.default.svc:443/?timeout=10s": service "nobody" not found"#;
    let answer =
        "received invalid webhook response: validating webhook may not return response.patch";
    for (fields, why) in [
        (json!({"clientConfig": unknown}), call),
        (json!({}), answer),
    ] {
        world.validating("rules", &[hook("one", &fields)]);
        let error = world.create("configmaps", map("a")).await.unwrap_err();
        let message =
            format!("Internal error occurred: failed calling webhook \"one.example.com\": {why}");
        assert_eq!((error.code, error.message), (500, message));
        let handle = Handle::new(world.sandbox.core(), "test");
        let resource = GroupResource::new(
            "admissionregistration.k8s.io",
            "validatingwebhookconfigurations",
        );
        handle
            .update(&resource, None, "rules", "", |rules| {
                rules["webhooks"][0]["failurePolicy"] = "Ignore".into()
            })
            .unwrap();
        let name = if why == call { "one" } else { "two" };
        world.create("configmaps", map(name)).await.unwrap();
        handle
            .delete(&resource, None, "rules", &DeleteOptions::default())
            .unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn other_requests_go_on_while_a_webhook_is_asked() {
    let world = World::new(Box::new(|_| allowed()));
    world
        .sandbox
        .webhook("default/slow", |_| std::future::pending());
    let slow = json!({"service": {"namespace": "default", "name": "slow"}});
    let selector = json!({"matchLabels": {"slow": "yes"}});
    let fields = json!({"clientConfig": slow, "objectSelector": selector, "timeoutSeconds": 3});
    world.validating("rules", &[hook("slow", &fields)]);
    let mut held = map("held");
    held["metadata"]["labels"] = json!({"slow": "yes"});
    let before = tokio::time::Instant::now();
    let (held, other) = tokio::join!(world.create("configmaps", held), async {
        let other = world.create("configmaps", map("other")).await;
        (other, before.elapsed())
    });
    assert!(
        held.unwrap_err()
            .message
            .ends_with("context deadline exceeded")
    );
    assert_eq!(before.elapsed(), Duration::from_secs(3));
    assert!(other.0.is_ok());
    assert_eq!(other.1, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_change_during_the_call_starts_the_write_again() {
    let world = World::new(Box::new(|_| allowed()));
    world.create("configmaps", map("a")).await.unwrap();
    let handle = Handle::new(world.sandbox.core(), "test");
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = calls.clone();
    world
        .sandbox
        .webhook("default/rival", move |request: Request<Bytes>| {
            let review: Value = serde_json::from_slice(request.body()).unwrap();
            if seen.fetch_add(1, Ordering::Relaxed) == 0 {
                let target = handle
                    .target(&GroupResource::new("", "configmaps"), Some("default"))
                    .unwrap();
                let options = WriteOptions::default();
                let core = handle.core().clone();
                let rival =
                    api::handle::now(api::update(&core, &target, "a", "", &options, |current| {
                        let mut new = current.clone();
                        new["data"]["rival"] = "1".into();
                        Ok(Change::Plain(new))
                    }));
                rival.unwrap();
            }
            let answer = json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
            "response": {"uid": review["request"]["uid"], "allowed": true}});
            async move { Response::new(answer.to_string().into()) }
        });
    let rival = json!({"service": {"namespace": "default", "name": "rival"}});
    world.validating("rules", &[hook("rival", &json!({"clientConfig": rival}))]);
    let changed = world.set("a", "mine", "2").await.unwrap().object;
    assert_eq!(
        changed["data"],
        json!({"a": "1", "rival": "1", "mine": "2"})
    );
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_asks_only_webhooks_without_side_effects() {
    let world = World::new(Box::new(|_| allowed()));
    world.validating(
        "rules",
        &[hook("one", &json!({"sideEffects": "NoneOnDryRun"}))],
    );
    let dry = WriteOptions {
        dry_run: true,
        ..options()
    };
    let target = world.target("", "configmaps");
    api::create(world.sandbox.core(), &target, map("a"), &dry, false)
        .await
        .unwrap();
    assert_eq!(world.asked.lock()[0]["dryRun"], true);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_shows_the_old_object() {
    let world = World::new(Box::new(|seen| match seen["operation"] == "DELETE" {
        true => json!({"allowed": false, "status": {"message": "stays"}}),
        false => allowed(),
    }));
    world.create("configmaps", map("a")).await.unwrap();
    world.validating("rules", &[hook("one", &json!({}))]);
    let target = world.target("", "configmaps");
    let deletion = DeleteOptions {
        admitted: true,
        ..DeleteOptions::default()
    };
    let deleted = api::delete(world.sandbox.core(), &target, "a", &deletion).await;
    assert!(
        deleted
            .err()
            .unwrap()
            .message
            .ends_with("denied the request: stays")
    );
    let seen = world.asked.lock()[0].clone();
    assert_eq!(seen["oldObject"]["data"], json!({"a": "1"}));
    assert!(seen["object"].is_null());
    assert_eq!(seen["options"]["kind"], "DeleteOptions");
}

#[tokio::test(start_paused = true)]
async fn match_conditions_and_selectors_choose_the_requests() {
    let world = World::new(Box::new(|_| allowed()));
    let condition =
        |expression: &str| json!({"matchConditions": [{"name": "c", "expression": expression}]});
    world.validating("rules", &[
        hook("yes", &condition("object.metadata.name == 'a' && request.operation == 'CREATE'")),
        hook("no", &condition("has(object.data.b)")),
        hook("elsewhere", &json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}})),
        hook("labeled", &json!({"objectSelector": {"matchExpressions": [{"key": "x", "operator": "Exists"}]}})),
        hook("exempt", &json!({"rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/status"]}]})),
    ]);
    world.create("configmaps", map("a")).await.unwrap();
    assert_eq!(world.paths(), ["/yes"]);
    world.validating(
        "broken",
        &[hook("broken", &condition("object.spec.x == 1"))],
    );
    let error = world.create("configmaps", map("a")).await.unwrap_err();
    assert_eq!(error.code, 403);
    let start = "configmaps \"a\" is forbidden: expression 'object.spec.x == 1' resulted in error: no such key: spec";
    assert_eq!(error.message, start);
}

#[tokio::test(start_paused = true)]
async fn configurations_themselves_are_never_sent() {
    let world = World::new(Box::new(|_| json!({"allowed": false})));
    let all = json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]);
    world.validating("rules", &[hook("all", &json!({"rules": all}))]);
    world.validating("more", &[]);
    assert!(world.asked.lock().is_empty());
    assert!(world.create("configmaps", map("a")).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_webhook_gets_the_version_that_its_rules_name() {
    let world = World::new(Box::new(|seen| {
        let note = seen["object"]["regarding"]["name"].clone();
        patched(&json!([{"op": "add", "path": "/note", "value": note}]))
    }));
    let rules = json!([{"operations": ["CREATE"], "apiGroups": ["events.k8s.io"], "apiVersions": ["v1"], "resources": ["events"]}]);
    world.mutating("rules", &[hook("event", &json!({"rules": rules}))]);
    let event = json!({"metadata": {"name": "e"}, "involvedObject": {"name": "web", "namespace": "default"}, "message": "old"});
    let created = world.create("events", event).await.unwrap().object;
    assert_eq!(created["message"], "web");
    let seen = world.asked.lock()[0].clone();
    assert_eq!(seen["resource"]["group"], "events.k8s.io");
    assert_eq!(seen["requestResource"]["group"], "");
    assert_eq!(seen["object"]["apiVersion"], "events.k8s.io/v1");
}

#[tokio::test(start_paused = true)]
async fn a_scale_is_shown_as_a_scale() {
    let world = World::new(Box::new(|_| {
        patched(&json!([{"op": "replace", "path": "/spec/replicas", "value": 5}]))
    }));
    let handle = Handle::new(world.sandbox.core(), "test");
    let sets = GroupResource::new("apps", "replicasets");
    let labels = json!({"app": "web"});
    let set = json!({"metadata": {"name": "web", "namespace": "default"}, "spec": {
        "replicas": 1, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }});
    handle.create(&sets, set).unwrap();
    let rules = json!([{"operations": ["UPDATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["replicasets/scale"]}]);
    world.mutating("rules", &[hook("scale", &json!({"rules": rules}))]);
    let target = world.target("apps", "replicasets");
    let options = options();
    let written = api::write_scale(
        world.sandbox.core(),
        &target,
        "web",
        &options,
        |mut scale| {
            scale["spec"]["replicas"] = 3.into();
            Ok(scale)
        },
    );
    assert_eq!(written.await.unwrap().object["spec"]["replicas"], 5);
    let seen = world.asked.lock()[0].clone();
    assert_eq!(
        seen["kind"],
        json!({"group": "autoscaling", "version": "v1", "kind": "Scale"})
    );
    assert_eq!(
        (
            &seen["object"]["spec"]["replicas"],
            &seen["oldObject"]["spec"]["replicas"]
        ),
        (&json!(3), &json!(1))
    );
}

#[tokio::test(start_paused = true)]
async fn webhooks_see_what_controllers_write() {
    let sandbox = Sandbox::builder().seed(1).simulator(true).build().unwrap();
    sandbox.webhook("default/rules", |request: Request<Bytes>| async move {
        let review: Value = serde_json::from_slice(request.body()).unwrap();
        // Longer than a moment, so that the controller cannot wait for it.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut response = patched(&json!([{"op": "add", "path": "/metadata/annotations", "value": {"seen": "yes"}}]));
        response["uid"] = review["request"]["uid"].clone();
        let answer = json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response});
        Response::new(answer.to_string().into())
    });
    let handle = Handle::new(sandbox.core(), "test");
    let rules = json!([{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]);
    let configuration = json!({"metadata": {"name": "rules"}, "webhooks": [hook("pods", &json!({"rules": rules}))]});
    let resource = GroupResource::new(
        "admissionregistration.k8s.io",
        "mutatingwebhookconfigurations",
    );
    handle.create(&resource, configuration).unwrap();
    let labels = json!({"app": "web"});
    let deployment = json!({"metadata": {"name": "web", "namespace": "default"}, "spec": {
        "replicas": 2, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }});
    handle
        .create(&GroupResource::new("apps", "deployments"), deployment)
        .unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    let pods = handle.list(&GroupResource::new("", "pods"), Some("default"));
    assert_eq!(pods.len(), 2);
    assert!(
        pods.iter()
            .all(|pod| pod["metadata"]["annotations"]["seen"] == "yes")
    );
    let deployment = handle
        .get(
            &GroupResource::new("apps", "deployments"),
            Some("default"),
            "web",
        )
        .unwrap();
    assert_eq!(deployment["status"]["readyReplicas"], 2);
}
