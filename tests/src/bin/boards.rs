//! The operator that the part "Moving here" of the book ports from other frameworks. `tests/moving` lets it take over their objects.

// ANCHOR: recipe
use pilothouse::{client::Patch, prelude::*, resource::ObjectKey};
use serde_json::json;

/// A notice board.
#[derive(Resource, Clone, Debug)]
#[resource(group = "boards.example.com", version = "v1", namespaced)]
struct Board {
    metadata: ObjectMeta,
    spec: BoardSpec,
    status: Option<BoardStatus>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct BoardSpec {
    /// The text on the board.
    text: String,
    /// Number of Pods that show it.
    #[schema(minimum = 0)]
    replicas: Option<i32>,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct BoardStatus {
    /// Number of Pods that are ready.
    #[schema(column = "Ready")]
    ready: i32,
    conditions: Vec<Condition>,
}

struct Boards;

impl Reconciler for Boards {
    type Resource = Board;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns::<ConfigMap>()
            .owns::<Deployment>()
            .finalizer("boards.example.com/directory")
    }

    async fn reconcile(&self, board: Arc<Board>, cx: &Context<Board>) -> Result<Action> {
        cx.apply(page(&board)).await?;
        let web = cx.apply(deployment(&board)).await?;
        list(&board, Some(&board.spec.text), cx).await?;
        let status = web.status.as_ref();
        let ready = status.and_then(|status| status.ready_replicas).unwrap_or(0);
        cx.modify_status(|status: &mut BoardStatus| status.ready = ready)
            .await?;
        Ok(Action::wait())
    }
}

impl Cleanup for Boards {
    async fn cleanup(&self, board: Arc<Board>, cx: &Context<Board>) -> Result<Action> {
        list(&board, None, cx).await?;
        Ok(Action::wait())
    }
}

/// Writes the text of a board into the ConfigMap `directory` of its namespace, or removes it.
async fn list(board: &Board, text: Option<&str>, cx: &Context<Board>) -> Result<()> {
    let directory = cx.get::<ConfigMap>("directory")?;
    let data = directory.as_ref().and_then(|map| map.data.as_ref());
    let listed = data.and_then(|data| data.get(board.name()));
    if listed.map(String::as_str) == text {
        return Ok(());
    }
    let key = ObjectKey::new(board.namespace(), "directory");
    let patch = Patch::Merge(json!({"data": {board.name(): text}}));
    cx.patch::<ConfigMap>(&key, &patch).await?;
    Ok(())
}

fn page(board: &Board) -> ConfigMap {
    ConfigMap {
        data: Some([("index.html".to_owned(), board.spec.text.clone())].into()),
        ..ConfigMap::named(format!("{}-page", board.name()))
    }
}

fn deployment(board: &Board) -> Deployment {
    let labels = Labels::from([("board", board.name())]);
    let page = Volume {
        name: "page".into(),
        config_map: Some(ConfigMapVolumeSource {
            name: page(board).name().into(),
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
        spec: DeploymentSpec {
            replicas: board.spec.replicas,
            selector: labels.selector(),
            template: PodTemplateSpec {
                metadata: Some(labels.metadata()),
                spec: Some(PodSpec {
                    containers: vec![server],
                    volumes: Some(vec![page]),
                    ..Default::default()
                }),
            },
            ..Default::default()
        },
        ..Deployment::named(board.name())
    }
}

fn operator() -> Operator {
    Operator::new("boards").controller(Boards)
}

fn main() -> ExitCode {
    operator().main()
}
// ANCHOR_END: recipe

#[cfg(test)]
mod tests {
    use pilothouse::testing::Cluster;

    use super::*;

    fn has(directory: &ConfigMap, name: &str) -> bool {
        let data = directory.data.as_ref();
        data.is_some_and(|data| data.contains_key(name))
    }

    #[tokio::test(start_paused = true)]
    async fn a_board_has_its_children_a_status_and_a_place_in_the_directory() {
        let cluster = Cluster::start().unwrap();
        let directory = ConfigMap::named("directory");
        cluster.create(&directory).await.unwrap();
        let running = cluster.run(operator()).await.unwrap();
        let board = Board {
            metadata: ObjectMeta {
                name: Some("a".into()),
                ..Default::default()
            },
            spec: BoardSpec {
                text: "Open today".into(),
                replicas: Some(2),
            },
            status: None,
        };
        cluster.create(&board).await.unwrap();
        cluster
            .until("a", "have two Pods", |board: &Board| {
                board
                    .status
                    .as_ref()
                    .is_some_and(|status| status.ready == 2)
            })
            .await
            .unwrap();
        let page = cluster.get::<ConfigMap>("a-page").await.unwrap().unwrap();
        assert_eq!(page.data.unwrap()["index.html"], "Open today");
        let directory = cluster.get::<ConfigMap>("directory").await.unwrap();
        assert!(has(&directory.unwrap(), "a"));

        cluster.delete::<Board>("a").await.unwrap();
        cluster.until_gone::<Board>("a").await.unwrap();
        cluster.until_gone::<Deployment>("a").await.unwrap();
        let directory = cluster.get::<ConfigMap>("directory").await.unwrap();
        assert!(!has(&directory.unwrap(), "a"));
        assert_eq!(running.unused_access().to_string(), "");
        running.stop().await;
    }
}
