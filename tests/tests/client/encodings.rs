//! CBOR, which both servers accept: the sandbox by a setting, the real one by a feature gate.

use std::sync::{Arc};

use parking_lot::Mutex;
use futures_util::StreamExt;
use pilothouse::{
    client::{
        Api, Body, Client, DeleteParams, Encoding, ListParams, Patch, PatchParams, PostParams,
        RequestService, WatchEvent, WatchParams,
    },
    k8s::{
        ByteString,
        api::core::v1::{ConfigMap, Secret},
    },
    resource::{DynamicObject, Object},
};
use serde_json::json;
use tower::{Service, ServiceExt};

use crate::target::{Target, map};

/// The content types of each request and its answer, such as `PUT application/cbor → 200 application/cbor`.
type Spoken = Arc<Mutex<Vec<String>>>;

fn media_type(headers: &http::HeaderMap) -> &str {
    let value = headers.get("content-type");
    value.map_or("", |value| value.to_str().unwrap())
}

async fn client(target: &Target) -> (Client, Spoken) {
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
        .encoding(Encoding::Cbor)
        .layer(listen);
    (client.build().unwrap(), spoken)
}

pub(crate) async fn every_verb_uses_cbor(target: &Target) {
    let (client, spoken) = client(target).await;
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
    let (client, _) = client(target).await;
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
    let (client, spoken) = client(target).await;
    let maps = Api::<ConfigMap>::namespaced(&client, &target.namespace).metadata();
    let said = || spoken.lock().pop().unwrap();
    target.map("meta", &[("app", "web")]).await;

    assert_eq!(maps.get("meta").await.unwrap().label("app"), Some("web"));
    assert_eq!(said(), "GET  → 200 application/cbor");
    let list = maps.list(&ListParams::default()).await.unwrap();
    assert_eq!(said(), "GET  → 200 application/cbor");
    assert!(list.items.iter().any(|map| map.name() == "meta"));
    let from = WatchParams::default().after(list.resource_version().unwrap());
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
