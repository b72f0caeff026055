use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{
            ConfigMap, ConfigMapVolumeSource, Container, PodSpec, PodTemplateSpec, Volume,
            VolumeMount,
        },
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta},
};
use kube::{
    Api, Client, CustomResource, Resource, ResourceExt,
    api::{Patch, PatchParams},
    runtime::{
        controller::{Action, Controller},
        finalizer, watcher,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A notice board.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "boards.example.com",
    version = "v1",
    kind = "Board",
    namespaced
)]
#[kube(status = "BoardStatus")]
#[kube(printcolumn = r#"{"name":"Ready","type":"integer","jsonPath":".status.ready"}"#)]
#[serde(rename_all = "camelCase")]
pub struct BoardSpec {
    /// The text on the board.
    text: String,
    /// Number of Pods that show it.
    #[schemars(range(min = 0))]
    replicas: Option<i32>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub struct BoardStatus {
    /// Number of Pods that are ready.
    ready: i32,
}

const FINALIZER: &str = "boards.example.com/directory";

type Error = finalizer::Error<kube::Error>;

struct Data {
    client: Client,
}

async fn reconcile(board: Arc<Board>, data: Arc<Data>) -> Result<Action, Error> {
    let namespace = board.namespace().unwrap_or_default();
    let boards: Api<Board> = Api::namespaced(data.client.clone(), &namespace);
    finalizer::finalizer(&boards, FINALIZER, board, |event| async {
        match event {
            finalizer::Event::Apply(board) => apply(&board, &data).await,
            finalizer::Event::Cleanup(board) => {
                list(&board, None, &data.client).await?;
                Ok(Action::await_change())
            }
        }
    })
    .await
}

async fn apply(board: &Board, data: &Data) -> Result<Action, kube::Error> {
    let namespace = board.namespace().unwrap_or_default();
    let name = board.name_any();
    let params = PatchParams::apply("board-controller").force();

    let maps: Api<ConfigMap> = Api::namespaced(data.client.clone(), &namespace);
    maps.patch(&page_name(board), &params, &Patch::Apply(&page(board)))
        .await?;
    let deployments: Api<Deployment> = Api::namespaced(data.client.clone(), &namespace);
    let web = deployments
        .patch(&name, &params, &Patch::Apply(&deployment(board)))
        .await?;
    list(board, Some(&board.spec.text), &data.client).await?;

    let status = web.status.unwrap_or_default();
    let ready = status.ready_replicas.unwrap_or(0);
    if board.status.as_ref().map(|status| status.ready) != Some(ready) {
        let boards: Api<Board> = Api::namespaced(data.client.clone(), &namespace);
        let status = Patch::Merge(json!({"status": {"ready": ready}}));
        boards
            .patch_status(&name, &PatchParams::default(), &status)
            .await?;
    }
    Ok(Action::await_change())
}

/// Writes the text of a board into the ConfigMap `directory` of its namespace, or removes it.
async fn list(board: &Board, text: Option<&str>, client: &Client) -> Result<(), kube::Error> {
    let namespace = board.namespace().unwrap_or_default();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    let patch = Patch::Merge(json!({"data": {board.name_any(): text}}));
    maps.patch("directory", &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// The metadata of a child.
fn child(board: &Board, name: String) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        owner_references: board.controller_owner_ref(&()).map(|owner| vec![owner]),
        ..Default::default()
    }
}

fn page_name(board: &Board) -> String {
    format!("{}-page", board.name_any())
}

fn page(board: &Board) -> ConfigMap {
    ConfigMap {
        metadata: child(board, page_name(board)),
        data: Some([("index.html".into(), board.spec.text.clone())].into()),
        ..Default::default()
    }
}

fn deployment(board: &Board) -> Deployment {
    let labels = BTreeMap::from([("board".to_owned(), board.name_any())]);
    let page = Volume {
        name: "page".into(),
        config_map: Some(ConfigMapVolumeSource {
            name: page_name(board),
            ..Default::default()
        }),
        ..Default::default()
    };
    let server = Container {
        name: "server".into(),
        image: Some("nginx:1.29-alpine".into()),
        volume_mounts: Some(vec![VolumeMount {
            name: "page".into(),
            mount_path: "/usr/share/nginx/html".into(),
            ..Default::default()
        }]),
        ..Default::default()
    };
    Deployment {
        metadata: child(board, board.name_any()),
        spec: DeploymentSpec {
            replicas: board.spec.replicas,
            selector: LabelSelector {
                match_labels: Some(labels.clone()),
                ..Default::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    ..Default::default()
                }),
                spec: Some(PodSpec {
                    containers: vec![server],
                    volumes: Some(vec![page]),
                    ..Default::default()
                }),
            },
            ..Default::default()
        },
        ..Default::default()
    }
}

fn error_policy(board: Arc<Board>, error: &Error, _: Arc<Data>) -> Action {
    eprintln!("{}: {error}", board.name_any());
    Action::requeue(Duration::from_secs(30))
}

#[tokio::main]
async fn main() -> Result<(), kube::Error> {
    let client = Client::try_default().await?;
    let boards: Api<Board> = Api::all(client.clone());
    let config = watcher::Config::default();
    Controller::new(boards, config.clone())
        .owns(Api::<ConfigMap>::all(client.clone()), config.clone())
        .owns(Api::<Deployment>::all(client.clone()), config)
        .shutdown_on_signal()
        .run(reconcile, error_policy, Arc::new(Data { client }))
        .for_each(|_| async {})
        .await;
    Ok(())
}
