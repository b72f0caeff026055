//! `/convert` without a socket, and what it writes into definitions.

use std::time::Duration;

use http::{Request, StatusCode};
use http_body_util::BodyExt;
use pilothouse_sandbox::Sandbox;
use serde_json::{Value, json};

use super::{ConversionService, PATH, install, published, set_target};
use crate::{
    client::{Api, Body, Client},
    crd::{self, CustomResource, CustomResourceDefinition},
    metrics::Metrics,
    resource::{ObjectMeta, Versions},
    webhook::{Target, WebhookOptions, bundle::Bundle, installer_test::connected},
};

#[derive(crate::Resource, Clone, Debug)]
#[resource(
    crate = "crate",
    group = "demo.example.com",
    version = "v1",
    namespaced,
    served(OldSite)
)]
struct Site {
    metadata: ObjectMeta,
    spec: SiteSpec,
}

#[derive(crate::Schema, Clone, Debug, serde::Deserialize, serde::Serialize)]
#[schema(crate = "crate")]
struct SiteSpec {
    size: i32,
}

#[derive(crate::Resource, Clone, Debug)]
#[resource(
    crate = "crate",
    group = "demo.example.com",
    version = "v1beta1",
    kind = "Site",
    namespaced
)]
struct OldSite {
    metadata: ObjectMeta,
    spec: OldSiteSpec,
}

#[derive(crate::Schema, Clone, Debug, serde::Deserialize, serde::Serialize)]
#[schema(crate = "crate")]
struct OldSiteSpec {
    text: String,
}

impl TryFrom<OldSite> for Site {
    type Error = &'static str;

    fn try_from(old: OldSite) -> Result<Self, Self::Error> {
        assert_ne!(old.spec.text, "panic", "on purpose");
        if old.metadata.name.as_deref() == Some("slow") {
            std::thread::sleep(Duration::from_millis(20));
        }
        let size = old.spec.text.parse().map_err(|_| "spec.text: no number")?;
        Ok(Self {
            metadata: old.metadata,
            spec: SiteSpec { size },
        })
    }
}

impl From<Site> for OldSite {
    fn from(site: Site) -> Self {
        let text = site.spec.size.to_string();
        Self {
            metadata: site.metadata,
            spec: OldSiteSpec { text },
        }
    }
}

pub(super) fn old(name: &str, text: &str) -> Value {
    json!({
        "apiVersion": "demo.example.com/v1beta1", "kind": "Site", "metadata": {"name": name, "namespace": "default"},
        "spec": {"text": text},
    })
}

pub(super) fn review(objects: &[Value]) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "u-1", "desiredAPIVersion": "demo.example.com/v1", "objects": objects},
    })
}

pub(super) struct World {
    service: ConversionService,
    pub(super) metrics: Metrics,
}

impl World {
    pub(super) fn new() -> Self {
        let metrics = Metrics::new();
        let service = ConversionService::new(&[Versions::of::<Site>()], metrics.webhook(PATH));
        Self { service, metrics }
    }

    pub(super) async fn post(&self, body: String) -> (StatusCode, Value) {
        let request = Request::post(format!("{PATH}?timeout=30s"));
        let request = request.header("content-type", "application/json");
        let body = body.into_bytes().into();
        self.send(request.body(body).unwrap()).await
    }

    pub(super) async fn send(&self, request: Request<Body>) -> (StatusCode, Value) {
        let response = self.service.answer(request).await;
        let code = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&body).unwrap())
    }

    async fn convert(&self, objects: &[Value]) -> Value {
        let (code, mut body) = self.post(review(objects).to_string()).await;
        assert_eq!(code, 200, "{body}");
        assert_eq!(body["kind"], "ConversionReview");
        assert_eq!(body["response"]["uid"], "u-1");
        body["response"].take()
    }
}

#[tokio::test]
async fn all_objects_of_a_review_are_converted_in_their_order() {
    let world = World::new();
    let objects: Vec<_> = (0..30)
        .map(|n| old(&format!("a-{n}"), &n.to_string()))
        .collect();
    let answer = world.convert(&objects).await;
    assert_eq!(answer["result"]["status"], "Success");
    let converted = answer["convertedObjects"].as_array().unwrap();
    assert_eq!(converted.len(), 30);
    for (n, object) in converted.iter().enumerate() {
        assert_eq!(object["apiVersion"], "demo.example.com/v1");
        assert_eq!(object["metadata"]["name"], format!("a-{n}"));
        assert_eq!(object["spec"], json!({"size": n}));
    }
}

#[tokio::test]
async fn an_object_that_cannot_be_converted_fails_its_whole_review() {
    let world = World::new();
    let objects = [old("a", "1"), old("b", "x"), old("c", "3")];
    let answer = world.convert(&objects).await;
    assert_eq!(answer["convertedObjects"], json!([]));
    assert_eq!(answer["result"]["status"], "Failure");
    assert_eq!(
        answer["result"]["message"],
        "convert Site default/b from demo.example.com/v1beta1 to demo.example.com/v1: spec.text: no number"
    );
    let mut other = old("a", "1");
    other["kind"] = "Page".into();
    let answer = world.convert(&[other]).await;
    let message = answer["result"]["message"].as_str().unwrap();
    assert!(
        message.contains("which this operator does not convert"),
        "{message}"
    );
    let labels = [("webhook", PATH)];
    let denials = world
        .metrics
        .value("pilothouse_webhook_denials_total", &labels);
    assert_eq!(denials, Some(2.0));
}

#[tokio::test]
async fn a_panic_fails_its_review_and_no_other() {
    let world = World::new();
    let answer = world.convert(&[old("a", "panic")]).await;
    assert_eq!(
        answer["result"]["message"],
        "a conversion of the operator panicked: its log has the message"
    );
    let answer = world.convert(&[old("a", "1")]).await;
    assert_eq!(answer["result"]["status"], "Success");
}

#[tokio::test]
async fn a_body_that_is_no_review_is_refused_with_what_is_wrong() {
    let world = World::new();
    let with = |field: &str, value: Value| {
        let mut review = review(&[]);
        *review.pointer_mut(field).unwrap() = value;
        review.to_string()
    };
    for (body, expected) in [
        ("{".to_owned(), "is not a valid ConversionReview"),
        (
            with("/kind", json!("Pod")),
            "has to be of kind ConversionReview",
        ),
        (
            with("/apiVersion", json!("apiextensions.k8s.io/v1beta1")),
            "write v1 into `conversionReviewVersions`",
        ),
        (
            with("/request/uid", json!("")),
            "has an empty `request.uid`",
        ),
        (
            with("/request/desiredAPIVersion", json!("")),
            "has an empty `request.desiredAPIVersion`",
        ),
    ] {
        let (code, status) = world.post(body).await;
        assert_eq!(code, 400);
        let message = status["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
    }
}

/// What the definition in the cluster says about conversions.
async fn conversion(client: &Client) -> Value {
    let api = Api::<CustomResourceDefinition>::all(client);
    let found = api.get("sites.demo.example.com").await.unwrap();
    json!(found.spec.conversion)
}

#[tokio::test]
async fn a_replica_writes_where_it_converts_and_keeps_the_bundle_of_others() {
    let client = connected(&Sandbox::builder().seed(1).build().unwrap());
    let (kinds, place) = ([Versions::of::<Site>()], "/webhook/clientConfig");
    let mut definition = Site::crd().unwrap();
    let service = Target::service_of("sites", "ops");
    set_target(std::slice::from_mut(&mut definition), &service);
    let definitions = std::slice::from_ref(&definition);
    crd::install(&client, definitions, "test").await.unwrap();
    assert_eq!(published(&client, &kinds).await.unwrap(), Bundle::default());

    let pem = rcgen::generate_simple_self_signed(["sites".to_owned()]).unwrap();
    let pem = pem.cert.pem().into_bytes();
    install(&client, &kinds, &service, Some(&pem), "sites")
        .await
        .unwrap();
    let known = published(&client, &kinds).await.unwrap();
    assert_eq!(known, Bundle::parse(&pem).unwrap());
    let written = conversion(&client).await;
    let expected =
        json!({"namespace": "ops", "name": "sites-webhook", "path": "/convert", "port": 443});
    assert_eq!(written.pointer(place).unwrap()["service"], expected);
    // An installation in another namespace takes nothing over.
    let other = Target::service_of("sites", "blue");
    let refused = install(&client, &kinds, &other, Some(&pem), "sites").await;
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("the one in the namespace ops"), "{text}");
    assert_eq!(conversion(&client).await, written);
    // A replica without authorities of its own leads elsewhere, and leaves the bundle.
    let url = Target::Url("https://127.0.0.1:9443".into());
    install(&client, &kinds, &url, None, "sites").await.unwrap();
    let moved = conversion(&client).await;
    let moved = moved.pointer(place).unwrap();
    assert_eq!(moved["url"], "https://127.0.0.1:9443/convert");
    assert_eq!(moved["service"], Value::Null);
    assert_eq!(
        moved["caBundle"],
        written.pointer(place).unwrap()["caBundle"]
    );
}

#[test]
fn a_conversion_that_runs_at_a_stop_gets_time() {
    let options = WebhookOptions {
        operator: "sites".into(),
        namespace: "ops".into(),
        namespaces: Default::default(),
        webhooks: Vec::new(),
        conversions: vec![Versions::of::<Site>()],
        address: ":9443".parse().unwrap(),
        certificates: None,
        url: None,
        check_period: Duration::ZERO,
        caches: Default::default(),
        #[cfg(feature = "dev")]
        called_in: None,
    };
    assert_eq!(options.longest_call(), Duration::from_secs(10));
}
