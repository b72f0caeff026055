//! CBOR, which both servers accept: the sandbox by a setting, the real one by a feature gate. And protobuf of the built-in kinds.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use futures_util::StreamExt;
use pilothouse::{
    client::{
        Api, Body, Client, DeleteParams, Discovery, Encoding, ListParams, Patch, PatchParams, PostParams,
        RequestService, WatchEvent, WatchParams,
    },
    k8s::{
        ByteString,
        api::core::v1::{ConfigMap, Pod, Secret},
    },
    cache::{InformerScope, Informers},
    metrics::Metrics,
    resource::{DynamicObject, Object, ObjectKey, ObjectMeta},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::{Service, ServiceExt};

use crate::{target::{Nodes, Target, map}, varied};

/// The content types of each request and its answer, such as `PUT application/cbor → 200 application/cbor`.
type Spoken = Arc<Mutex<Vec<String>>>;

fn media_type(headers: &http::HeaderMap) -> &str {
    let value = headers.get("content-type");
    value.map_or("", |value| value.to_str().unwrap())
}

async fn client(target: &Target, encoding: Encoding) -> (Client, Spoken) {
    let spoken = Spoken::default();
    let heard = spoken.clone();
    let listen = tower::layer::layer_fn(move |inner: RequestService| {
        let heard = heard.clone();
        tower::service_fn(move |request: http::Request<Body>| {
            let (heard, mut inner) = (heard.clone(), inner.clone());
            let said = format!("{} {}", request.method(), media_type(request.headers()));
            async move {
                let answer = inner.ready().await?.call(request).await?;
                let line = format!("{said} → {} {}", answer.status().as_u16(), media_type(answer.headers()));
                heard.lock().push(line);
                Ok::<_, pilothouse::client::BoxError>(answer)
            }
        })
    });
    let client = Client::builder(target.config().await)
        .encoding(encoding)
        .layer(listen);
    (client.build().unwrap(), spoken)
}

pub(crate) async fn every_verb_uses_cbor(target: &Target) {
    let (client, spoken) = client(target, Encoding::Cbor).await;
    let maps = Api::<ConfigMap>::namespaced(&client, &target.namespace);
    let said = || spoken.lock().pop().unwrap();

    let created = maps.create(&PostParams::default(), &map("a", &[])).await;
    let mut created = created.unwrap();
    assert_eq!(said(), "POST application/cbor → 201 application/cbor");
    created.data.get_or_insert_default().insert("colour".into(), "blue".into());
    let replaced = maps.replace("a", &PostParams::default(), &created).await.unwrap();
    assert_eq!(said(), "PUT application/cbor → 200 application/cbor");
    assert_eq!(maps.get("a").await.unwrap(), replaced);
    assert_eq!(said(), "GET  → 200 application/cbor");

    let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"size": "3"}});
    let apply = PatchParams::apply("encodings");
    let applied = maps.patch("a", &apply, &Patch::apply(&wanted).unwrap()).await.unwrap();
    assert_eq!(said(), "PATCH application/apply-patch+cbor → 200 application/cbor");
    assert_eq!(applied.data.as_ref().unwrap()["size"], "3");
    let merge = Patch::Merge(json!({"data": {"colour": null}}));
    maps.patch("a", &PatchParams::default(), &merge).await.unwrap();
    assert_eq!(said(), "PATCH application/merge-patch+json → 200 application/cbor");

    let list = maps.list(&ListParams::default()).await.unwrap();
    assert_eq!(said(), "GET  → 200 application/cbor");
    assert!(list.items.iter().any(|map| map.name() == "a"));
    let from = WatchParams::default().fields("metadata.name=a");
    let from = from.after(list.resource_version().unwrap());
    let mut watch = maps.watch(&from).await.unwrap();
    assert_eq!(said(), "GET  → 200 application/cbor-seq");
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(said().ends_with("→ 200 application/cbor"));
    match watch.next().await.unwrap().unwrap() {
        WatchEvent::Deleted(map) => assert_eq!(map.name(), "a"),
        other => panic!("{other:?}"),
    }
    let error = maps.get("a").await.unwrap_err();
    assert_eq!(said(), "GET  → 404 application/cbor");
    assert!(error.is_not_found());
    assert!(error.to_string().contains("configmaps \"a\" not found"), "{error}");
}

pub(crate) async fn bytes_and_dynamic_objects_are_the_same_in_cbor_and_json(target: &Target) {
    let (client, _) = client(target, Encoding::Cbor).await;
    let secrets = Api::<Secret>::namespaced(&client, &target.namespace);
    let mut secret = Secret::default();
    secret.metadata.name = Some("bytes".into());
    let bytes = ByteString((0..=255).collect());
    secret.data = Some([("all".to_owned(), bytes)].into());
    let created = secrets.create(&PostParams::default(), &secret).await.unwrap();
    assert_eq!(created.data, secret.data);
    let in_json = target.api::<Secret>().get("bytes").await.unwrap();
    assert_eq!(in_json, secrets.get("bytes").await.unwrap());
    let dynamic = |client: &Client| {
        let resource = pilothouse::resource::ApiResource::of::<Secret>();
        Api::<DynamicObject>::of(client, resource, Some(&target.namespace))
    };
    assert_eq!(
        dynamic(&client).get("bytes").await.unwrap(),
        dynamic(&target.client).get("bytes").await.unwrap()
    );
}

pub(crate) async fn metadata_only_uses_cbor_too(target: &Target) {
    let (client, spoken) = client(target, Encoding::Cbor).await;
    let maps = Api::<ConfigMap>::namespaced(&client, &target.namespace).metadata();
    let said = || spoken.lock().pop().unwrap();
    target.map("meta", &[("app", "web")]).await;

    assert_eq!(maps.get("meta").await.unwrap().label("app"), Some("web"));
    assert_eq!(said(), "GET  → 200 application/cbor");
    let list = maps.list(&ListParams::default()).await.unwrap();
    assert_eq!(said(), "GET  → 200 application/cbor");
    assert!(list.items.iter().any(|map| map.name() == "meta"));
    let from = WatchParams::default().fields("metadata.name=meta").after(list.resource_version().unwrap());
    let mut watch = maps.watch(&from).await.unwrap();
    assert_eq!(said(), "GET  → 200 application/cbor-seq");
    let label = Patch::Merge(json!({"metadata": {"labels": {"tier": "front"}}}));
    maps.patch("meta", &PatchParams::default(), &label).await.unwrap();
    assert_eq!(said(), "PATCH application/merge-patch+json → 200 application/cbor");
    match watch.next().await.unwrap().unwrap() {
        WatchEvent::Modified(map) => assert_eq!(map.label("tier"), Some("front")),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn reads_and_watches_use_protobuf(target: &Target) {
    let (client, spoken) = client(target, Encoding::Protobuf).await;
    let maps = Api::<ConfigMap>::namespaced(&client, &target.namespace);
    let said = || spoken.lock().pop().unwrap();
    const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

    let created = maps.create(&PostParams::default(), &map("a", &[])).await;
    let created = created.unwrap();
    assert_eq!(said(), format!("POST application/json → 201 {PROTOBUF}"));
    assert_eq!(maps.get("a").await.unwrap(), created);
    assert_eq!(said(), format!("GET  → 200 {PROTOBUF}"));
    let list = maps.list(&ListParams::default()).await.unwrap();
    assert_eq!(said(), format!("GET  → 200 {PROTOBUF}"));
    assert!(list.items.contains(&created));
    let from = WatchParams::default().fields("metadata.name=a");
    let from = from.after(list.resource_version().unwrap());
    let mut watch = maps.watch(&from).await.unwrap();
    assert_eq!(said(), format!("GET  → 200 {PROTOBUF};stream=watch"));
    let metadata = maps.clone().metadata();
    assert_eq!(metadata.get("a").await.unwrap().metadata.uid, created.metadata.uid);
    assert_eq!(said(), format!("GET  → 200 {PROTOBUF}"));
    let metadata = metadata.list(&ListParams::default()).await.unwrap();
    assert_eq!(said(), format!("GET  → 200 {PROTOBUF}"));
    assert!(metadata.items.iter().any(|map| map.name() == "a"));
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(said(), format!("DELETE  → 200 {PROTOBUF}"));
    match watch.next().await.unwrap().unwrap() {
        WatchEvent::Deleted(map) => assert_eq!(map.data, created.data),
        other => panic!("{other:?}"),
    }
    let error = maps.get("a").await.unwrap_err();
    assert_eq!(said(), format!("GET  → 404 {PROTOBUF}"));
    assert!(error.to_string().contains("configmaps \"a\" not found"), "{error}");
}

/// An object of any kind, with all fields that the table of the client has. A `DynamicObject` is asked for in JSON.
#[derive(Debug, Deserialize, Serialize)]
struct Whole {
    metadata: ObjectMeta,
    #[serde(flatten)]
    rest: serde_json::Map<String, Value>,
}

impl Object for Whole {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// JSON without what has no place in protobuf: the kind of the claims within a StatefulSet.
fn plain(mut object: Value) -> Value {
    let claims = object.pointer_mut("/spec/volumeClaimTemplates");
    for claim in claims.and_then(Value::as_array_mut).into_iter().flatten() {
        claim.as_object_mut().unwrap().retain(|field, _| field != "kind" && field != "apiVersion");
    }
    object
}

/// Creates one object of each kind whose fields differ in type. Returns those that are in no namespace, which nobody else deletes.
async fn create_varied(target: &Target, client: &Client, discovery: &Discovery) -> Vec<(Api<DynamicObject>, String)> {
    let (mut cluster_scoped, mut refused) = (Vec::new(), Vec::new());
    for object in varied::objects(&target.namespace) {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let (api_version, kind) = (&*object.types.api_version, &*object.types.kind);
        let versions = discovery.groups().iter().flat_map(|group| group.versions());
        let mut kinds = versions.flat_map(|version| version.kinds());
        let found = kinds.find(|one| one.resource.api_version() == api_version && one.resource.kind == kind);
        let resource = found.unwrap_or_else(|| panic!("no {kind} of {api_version}")).resource.clone();
        let namespaced = resource.namespaced;
        let api = Api::of(client, resource, namespaced.then_some(&*target.namespace));
        let created = api.create(&PostParams::default(), &object).await;
        match created {
            Ok(created) if !namespaced => cluster_scoped.push((api, created.name().to_owned())),
            Ok(_) => {}
            Err(error) => refused.push(error.to_string()),
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    cluster_scoped
}

/// Every kind that the server serves and can list: what is there comes alike in both encodings.
pub(crate) async fn all_objects_are_the_same_in_protobuf_and_json(target: &Target) {
    target.running_pod("pod").await;
    let secret = json!({"metadata": {"name": "bytes"}, "data": {"all": "AP+A", "none": ""}});
    let secret: Secret = serde_json::from_value(secret).unwrap();
    let secrets = target.api::<Secret>();
    secrets.create(&PostParams::default(), &secret).await.unwrap();

    let (protobuf, spoken) = client(target, Encoding::Protobuf).await;
    let (in_json, _) = client(target, Encoding::Json).await;
    let discovery = in_json.discover().await.unwrap();
    let created = create_varied(target, &in_json, &discovery).await;
    let versions = discovery.groups().iter().flat_map(|group| group.versions());
    let kinds = versions.flat_map(|version| version.kinds());
    let (mut compared, mut kinds_compared) = (0, 0);
    let mut different = Vec::new();
    for kind in kinds.filter(|kind| kind.can("list")) {
        // The sandbox has no states of components. Its JSON of these others has zero values and fractions that Go leaves out, as its protobuf
        // does: definitions as their author wrote them, and what it converts from another version.
        let resource = &kind.resource;
        let written_otherwise = ["apiextensions.k8s.io/v1", "events.k8s.io/v1", "autoscaling/v1"];
        let is_simulated = matches!(target.nodes, Nodes::Simulated(_));
        let is_other = is_simulated && written_otherwise.contains(&&*resource.api_version());
        if resource.kind == "ComponentStatus" || is_other {
            continue;
        }
        let list = async |client: &Client| {
            let api = Api::<Whole>::of(client, kind.resource.clone(), None);
            let list = api.with_managed_fields().list(&ListParams::default()).await;
            let list = list.unwrap();
            let keyed = list.items.into_iter().map(|object| {
                let metadata = &object.metadata;
                let key = (metadata.uid.clone(), metadata.resource_version.clone());
                (key, serde_json::to_value(&object).unwrap())
            });
            (keyed.collect::<BTreeMap<_, Value>>(), list.undecodable)
        };
        // Objects may change between the two lists. Each version of an object is compared.
        let ((one, wrong), (other, other_wrong)) = (list(&in_json).await, list(&protobuf).await);
        let said = spoken.lock().pop().unwrap();
        // Custom kinds are JSON. Those of other scenarios may have objects that nobody can decode.
        if !said.ends_with("protobuf") {
            continue;
        }
        assert!(wrong.is_empty() && other_wrong.is_empty(), "{wrong:?} {other_wrong:?}");
        let before = compared;
        for (key, object) in &one {
            let Some(found) = other.get(key) else {
                continue;
            };
            let object = plain(object.clone());
            if *found != object {
                different.push(format!("{kind}: {found} in place of {object}"));
            }
            compared += 1;
        }
        kinds_compared += usize::from(compared > before);
    }
    assert!(compared > 40 && kinds_compared > 25, "{compared} objects of {kinds_compared} kinds");
    assert!(different.is_empty(), "{}", different.join("\n"));
    for (api, name) in created {
        api.delete(&name, &DeleteParams::default()).await.unwrap();
    }
    let typed = async |client: &Client| {
        let pods = Api::<Pod>::namespaced(client, &target.namespace);
        let secrets = Api::<Secret>::namespaced(client, &target.namespace);
        (pods.get("pod").await.unwrap(), secrets.get("bytes").await.unwrap())
    };
    assert_eq!(typed(&protobuf).await, typed(&in_json).await);
}

pub(crate) async fn a_cache_is_filled_and_follows_changes_in_protobuf(target: &Target) {
    let (client, spoken) = client(target, Encoding::Protobuf).await;
    target.running_pod("first").await;
    let informers = Informers::new(client, Metrics::new());
    informers.start(&CancellationToken::new());
    let pods = informers.informer::<Pod>(InformerScope::all().namespace(&target.namespace));
    assert!(pods.synced().await);
    let lister = pods.lister();
    let key = |name: &str| ObjectKey::namespaced(&target.namespace, name);
    let same = async |name: &str| {
        let expected = async || {
            let mut pod = target.api::<Pod>().get(name).await.unwrap();
            pod.metadata.managed_fields = None;
            let found = lister.get(&key(name)).ok().flatten();
            found.filter(|found| **found == pod).map(drop)
        };
        target.until("the cache has the Pod", expected).await;
    };
    same("first").await;
    target.running_pod("second").await;
    same("second").await;
    let text = json!({"metadata": {"annotations": {"text": "x".repeat(3000)}}});
    let change = Patch::Merge(text);
    let api = target.api::<Pod>();
    api.patch("first", &PatchParams::default(), &change).await.unwrap();
    same("first").await;
    informers.shutdown().await;
    let said = spoken.lock();
    assert!(said.iter().any(|line| line.ends_with("protobuf;stream=watch")), "{said:?}");
    assert!(said.iter().all(|line| line.contains("protobuf")), "{said:?}");
}
