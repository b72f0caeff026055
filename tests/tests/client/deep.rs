//! Objects nested as deeply as an API server accepts.

use pilothouse::{
    Resource, Schema,
    cache::{InformerScope, Informers},
    client::{Answer, Api, Client, Encoding, Error, ErrorKind, ListParams, Patch, PatchParams},
    crd::{self, CustomResource, CustomResourceDefinition},
    metrics::Metrics,
    resource::{ApiResource, DynamicObject, Object, ObjectKey, ObjectMeta, PartialObject},
};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::target::Target;

#[derive(Resource, Clone, Debug)]
#[resource(group = "deep.pilothouse.dev", version = "v1", namespaced)]
struct Well {
    metadata: ObjectMeta,
    spec: WellSpec,
}

/// A spec of which the server stores more fields than the type has.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct WellSpec {
    rope: i32,
}

#[derive(Resource, Deserialize, Serialize, Clone, Debug)]
#[resource(view_of = Well)]
struct WellView {
    metadata: ObjectMeta,
}

const NAMES: [&str; 3] = ["deep-130", "deep-9000", "shallow"];

async fn install(target: &Target) {
    let mut definition = serde_json::to_value(Well::crd().unwrap()).unwrap();
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    let spec = definition.pointer_mut(spec).unwrap();
    spec["x-kubernetes-preserve-unknown-fields"] = true.into();
    let definition: CustomResourceDefinition = serde_json::from_value(definition).unwrap();
    crd::install(&target.client, &[definition], "suite").await.unwrap();
}

/// Creates a `Well` from text, because serialising the value needs a deep stack.
async fn create_one(target: &Target, name: &str, levels: usize) {
    let (open, close) = ("{\"a\":".repeat(levels), "}".repeat(levels));
    let body = format!(
        "{{\"apiVersion\":\"deep.pilothouse.dev/v1\",\"kind\":\"Well\",\"metadata\":{{\"name\":\"{name}\"}},\
         \"spec\":{{\"rope\":1,\"water\":{open}1{close}}}}}"
    );
    let answer = post(target, body).await.unwrap();
    answer.decode::<IgnoredAny>().unwrap();
}

async fn post(target: &Target, body: String) -> Result<Answer, Error> {
    let wells = ApiResource::of::<Well>();
    let request = target.client.request("create").resource(&wells).namespace(&target.namespace);
    request.body_bytes("application/json", body).send().await
}

async fn create(target: &Target) {
    install(target).await;
    for (name, levels) in NAMES.into_iter().zip([130, 9_000, 3]) {
        create_one(target, name, levels).await;
    }
}

fn names<K: Object>(items: &[K]) -> Vec<&str> {
    items.iter().map(Object::name).collect()
}

async fn clients(target: &Target) -> [Client; 2] {
    let config = target.config().await;
    let cbor = Client::builder(config).encoding_of_other_kinds(Encoding::Cbor);
    [target.client.clone(), cbor.build().unwrap()]
}

pub(crate) async fn deep_objects_can_be_read_and_written(target: &Target) {
    create(target).await;
    for client in clients(target).await {
        let wells = Api::<Well>::namespaced(&client, &target.namespace);
        let list = wells.list(&ListParams::default()).await.unwrap();
        assert_eq!((names(&list.items), list.undecodable.len()), (NAMES.into(), 0));
        let views = Api::<WellView>::namespaced(&client, &target.namespace);
        let list = views.list(&ListParams::default()).await.unwrap();
        assert_eq!((names(&list.items), list.undecodable.len()), (NAMES.into(), 0));
        let partial = Api::<PartialObject<Well>>::namespaced(&client, &target.namespace);
        let list = partial.list(&ListParams::default()).await.unwrap();
        assert_eq!((names(&list.items), list.undecodable.len()), (NAMES.into(), 0));
        let mut params = ListParams::default().limit(1);
        for name in NAMES {
            let page = wells.list(&params).await.unwrap();
            assert_eq!(names(&page.items), [name]);
            params = ListParams::default().limit(1);
            params = params.continue_token(page.continue_token().unwrap_or_default());
        }
        for name in NAMES {
            assert_eq!(wells.get(name).await.unwrap().name(), name);
            let spec = json!({"rope": 2});
            let applied = json!({"apiVersion": "deep.pilothouse.dev/v1", "kind": "Well", "spec": spec});
            let params = PatchParams::apply("suite").force();
            let applied = wells.patch(name, &params, &Patch::Apply(applied)).await.unwrap();
            assert_eq!(applied.spec.rope, 2);
            let merged = Patch::Merge(json!({"spec": {"rope": 1}}));
            let merged = wells.patch(name, &PatchParams::default(), &merged).await.unwrap();
            assert_eq!(merged.spec.rope, 1);
        }
        let dynamic = Api::<DynamicObject>::of(&client, ApiResource::of::<Well>(), Some(&target.namespace));
        let list = dynamic.list(&ListParams::default()).await.unwrap();
        assert_eq!(names(&list.items), ["shallow"]);
        assert_eq!(list.items[0].data["spec"]["water"], json!({"a": {"a": {"a": 1}}}));
        for (wrong, name) in list.undecodable.iter().zip(NAMES) {
            assert_eq!((wrong.key.name(), wrong.uid.is_some()), (name, true));
            assert!(wrong.reason.ends_with("nested deeper than 127 lists and maps"));
            let error = dynamic.get(name).await.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Decode { .. }), "{error}");
        }
        assert_eq!(list.undecodable.len(), 2);
    }
}

pub(crate) async fn a_cache_holds_objects_that_are_not_too_deep_for_its_type(target: &Target) {
    create(target).await;
    for (client, rope) in clients(target).await.into_iter().zip([7, 8]) {
        let informers = Informers::new(client, Metrics::new());
        informers.start(&CancellationToken::new());
        let scope = || InformerScope::all().namespace(&target.namespace);
        let typed = informers.informer::<Well>(scope());
        let metadata = informers.metadata::<Well>(scope());
        let view = informers.informer::<WellView>(scope());
        let dynamic = informers.dynamic(ApiResource::of::<Well>(), scope());
        assert!(typed.synced().await && metadata.synced().await);
        assert!(view.synced().await && dynamic.synced().await);
        let wells = target.api::<Well>();
        for name in NAMES {
            let key = ObjectKey::namespaced(&target.namespace, name);
            let patch = Patch::Merge(json!({"spec": {"rope": rope}}));
            let changed = wells.patch(name, &PatchParams::default(), &patch).await.unwrap();
            let version = changed.metadata.resource_version;
            target
                .until("the caches follow", async || {
                    let typed = typed.lister().get(&key).unwrap().unwrap();
                    let metadata = metadata.lister().get(&key).unwrap().unwrap();
                    let view = view.lister().get(&key).unwrap().unwrap();
                    let all = [&typed.metadata, &metadata.metadata, &view.metadata];
                    let follow = all.iter().all(|it| it.resource_version == version);
                    let dynamic = match dynamic.lister().get(&key) {
                        Ok(object) => {
                            assert_eq!(name, "shallow");
                            object.unwrap().metadata.resource_version.clone()
                        }
                        Err(undecodable) => {
                            assert_ne!(name, "shallow");
                            undecodable.resource_version.clone()
                        }
                    };
                    (follow && dynamic == version).then_some(())
                })
                .await;
        }
    }
}

/// API servers limit JSON and CBOR to the same depth.
pub(crate) async fn objects_beyond_the_depth_limit_are_refused(target: &Target) {
    install(target).await;
    let body = |levels: usize| {
        format!(
            "{{\"apiVersion\":\"deep.pilothouse.dev/v1\",\"kind\":\"Well\",\"metadata\":{{\"name\":\"a\"}},\"spec\":{{\"rope\":1,\"water\":{}{}}}}}",
            "[".repeat(levels),
            "]".repeat(levels)
        )
    };
    let error = post(target, body(9_999)).await.unwrap_err();
    assert!(error.is_bad_request(), "{error}");
    assert!(error.to_string().contains("exceeded max depth"), "{error}");
}
