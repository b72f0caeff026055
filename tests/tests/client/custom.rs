//! Custom kinds.

use std::sync::Arc;

use parking_lot::Mutex;
use pilothouse::{
    Resource, Schema,
    client::{
        Api, Client, DeleteParams, ListParams, MappingError, Patch, PatchParams, PostParams,
        RestMapper,
    },
    crd::{self, CustomResource, CustomResourceDefinition},
    k8s::api::autoscaling::v1::Scale,
    resource::{DynamicObject, Object, ObjectMeta},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::target::Target;

/// A boat.
#[derive(Resource, Clone, Debug)]
#[resource(group = "suite.pilothouse.dev", version = "v1", namespaced, short_names("bt"))]
struct Boat {
    metadata: ObjectMeta,
    spec: BoatSpec,
    status: Option<BoatStatus>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct BoatSpec {
    #[serde(default)]
    #[schema(minimum = 0, maximum = 12, scale = "spec")]
    oars: i32,
    #[schema(rule("self != 'Titanic'", "that one sank"))]
    name: String,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct BoatStatus {
    #[schema(scale = "status")]
    rowed: i32,
}

/// A raft, whose definition comes and goes.
#[derive(Resource, Clone, Debug)]
#[resource(group = "rafts.pilothouse.dev", version = "v1alpha1", namespaced)]
struct Raft {
    metadata: ObjectMeta,
    spec: RaftSpec,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct RaftSpec {
    logs: i32,
}

/// A flag, which clients should not read in its older versions.
#[derive(Resource, Clone, Debug)]
#[resource(
    group = "flags.pilothouse.dev",
    version = "v1",
    namespaced,
    served(FlagBeta, FlagAlpha),
    conversion = "none"
)]
struct Flag {
    metadata: ObjectMeta,
    spec: RaftSpec,
}

#[derive(Resource, Clone, Debug)]
#[resource(
    group = "flags.pilothouse.dev",
    version = "v1beta1",
    kind = "Flag",
    namespaced,
    deprecated = "use v1: \"flags\" of v1beta1 go with release 3"
)]
struct FlagBeta {
    metadata: ObjectMeta,
    spec: RaftSpec,
}

#[derive(Resource, Clone, Debug)]
#[resource(
    group = "flags.pilothouse.dev",
    version = "v1alpha1",
    kind = "Flag",
    namespaced
)]
struct FlagAlpha {
    metadata: ObjectMeta,
    spec: RaftSpec,
}

pub(crate) async fn a_deprecated_version_warns_its_clients(target: &Target) {
    let mut definition = Flag::crd().unwrap();
    // Without a text the API server names the newest version.
    definition.spec.versions[2].deprecated = Some(true);
    crd::install(&target.client, &[definition], "suite").await.unwrap();
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let heard = warnings.clone();
    let client = Client::builder(target.config().await);
    let client = client.on_warning(move |text| heard.lock().push(text.to_owned()));
    let client = client.build().unwrap();
    let flag = Flag {
        metadata: ObjectMeta {
            name: Some("a".into()),
            ..Default::default()
        },
        spec: RaftSpec { logs: 1 },
    };
    let newest = Api::<Flag>::namespaced(&client, &target.namespace);
    newest.create(&PostParams::default(), &flag).await.unwrap();
    newest.list(&ListParams::default()).await.unwrap();
    assert_eq!(*warnings.lock(), [""; 0]);
    let beta = Api::<FlagBeta>::namespaced(&client, &target.namespace);
    assert_eq!(beta.get("a").await.unwrap().spec.logs, 1);
    let alpha = Api::<FlagAlpha>::namespaced(&client, &target.namespace);
    assert!(alpha.get("gone").await.unwrap_err().is_not_found());
    let expected = [
        "use v1: \"flags\" of v1beta1 go with release 3",
        "flags.pilothouse.dev/v1alpha1 Flag is deprecated; use flags.pilothouse.dev/v1 Flag",
    ];
    assert_eq!(*warnings.lock(), expected);
}

fn boat(name: &str, oars: i32) -> Boat {
    Boat {
        metadata: ObjectMeta {
            name: Some("it".into()),
            ..Default::default()
        },
        spec: BoatSpec {
            oars,
            name: name.into(),
        },
        status: None,
    }
}

pub(crate) async fn a_custom_kind_is_installed_used_and_scaled(target: &Target) {
    let definition = Boat::crd().unwrap();
    crd::install(&target.client, &[definition], "suite").await.unwrap();
    let boats = target.api::<Boat>();
    let params = PostParams::default();
    for (bad, field) in [(boat("Titanic", 1), "spec.name"), (boat("Argo", 13), "spec.oars")] {
        let error = boats.create(&params, &bad).await.unwrap_err();
        assert!(error.is_invalid(), "{error}");
        let causes = &error.status().unwrap().details.as_ref().unwrap().causes;
        assert_eq!(causes.iter().map(|cause| cause.field.as_str()).collect::<Vec<_>>(), [field]);
    }
    let made = boats.create(&params, &boat("Argo", 8)).await.unwrap();
    assert_eq!(made.metadata.generation, Some(1));
    let status = Patch::Merge(json!({"status": {"rowed": 7}, "spec": {"oars": 1}}));
    let patched = boats.patch_status("it", &PatchParams::default(), &status).await.unwrap();
    assert_eq!((patched.spec.oars, patched.status.unwrap().rowed), (8, 7));
    assert_eq!(patched.metadata.generation, Some(1));
    let scale: Scale = boats.get_subresource("it", "scale").await.unwrap();
    assert_eq!(scale.spec.unwrap().replicas, Some(8));
    assert_eq!(scale.status.unwrap().replicas, 7);
    let scaled = Patch::Merge(json!({"spec": {"replicas": 4}}));
    let params = PatchParams::default();
    let scaled: Scale = boats.patch_subresource("it", "scale", &params, &scaled).await.unwrap();
    assert_eq!(scaled.spec.unwrap().replicas, Some(4));
    let read = boats.get("it").await.unwrap();
    assert_eq!((read.spec.oars, read.metadata.generation), (4, Some(2)));
    boats.delete("it", &DeleteParams::default()).await.unwrap();
}

pub(crate) async fn installed_and_removed_kinds_are_noticed(target: &Target) {
    let mapper = RestMapper::new(&target.client);
    let error = mapper.kind("rafts.pilothouse.dev/v1alpha1", "Raft").await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    let definition = Raft::crd().unwrap();
    let name = definition.name().to_owned();
    crd::install(&target.client, &[definition], "suite").await.unwrap();
    // The mapper asks again for an unknown kind after a while.
    let found = target.until("the kind comes", async || mapper.find("rafts").await.ok()).await;
    assert_eq!(found.resource.kind, "Raft");
    let manifest: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "rafts.pilothouse.dev/v1alpha1", "kind": "Raft",
        "metadata": {"name": "it", "namespace": target.namespace}, "spec": {"logs": 3},
    }))
    .unwrap();
    let rafts = mapper.api_for(&manifest).await.unwrap();
    rafts.create(&PostParams::default(), &manifest).await.unwrap();
    let definitions = pilothouse::client::Api::<CustomResourceDefinition>::all(&target.client);
    definitions.delete(&name, &DeleteParams::default()).await.unwrap();
    target
        .until("the kind goes", async || {
            mapper.refresh().await.unwrap();
            let gone = mapper.find("rafts").await;
            matches!(gone, Err(MappingError::NotFound { .. })).then_some(())
        })
        .await;
}
