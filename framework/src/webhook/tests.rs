//! Webhooks as an API server calls them, without a socket.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{Request, Response};
use http_body_util::BodyExt;
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Pod, Secret},
};
use serde_json::{Value, json};

use super::{
    Admission, Change, Denied, Mutate, Operation, ReadCaches, Rules, Validate, Warnings, Webhook,
    patch::apply,
    service::{BodyMemory, MAX_BODY, WebhookService},
};
use crate::{
    client::Body,
    logged::logged,
    metrics::Metrics,
    resource::{ApiResource, DynamicObject, Object, PartialObject},
};

/// A webhook and its metrics.
pub(super) struct World {
    service: WebhookService,
    metrics: Metrics,
}

impl World {
    pub(super) fn of(webhook: Webhook) -> Self {
        webhook.check().unwrap();
        let metrics = Metrics::new();
        let service = WebhookService {
            metrics: metrics.webhook(&webhook.path()),
            memory: BodyMemory::new(),
            caches: ReadCaches::default(),
            webhook,
        };
        Self { service, metrics }
    }

    pub(super) fn validating<V: Validate<Resource: crate::resource::Resource>>(
        validate: V,
    ) -> Self {
        let resource = ApiResource::of::<V::Resource>();
        Self::of(Webhook::validating(resource, validate))
    }

    fn mutating<M: Mutate<Resource: crate::resource::Resource>>(mutate: M) -> Self {
        let resource = ApiResource::of::<M::Resource>();
        Self::of(Webhook::mutating(resource, mutate))
    }

    pub(super) async fn post(&self, body: impl Into<Vec<u8>>) -> (u16, Value) {
        let path = format!("{}?timeout=10s", self.service.webhook.path());
        let request = Request::post(path).header("content-type", "application/json");
        self.send(request.body(body.into().into()).unwrap()).await
    }

    pub(super) async fn send(&self, request: Request<Body>) -> (u16, Value) {
        read(self.service.answer(request).await).await
    }

    /// The `response` of the review.
    async fn review(&self, request: &Value) -> Value {
        let (code, mut body) = self.post(review(request)).await;
        assert_eq!(code, 200, "{body}");
        assert_eq!(body["kind"], "AdmissionReview");
        assert_eq!(body["response"]["uid"], request["uid"]);
        body["response"].take()
    }

    fn value(&self, series: &str) -> f64 {
        let path = self.service.webhook.path();
        let value = self.metrics.value(series, &[("webhook", &path)]);
        value.or_else(|| self.metrics.value(series, &[])).unwrap()
    }
}

async fn read(response: Response<Body>) -> (u16, Value) {
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap())
}

/// The body with a request.
pub(super) fn review(request: &Value) -> String {
    let review =
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    review.to_string()
}

/// A request about a ConfigMap.
pub(super) fn request(operation: &str, old: Value, new: Value) -> Value {
    json!({
        "uid": "u-1", "operation": operation, "name": "page", "namespace": "default", "dryRun": true,
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "userInfo": {"username": "jane", "groups": ["web", "system:authenticated"]},
        "object": new, "oldObject": old, "options": {"kind": "CreateOptions", "fieldManager": "test"},
    })
}

pub(super) fn page(data: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "page", "namespace": "default"}, "data": data,
    })
}

/// Allows one step of `data.size` at a time.
struct OneStep;

impl Validate for OneStep {
    type Resource = ConfigMap;

    fn rules(&self, rules: Rules) -> Rules {
        let all = [Operation::Create, Operation::Update, Operation::Delete];
        rules.operations(all)
    }

    async fn validate(
        &self,
        change: &Change<ConfigMap>,
        cx: &Admission,
    ) -> Result<Warnings, Denied> {
        let size =
            |page: &ConfigMap| -> Option<i64> { page.data.as_ref()?.get("size")?.parse().ok() };
        assert_eq!(change.operation(), cx.operation());
        assert_eq!((cx.namespace(), cx.name()), (Some("default"), Some("page")));
        assert!(cx.is_dry_run() && cx.user_is_in("web"));
        cx.audit("seen", change.operation().to_string());
        match change {
            Change::Update { old, new } if size(new) > size(old).map(|size| size + 1) => {
                Err(Denied::invalid("data.size", "must grow by one at a time"))
            }
            Change::Delete { old } if size(old) > Some(0) => Err(Denied::new("the page is in use")),
            Change::Create { .. } => Ok(Warnings::from("a page without readers")),
            _ => Ok(Warnings::none()),
        }
    }
}

#[tokio::test]
async fn a_validation_sees_the_change_and_its_answer_reaches_the_api_server() {
    let world = World::validating(OneStep);
    let created = request("CREATE", json!(null), page(json!({"size": "1"})));
    let created = world.review(&created);
    let expected = json!({
        "uid": "u-1", "allowed": true, "warnings": ["a page without readers"], "auditAnnotations": {"seen": "CREATE"},
    });
    assert_eq!(created.await, expected);
    let (one, three) = (page(json!({"size": "1"})), page(json!({"size": "3"})));
    let updated = world.review(&request("UPDATE", one.clone(), three)).await;
    assert_eq!(updated["allowed"], false);
    let status = &updated["status"];
    assert_eq!(
        (&status["code"], &status["reason"]),
        (&json!(422), &json!("Invalid"))
    );
    assert_eq!(status["message"], "data.size: must grow by one at a time");
    let cause = json!({"reason": "FieldValueInvalid", "field": "data.size", "message": "must grow by one at a time"});
    assert_eq!(status["details"]["causes"], json!([cause]));
    assert_eq!(status["details"]["name"], "page");
    let deleted = world.review(&request("DELETE", one, json!(null))).await;
    assert_eq!(deleted["status"]["code"], 403);
    assert_eq!(deleted["status"]["message"], "the page is in use");
    assert_eq!(world.value("pilothouse_webhook_denials_total"), 2.0);
    assert_eq!(
        world.value("controller_runtime_webhook_requests_total"),
        3.0
    );
    assert_eq!(
        world.value("controller_runtime_webhook_requests_in_flight"),
        0.0
    );
    assert_eq!(
        world.value("controller_runtime_webhook_latency_seconds_count"),
        3.0
    );
}

/// Adds a side container, and sets the pull policy of the others.
struct Sidecar;

impl Mutate for Sidecar {
    type Resource = Pod;

    async fn mutate(&self, pod: &mut Pod, _: &Admission) -> Result<Warnings, Denied> {
        let spec = pod.spec.get_or_insert_default();
        for container in &mut spec.containers {
            container.image_pull_policy = Some("Always".into());
        }
        let side = serde_json::from_value(json!({"name": "side", "image": "side:1"}));
        spec.containers.insert(0, side.unwrap());
        Ok(Warnings::none())
    }
}

#[tokio::test]
async fn the_patch_of_a_mutation_keeps_fields_of_a_newer_api_server() {
    let world = World::mutating(Sidecar);
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "futureField": {"x": 1},
        "spec": {"containers": [{"name": "web", "image": "web:1", "futureSetting": true}]},
    });
    let mut request = request("CREATE", json!(null), pod.clone());
    request["kind"] = json!({"group": "", "version": "v1", "kind": "Pod"});
    let answer = world.review(&request).await;
    assert_eq!(answer["patchType"], "JSONPatch");
    let patch = STANDARD.decode(answer["patch"].as_str().unwrap()).unwrap();
    let operations: Vec<Value> = serde_json::from_slice(&patch).unwrap();
    let expected = json!([
        {"op": "add", "path": "/spec/containers/0/imagePullPolicy", "value": "Always"},
        {"op": "add", "path": "/spec/containers/0", "value": {"name": "side", "image": "side:1"}},
    ]);
    assert_eq!(json!(operations), expected);
}

/// Changes nothing.
struct Nothing;

impl Mutate for Nothing {
    type Resource = Deployment;

    async fn mutate(&self, _: &mut Deployment, cx: &Admission) -> Result<Warnings, Denied> {
        assert_eq!(
            cx.old::<Deployment>()?.map(|old| old.name().to_owned()),
            Some("old".into())
        );
        Ok(Warnings::none())
    }
}

#[tokio::test]
async fn a_mutation_without_a_change_has_no_patch_and_can_see_the_old_object() {
    let world = World::mutating(Nothing);
    let deployment =
        |name: &str| json!({"metadata": {"name": name}, "spec": {"selector": {}, "template": {}}});
    let mut request = request("UPDATE", deployment("old"), deployment("new"));
    request["kind"] = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
    assert_eq!(
        world.review(&request).await,
        json!({"uid": "u-1", "allowed": true})
    );
}

/// Marks objects of any kind.
struct Mark;

impl Mutate for Mark {
    type Resource = DynamicObject;

    async fn mutate(&self, object: &mut DynamicObject, _: &Admission) -> Result<Warnings, Denied> {
        object.data.insert("marked".into(), json!(true));
        Ok(Warnings::none())
    }
}

/// Marks the metadata.
struct MarkMetadata;

impl Mutate for MarkMetadata {
    type Resource = PartialObject;

    async fn mutate(&self, object: &mut PartialObject, _: &Admission) -> Result<Warnings, Denied> {
        let labels = object.metadata.labels.get_or_insert_default();
        labels.insert("marked".into(), "yes".into());
        Ok(Warnings::none())
    }
}

#[tokio::test]
async fn kinds_known_only_at_run_time_are_mutated_too() {
    let widgets = ApiResource {
        group: "example.com".into(),
        version: "v1".into(),
        kind: "Widget".into(),
        plural: "widgets".into(),
        namespaced: true,
    };
    let object = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"x": [1]}});
    let mut request = request("CREATE", json!(null), object.clone());
    request["kind"] = json!({"group": "example.com", "version": "v1", "kind": "Widget"});
    for (webhook, path, expected) in [
        (
            Webhook::mutating(widgets.clone(), Mark),
            "/marked",
            json!(true),
        ),
        (
            Webhook::mutating(widgets, MarkMetadata),
            "/metadata/labels",
            json!({"marked": "yes"}),
        ),
    ] {
        let answer = World::of(webhook).review(&request).await;
        let patch = STANDARD.decode(answer["patch"].as_str().unwrap()).unwrap();
        let operations: Value = serde_json::from_slice(&patch).unwrap();
        assert_eq!(
            operations,
            json!([{"op": "add", "path": path, "value": expected}])
        );
    }
}

#[tokio::test]
async fn what_is_no_review_gets_the_http_error_that_says_what_is_wrong() {
    let world = World::validating(OneStep);
    let review = |change: &dyn Fn(&mut Value)| {
        let request = request("CREATE", json!(null), page(json!({})));
        let mut review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
        change(&mut review);
        review.to_string()
    };
    for (body, problem) in [
        (String::new(), "the JSON ends too early"),
        ("{".into(), "the JSON ends too early"),
        (
            review(&|review| review["kind"] = json!("Pod")),
            "has to be of kind AdmissionReview",
        ),
        (
            review(&|review| review["apiVersion"] = json!("admission.k8s.io/v1beta1")),
            "has to be of version admission.k8s.io/v1: write that into `admissionReviewVersions`",
        ),
        (
            review(&|review| review["request"] = json!(null)),
            "has no `request`",
        ),
        (
            review(&|review| review["request"]["uid"] = json!("")),
            "has an empty `request.uid`",
        ),
        (
            review(&|review| review["request"]["operation"] = json!("PATCH")),
            "request.operation: expected one of `CREATE`, `UPDATE`, `DELETE`, `CONNECT`",
        ),
        (
            review(&|review| review["request"]["kind"]["kind"] = json!("Secret")),
            "the webhook at /validate--v1-configmap is for ConfigMap of v1, but the review is for a Secret of v1",
        ),
    ] {
        let (code, status) = world.post(body).await;
        let message = status["message"].as_str().unwrap();
        assert_eq!(
            (code, &status["code"], &status["kind"]),
            (400, &json!(400), &json!("Status"))
        );
        assert!(message.contains(problem), "{message}");
    }
    let send = async |request: http::request::Builder| {
        let body = review(&|_| {}).into_bytes();
        let (code, status) = world.send(request.body(body.into()).unwrap()).await;
        (code, status["message"].as_str().unwrap().to_owned())
    };
    let (code, message) = send(Request::post("/").header("content-type", "text/plain")).await;
    assert_eq!(
        (code, &*message),
        (415, "a review has the content type application/json")
    );
    let (code, message) = send(Request::get("/")).await;
    assert_eq!((code, &*message), (405, "a webhook answers only POST"));
    let (code, message) = world.post(vec![b' '; MAX_BODY + 1]).await;
    assert_eq!(code, 413, "{message}");
}

#[tokio::test]
async fn an_object_that_does_not_fit_the_type_is_denied_without_its_values() {
    let (log, _guard) = logged(tracing::Level::TRACE);
    let world = World::validating(OneStep);
    let deep = (0..200).fold(json!("hunter2"), |inner, _| json!([inner]));
    for (object, problem) in [
        (
            page(json!({"password": ["hunter2"]})),
            "data.password: expected a string, found a list",
        ),
        (
            page(json!("hunter2")),
            "data: expected a map, found a string",
        ),
        (
            json!({"metadata": {"name": "page"}, "data": {"x": deep}}),
            "data.x: expected a string, found a list",
        ),
    ] {
        let answer = world.review(&request("CREATE", json!(null), object)).await;
        let message = answer["status"]["message"].as_str().unwrap();
        let expected =
            format!("the object does not fit the type that the operator has for it: {problem}");
        assert_eq!(message, expected);
        assert_eq!(answer["status"]["code"], 422);
    }
    assert!(!log.text().contains("hunter2"));
}

/// Fails in the way that `data.how` asks for.
struct Broken {
    ignores: bool,
}

impl Validate for Broken {
    type Resource = Secret;

    fn rules(&self, rules: Rules) -> Rules {
        match self.ignores {
            true => rules.ignore_failures(),
            false => rules,
        }
    }

    async fn validate(&self, change: &Change<Secret>, _: &Admission) -> Result<Warnings, Denied> {
        let new = change.new_object().unwrap();
        match new.name() {
            "panics" => panic!("broken"),
            "hangs" => std::future::pending().await,
            _ => Ok(Warnings::none()),
        }
    }
}

fn secret(name: &str) -> Value {
    let mut request = request(
        "CREATE",
        json!(null),
        json!({"metadata": {"name": name}, "data": {"x": "aHVudGVyMg=="}}),
    );
    request["kind"] = json!({"group": "", "version": "v1", "kind": "Secret"});
    request
}

#[tokio::test(start_paused = true)]
async fn a_panic_and_a_call_that_takes_too_long_deny_the_request() {
    let (log, _guard) = logged(tracing::Level::TRACE);
    let world = World::validating(Broken { ignores: false });
    let panicked = world.review(&secret("panics")).await;
    assert_eq!(panicked["allowed"], false);
    assert_eq!(panicked["status"]["code"], 500);
    let message = "the webhook validate.secrets.core panicked: the operator's log has the message";
    assert_eq!(panicked["status"]["message"], message);
    let began = tokio::time::Instant::now();
    let hung = world.review(&secret("hangs")).await;
    assert_eq!(began.elapsed(), Duration::from_millis(9500));
    assert_eq!(hung["status"]["code"], 504);
    let message = "the webhook validate.secrets.core did not decide within 10s";
    assert_eq!(hung["status"]["message"], message);
    assert_eq!(world.review(&secret("fine")).await["allowed"], true);
    assert_eq!(world.value("controller_runtime_webhook_panics_total"), 1.0);
    assert_eq!(world.value("pilothouse_webhook_timeouts_total"), 1.0);
    let text = log.text();
    assert!(text.contains("the webhook panicked: broken"), "{text}");
    assert!(!text.contains("aHVudGVyMg"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_ignored_is_an_http_error_and_no_denial() {
    let world = World::validating(Broken { ignores: true });
    for (name, expected) in [("panics", 500), ("hangs", 504)] {
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": secret(name)});
        let (code, status) = world.post(review.to_string()).await;
        assert_eq!((code, &status["code"]), (expected, &json!(expected)));
    }
    assert_eq!(world.value("pilothouse_webhook_denials_total"), 0.0);
}

#[tokio::test(start_paused = true)]
async fn requests_beyond_the_memory_for_bodies_wait_and_are_answered() {
    let world = World::validating(Broken { ignores: false });
    let send = |name: &'static str| {
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": secret(name)});
        // The length counts, also of a body that is shorter.
        let request = Request::post("/?timeout=10s")
            .header("content-type", "application/json")
            .header("content-length", MAX_BODY);
        let request = request
            .body(review.to_string().into_bytes().into())
            .unwrap();
        world.send(request)
    };
    // Nine bodies fill the memory until their calls have timed out.
    let nine = futures_util::future::join_all((0..9).map(|_| send("hangs")));
    let late = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        send("fine").await
    };
    let began = tokio::time::Instant::now();
    let (_, (code, answer)) = tokio::join!(nine, late);
    assert_eq!((code, &answer["response"]["allowed"]), (200, &json!(true)));
    assert_eq!(began.elapsed(), Duration::from_millis(9500));
}

#[test]
fn rules_that_an_api_server_refuses_are_refused_at_the_start() {
    let problem = |rules: Rules, mutates| rules.check(mutates).unwrap_err();
    let rules = Rules::new;
    assert!(problem(rules().timeout(Duration::from_millis(1500)), false).contains("1.5s"));
    assert!(problem(rules().timeout(Duration::from_secs(31)), false).contains("31s"));
    assert!(problem(rules().named("Web"), false).contains("`Web`"));
    assert!(problem(rules().operations([]), false).contains("no operations"));
    let deleted = problem(rules().operations([Operation::Delete]), true);
    assert!(deleted.contains("operation DELETE"), "{deleted}");
    assert_eq!(rules().operations([Operation::Delete]).check(false), Ok(()));
}

#[test]
fn paths_and_names_tell_the_kind() {
    let webhook = Webhook::validating(ApiResource::of::<Deployment>(), Anything);
    let names = (webhook.path(), webhook.name());
    let expected = (
        "/validate-apps-v1-deployment-strict",
        "strict.validate.deployments.apps",
    );
    assert_eq!((&*names.0, &*names.1), expected);
}

struct Anything;

impl Validate for Anything {
    type Resource = Deployment;

    fn rules(&self, rules: Rules) -> Rules {
        rules.named("strict")
    }

    async fn validate(&self, _: &Change<Deployment>, _: &Admission) -> Result<Warnings, Denied> {
        Ok(Warnings::none())
    }
}

#[test]
fn applying_a_patch_to_a_missing_place_fails() {
    let patch = [super::patch::Operation::Remove {
        path: "/a/b".into(),
    }];
    assert_eq!(apply(&mut json!({"a": {}}), &patch), Err("/a/b".into()));
}
