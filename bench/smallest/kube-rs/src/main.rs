//! The same operator on kube-rs: one custom resource, one owned ConfigMap.
use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, CustomResource, Resource, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams},
    runtime::controller::{Action, Controller},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.pilothouse.dev", version = "v1", kind = "Note", namespaced)]
struct NoteSpec {
    text: String,
}

async fn reconcile(note: Arc<Note>, client: Arc<Client>) -> Result<Action, kube::Error> {
    let page = ConfigMap {
        metadata: ObjectMeta {
            name: note.metadata.name.clone(),
            owner_references: note.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some([("text".to_owned(), note.spec.text.clone())].into()),
        ..ConfigMap::default()
    };
    let api = Api::<ConfigMap>::namespaced((*client).clone(), &note.namespace().unwrap_or_default());
    api.patch(&note.name_any(), &PatchParams::apply("notes").force(), &Patch::Apply(&page)).await?;
    Ok(Action::await_change())
}

#[tokio::main]
async fn main() -> Result<(), kube::Error> {
    tracing_subscriber::fmt::init();
    let client = Client::try_default().await?;
    Controller::new(Api::<Note>::all(client.clone()), Default::default())
        .owns(Api::<ConfigMap>::all(client.clone()), Default::default())
        .shutdown_on_signal()
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(5)), Arc::new(client))
        .for_each(|_| async {})
        .await;
    Ok(())
}
