//! Webhooks of a running operator, over HTTPS.

use std::{net::SocketAddr, sync::Arc};

use k8s_openapi::api::{
    admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration},
    core::v1::{ConfigMap, Pod, Secret},
};
use pilothouse_sandbox::Sandbox;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

use super::world::{Process, Scribe, is_ready, ready, sandbox};
use crate::{
    client::{Api, Client, DeleteParams},
    manifests::Installation,
    operator::{Operator, OperatorError, Running, WebhookServing},
    resource::{ApiResource, DynamicObject, Object},
    server::Address,
    webhook::{Admission, Change, Denied, Mutate, Reads, Validate, Warnings},
};

const HOST: &str = "scribe-webhook.default.svc";

/// Refuses an empty ConfigMap.
struct Full;

impl Validate for Full {
    type Resource = ConfigMap;

    async fn validate(
        &self,
        change: &Change<ConfigMap>,
        _: &Admission,
    ) -> Result<Warnings, Denied> {
        let data = change.new_object().and_then(|new| new.data.as_ref());
        match data.is_some_and(|data| !data.is_empty()) {
            true => Ok(Warnings::none()),
            false => Err(Denied::invalid("data", "must not be empty")),
        }
    }
}

/// Labels Pods.
struct Label;

impl Mutate for Label {
    type Resource = Pod;

    async fn mutate(&self, pod: &mut Pod, _: &Admission) -> Result<Warnings, Denied> {
        let labels = pod.metadata.labels.get_or_insert_default();
        labels.insert("seen".into(), "yes".into());
        Ok(Warnings::none())
    }
}

fn operator(process: &Process) -> Operator {
    let serving = WebhookServing::new().address(Address::loopback(0));
    process
        .unelected(&Scribe::quick())
        .validates(Full)
        .mutates(Label)
        .webhook_serving(serving)
}

fn review(kind: &str, object: Value) -> Value {
    let request = json!({
        "uid": "u", "operation": "CREATE", "kind": {"group": "", "version": "v1", "kind": kind}, "object": object,
    });
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
}

/// Posts a review as an API server does that knows only `bundle`.
async fn post(
    address: SocketAddr,
    bundle: &[u8],
    path: &str,
    review: &Value,
) -> std::io::Result<Value> {
    post_with(address, bundle, path, review, "Connection: close\r\n").await
}

/// As [`post`], with this header. It returns when the server closes the connection.
async fn post_with(
    address: SocketAddr,
    bundle: &[u8],
    path: &str,
    review: &Value,
    header: &str,
) -> std::io::Result<Value> {
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(bundle) {
        roots.add(authority.unwrap()).unwrap();
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(address).await?;
    let host = ServerName::try_from(HOST).unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let mut stream = connector.connect(host, stream).await?;
    let body = review.to_string();
    let head = format!(
        "POST {path}?timeout=10s HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{header}\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 "), "{head}");
    Ok(serde_json::from_str(body).unwrap())
}

/// The client configurations that the API server has: their bundle and their path.
async fn configured(client: &Client) -> Vec<(Vec<u8>, String)> {
    let validating = Api::<ValidatingWebhookConfiguration>::all(client);
    let validating = validating.get("scribe").await.unwrap().webhooks;
    let mutating = Api::<MutatingWebhookConfiguration>::all(client);
    let mutating = mutating.get("scribe").await.unwrap().webhooks;
    let validating = validating
        .into_iter()
        .flatten()
        .map(|one| one.client_config);
    let mutating = mutating.into_iter().flatten().map(|one| one.client_config);
    let all = validating.chain(mutating).map(|client| {
        let service = client.service.unwrap();
        let name = format!("{}.{}.svc", service.name, service.namespace);
        assert_eq!(name, HOST);
        (client.ca_bundle.unwrap().0, service.path.unwrap())
    });
    all.collect()
}

async fn started(sandbox: &Sandbox, name: &'static str) -> (Process, Running) {
    let process = Process::of(sandbox, name);
    let running = process.start(operator(&process)).await;
    (process, running)
}

#[tokio::test]
async fn every_replica_answers_with_a_certificate_that_the_configurations_verify() {
    let sandbox = sandbox();
    let (process, first) = started(&sandbox, "first").await;
    let (_, second) = started(&sandbox, "second").await;
    assert!(is_ready(&first) && is_ready(&second));
    let configured = configured(&process.client).await;
    let paths: Vec<_> = configured.iter().map(|(_, path)| path.as_str()).collect();
    assert_eq!(paths, ["/validate--v1-configmap", "/mutate--v1-pod"]);
    for running in [&first, &second] {
        let address = running.webhook_address().unwrap();
        let (bundle, path) = &configured[0];
        let object = json!({"metadata": {"name": "a"}});
        let denied = review("ConfigMap", object);
        let denied = post(address, bundle, path, &denied).await.unwrap();
        let status = &denied["response"]["status"];
        assert_eq!(status["message"], "data: must not be empty");
        let (bundle, path) = &configured[1];
        let object = json!({"metadata": {"name": "a"}});
        let patched = review("Pod", object);
        let patched = post(address, bundle, path, &patched).await.unwrap();
        assert_eq!(patched["response"]["patchType"], "JSONPatch");
        let unknown = review("Pod", json!({}));
        let unknown = post(address, bundle, "/validate", &unknown).await.unwrap();
        assert_eq!(
            (&unknown["code"], unknown["message"].as_str().unwrap()),
            (
                &json!(404),
                "there is no webhook at /validate, only at /validate--v1-configmap, /mutate--v1-pod"
            )
        );
    }
    let denials = [("webhook", "/validate--v1-configmap")];
    let denials = first
        .metrics()
        .value("pilothouse_webhook_denials_total", &denials);
    assert_eq!(denials, Some(1.0));
    tokio::join!(first.stop(), second.stop());
}

#[tokio::test]
async fn webhooks_go_on_answering_after_the_stop_has_begun() {
    let sandbox = sandbox();
    let (process, running) = started(&sandbox, "first").await;
    let (bundle, path) = configured(&process.client).await.remove(0);
    let address = running.webhook_address().unwrap();
    let ready = running.ready().clone();
    let stopped = tokio::spawn(running.stop());
    // The operator has begun to stop, and its work has ended.
    while ready.report(&Default::default()).healthy() {
        tokio::task::yield_now().await;
    }
    let object = json!({"metadata": {"name": "a"}, "data": {"a": "b"}});
    let review = review("ConfigMap", object);
    for _ in 0..20 {
        // The server closes each connection, so that no request can come on it when the server ends.
        let answer = post_with(address, &bundle, &path, &review, "").await;
        assert_eq!(answer.unwrap()["response"]["allowed"], true);
    }
    stopped.await.unwrap();
    assert!(post(address, &bundle, &path, &review).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn the_start_waits_for_a_usable_secret_and_readiness_names_it() {
    let sandbox = sandbox();
    let process = Process::of(&sandbox, "first");
    let secrets = Api::<Secret>::namespaced(&process.client, "default");
    let mut secret = Secret::named("scribe-webhook-certificates");
    secret.string_data = Some([("tls.crt".into(), "nothing".into())].into());
    secrets.create(&Default::default(), &secret).await.unwrap();
    let (_, running) = tokio::join!(
        async {
            tokio::time::sleep(std::time::Duration::from_secs(600)).await;
            let configurations = Api::<ValidatingWebhookConfiguration>::all(&process.client);
            assert_eq!(configurations.get_opt("scribe").await.unwrap(), None);
            let options = DeleteParams::default();
            secrets.delete(secret.name(), &options).await.unwrap();
        },
        process.start(operator(&process))
    );
    assert_eq!(ready(&running, "webhooks"), "[+]webhooks ok");
    assert_eq!(configured(&process.client).await.len(), 2);
    // The caches begin once the API server can call the webhooks, because a list may need a conversion.
    assert!(is_ready(&running));
    let requests = sandbox.requests();
    let first = |verbs: &[&str], resource: &str| {
        requests
            .iter()
            .position(|one| one.resource == resource && verbs.contains(&&*one.verb))
            .unwrap()
    };
    let cached = first(&["list", "watch"], "configmaps");
    for configurations in [
        "validatingwebhookconfigurations",
        "mutatingwebhookconfigurations",
    ] {
        assert!(first(&["patch"], configurations) < cached);
    }
    running.stop().await;
}

#[test]
fn two_webhooks_of_one_kind_need_names() {
    let operator = Operator::new("scribe").validates(Full).validates(Full);
    let error = operator.check().unwrap_err();
    assert!(matches!(&error, OperatorError::Webhook { .. }));
    assert_eq!(
        error.to_string(),
        "the operator cannot have the webhook at /validate--v1-configmap: the program has two of them for the kind: give one another name with `rules.named(\"..\")` in `rules`"
    );
}

/// Allows all.
struct Anything;

impl Validate for Anything {
    type Resource = DynamicObject;

    async fn validate(&self, _: &Change<DynamicObject>, _: &Admission) -> Result<Warnings, Denied> {
        Ok(Warnings::none())
    }
}

fn widgets(version: &str) -> ApiResource {
    ApiResource {
        group: "example.com".into(),
        version: version.to_owned().into(),
        kind: "Widget".into(),
        plural: "widgets".into(),
        namespaced: true,
    }
}

#[test]
fn webhooks_of_two_versions_of_one_kind_need_names() {
    let operator = Operator::new("scribe");
    let operator = operator.dynamic_validates(widgets("v1"), Anything);
    operator.check().unwrap();
    let operator = operator.dynamic_validates(widgets("v1beta1"), Anything);
    let error = operator.check().unwrap_err().to_string();
    assert!(
        error.contains("/validate-example-com-v1beta1-widget"),
        "{error}"
    );
    assert!(error.contains("give one another name"), "{error}");
}

#[test]
fn manifests_tells_what_could_do_without_a_webhook() {
    let notes = |operator: Operator, namespaces: &[&str]| {
        let namespaces = namespaces.iter().map(|name| (*name).to_owned()).collect();
        Operator::webhook_notes(&operator.webhooks, "ops", &namespaces)
    };
    let operator = || Operator::new("scribe").validates(Full).mutates(Label);
    let all = notes(operator(), &[]);
    assert_eq!(all.len(), 2);
    assert!(
        all[0].contains("an `AdmissionRule` does without the webhook validate.configmaps.core"),
        "{all:?}"
    );
    assert!(
        all[1].contains("an `AdmissionRule` does without the webhook mutate.pods.core"),
        "{all:?}"
    );
    // It reads another object.
    assert_eq!(
        notes(Operator::new("scribe").validates(Known), &[]),
        [""; 0]
    );
    let never = notes(Operator::new("scribe").validates(Known), &["ops"]);
    assert!(
        never[0].contains("validate.pods.core is never called"),
        "{never:?}"
    );
}

#[test]
fn the_roles_allow_what_webhooks_read() {
    let roles = Operator::new("scribe")
        .validates(Known)
        .roles("scribe-system");
    let everywhere = serde_json::to_value(&roles.unwrap().cluster_roles[0].rules).unwrap();
    let expected =
        json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]});
    assert!(
        everywhere.as_array().unwrap().contains(&expected),
        "{everywhere}"
    );
}

#[test]
fn the_roles_of_an_operator_with_webhooks_have_their_access_by_name() {
    let operator = Operator::new("scribe").validates(Full).mutates(Label);
    let roles = operator.roles("scribe-system").unwrap();
    let everywhere = serde_json::to_value(&roles.cluster_roles[0].rules).unwrap();
    let rules = everywhere.as_array().unwrap().iter();
    let of_webhooks = rules.filter(|rule| rule["apiGroups"][0] == "admissionregistration.k8s.io");
    let expected = json!({
        "apiGroups": ["admissionregistration.k8s.io"], "resourceNames": ["scribe"], "verbs": ["create", "get", "patch"],
        "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    });
    assert_eq!(of_webhooks.collect::<Vec<_>>(), [&expected]);
    let installation = Installation::new("scribe").unwrap();
    let role = roles
        .roles
        .iter()
        .find(|role| role.namespace() == Some(&*installation.namespace));
    let within = serde_json::to_value(&role.unwrap().rules).unwrap();
    let expected = json!([
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["scribe-webhook-certificates"], "verbs": ["get", "update"]},
    ]);
    assert_eq!(within, expected);
}

/// Allows a Pod if its namespace has a ConfigMap of its name.
struct Known;

impl Validate for Known {
    type Resource = Pod;

    fn reads(&self, reads: Reads) -> Reads {
        reads.kind::<ConfigMap>()
    }

    async fn validate(&self, _: &Change<Pod>, cx: &Admission) -> Result<Warnings, Denied> {
        match cx.get::<ConfigMap>(cx.name().unwrap_or_default()).await? {
            Some(_) => Ok(Warnings::none()),
            None => Err(Denied::new("unknown")),
        }
    }
}

#[tokio::test]
async fn a_webhook_reads_the_cache_of_a_controller_and_readiness_names_it() {
    let sandbox = sandbox();
    let process = Process::of(&sandbox, "first");
    let maps = Api::<ConfigMap>::namespaced(&process.client, "default");
    let (params, known) = (Default::default(), ConfigMap::named("known"));
    maps.create(&params, &known).await.unwrap();
    let serving = WebhookServing::new().address(Address::loopback(0));
    let operator = process.unelected(&Scribe::quick()).validates(Known);
    let running = process.start(operator.webhook_serving(serving)).await;
    let validating = Api::<ValidatingWebhookConfiguration>::all(&process.client);
    let webhooks = validating.get("scribe").await.unwrap().webhooks.unwrap();
    let bundle = webhooks[0].client_config.ca_bundle.clone().unwrap().0;
    let address = running.webhook_address().unwrap();
    for (name, allowed) in [("known", true), ("other", false)] {
        let mut review = review("Pod", json!({"metadata": {"name": name}}));
        review["request"]["name"] = name.into();
        review["request"]["namespace"] = "default".into();
        let answer = post(address, &bundle, "/validate--v1-pod", &review).await;
        assert_eq!(answer.unwrap()["response"]["allowed"], allowed, "{name}");
    }
    // The controller of ConfigMaps has the same one.
    let caches = running.informers.statuses();
    let of_maps = caches
        .iter()
        .filter(|one| &*one.resource.plural == "configmaps");
    assert_eq!(of_maps.count(), 1);
    assert!(ready(&running, "informer-configmaps").starts_with("[+]informer-configmaps ok"));
    running.stop().await;
}

/// Allows a ConfigMap if its namespace has a Pod of its name, read as a kind known only at run time.
struct Backed;

impl Validate for Backed {
    type Resource = ConfigMap;

    fn reads(&self, reads: Reads) -> Reads {
        reads.dynamic::<DynamicObject>(ApiResource::of::<Pod>())
    }

    async fn validate(&self, _: &Change<ConfigMap>, cx: &Admission) -> Result<Warnings, Denied> {
        let (pods, name) = (ApiResource::of::<Pod>(), cx.name().unwrap_or_default());
        let undeclared = cx.dynamic_lister::<DynamicObject>(&widgets("v1")).await;
        let problem = undeclared.err().map(|denied| denied.to_string());
        assert_eq!(
            problem.as_deref(),
            Some(
                "the webhook cannot decide: it reads Widget objects, but does not declare it: add `reads.dynamic(..)` to its function `reads`"
            )
        );
        match cx.dynamic_get::<DynamicObject>(&pods, name).await? {
            Some(_) => Ok(Warnings::none()),
            None => Err(Denied::new("unknown")),
        }
    }
}

#[tokio::test]
async fn a_webhook_reads_kinds_known_only_at_run_time() {
    let sandbox = sandbox();
    let process = Process::of(&sandbox, "first");
    let pods = Api::<Pod>::namespaced(&process.client, "default");
    let pod = json!({"metadata": {"name": "known"}, "spec": {"containers": [{"name": "a", "image": "a"}]}});
    let pod: Pod = serde_json::from_value(pod).unwrap();
    pods.create(&Default::default(), &pod).await.unwrap();
    let serving = WebhookServing::new().address(Address::loopback(0));
    let operator = process.unelected(&Scribe::quick()).validates(Backed);
    let running = process.start(operator.webhook_serving(serving)).await;
    let (bundle, path) = validating(&process.client).await;
    let address = running.webhook_address().unwrap();
    for (name, allowed) in [("known", true), ("other", false)] {
        let mut review = review("ConfigMap", json!({"metadata": {"name": name}}));
        review["request"]["name"] = name.into();
        review["request"]["namespace"] = "default".into();
        let answer = post(address, &bundle, &path, &review).await.unwrap();
        assert_eq!(answer["response"]["allowed"], allowed, "{name}: {answer}");
    }
    running.stop().await;
}

#[tokio::test]
async fn the_caches_of_webhooks_are_live_until_the_webhooks_end() {
    let sandbox = sandbox();
    let process = Process::of(&sandbox, "first");
    let serving = WebhookServing::new().address(Address::loopback(0));
    let operator = process.unelected(&Scribe::quick()).validates(Known);
    let running = process.start(operator.webhook_serving(serving)).await;
    let (bundle, path) = validating(&process.client).await;
    let (address, ready) = (running.webhook_address().unwrap(), running.ready().clone());
    let work = running.work.clone();
    let stopped = tokio::spawn(running.stop());
    while ready.report(&Default::default()).healthy() {
        tokio::task::yield_now().await;
    }
    work.wait().await;
    // What has changed since then is seen.
    let maps = Api::<ConfigMap>::namespaced(&process.client, "default");
    let late = ConfigMap::named("late");
    maps.create(&Default::default(), &late).await.unwrap();
    let mut review = review("Pod", json!({"metadata": {"name": "late"}}));
    review["request"]["name"] = "late".into();
    review["request"]["namespace"] = "default".into();
    // The webhooks end after 5 s, so this does, too.
    loop {
        let answer = post(address, &bundle, &path, &review).await;
        if answer.expect("the webhooks end before they see it")["response"]["allowed"] == true {
            break;
        }
    }
    stopped.await.unwrap();
}

/// The bundle and the path of the only validation.
async fn validating(client: &Client) -> (Vec<u8>, String) {
    let validating = Api::<ValidatingWebhookConfiguration>::all(client);
    let mut webhooks = validating.get("scribe").await.unwrap().webhooks.unwrap();
    let client = webhooks.remove(0).client_config;
    (
        client.ca_bundle.unwrap().0,
        client.service.unwrap().path.unwrap(),
    )
}
