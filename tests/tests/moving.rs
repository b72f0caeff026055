//! The commands `adopt-from` and `uninstall` as processes, on the sandbox over HTTPS and on a real API server.

use std::{
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};

use pilothouse::{
    client::{
        Api, Client, Config, DeleteParams, KubeconfigOptions, Patch, PatchParams, PostParams,
        RestMapper,
    },
    crd::{self, CustomResourceDefinition},
    k8s::api::core::v1::ConfigMap,
    resource::{DynamicObject, Object, Scheme},
};
use pilothouse_tests::{programs::with_clear_environment, real::RealServer, served::ServedSandbox};
use serde_json::{Value, json};
use tokio::process::Command;

/// The field manager of the former operator, and its finalizer.
const FORMER: &str = "manager";
const FORMER_FINALIZER: &str = "example.com/former";
const FINALIZER: &str = "example.com/note";

/// A cluster with the kinds of the operator `notes`.
struct World {
    kubeconfig: PathBuf,
    client: Client,
    notes: Api<DynamicObject>,
    maps: Api<ConfigMap>,
}

impl World {
    async fn start(kubeconfig: &Path) -> Self {
        let options = KubeconfigOptions {
            path: Some(kubeconfig.to_owned()),
            ..KubeconfigOptions::default()
        };
        let config = Config::from_kubeconfig(&options).await.unwrap();
        let client = Client::new(config).unwrap();
        let printed = command(&["crd"], kubeconfig).output().await.unwrap();
        let scheme = Scheme::new().with::<CustomResourceDefinition>();
        let printed = String::from_utf8(printed.stdout).unwrap();
        let definition = scheme.decode(&printed).remove(0).unwrap();
        let definition: CustomResourceDefinition = definition.downcast().unwrap();
        crd::install(&client, &[definition], "test").await.unwrap();
        let mapper = RestMapper::new(&client);
        let notes = mapper.api("notes.demo.example.com", Some("default"));
        Self {
            kubeconfig: kubeconfig.to_owned(),
            notes: notes.await.unwrap(),
            maps: Api::namespaced(&client, "default"),
            client,
        }
    }

    async fn notes(&self, line: &str) -> Output {
        let line: Vec<&str> = line.split_whitespace().collect();
        command(&line, &self.kubeconfig).output().await.unwrap()
    }

    /// What a command prints that must succeed.
    async fn printed(&self, line: &str) -> String {
        let output = self.notes(line).await;
        let (text, error) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{line}: {text}{error}");
        text
    }

    /// The error of a command that must fail with exit code 1.
    async fn error(&self, line: &str) -> String {
        let output = self.notes(line).await;
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
        text(&output.stderr)
    }

    /// Creates a note and its ConfigMap as an operator with the field manager `manager` left them.
    async fn left_by(&self, manager: &str, name: &str, finalizers: &[&str]) {
        let note = json!({
            "apiVersion": "demo.example.com/v1", "kind": "Note",
            "metadata": {"name": name, "finalizers": finalizers}, "spec": {"text": "hello"},
        });
        let note: DynamicObject = serde_json::from_value(note).unwrap();
        let created = self.notes.create(&PostParams::default(), &note).await;
        let owner = json!({
            "apiVersion": "demo.example.com/v1", "kind": "Note", "name": name, "uid": created.unwrap().uid(),
            "controller": true, "blockOwnerDeletion": true,
        });
        let page = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "ownerReferences": [owner]},
            "data": {"text": "before", "applied": "before"},
        });
        let apply = PatchParams::apply(manager);
        self.maps
            .patch(name, &apply, &Patch::Apply(page))
            .await
            .unwrap();
        let update = PatchParams::default().field_manager(manager);
        let data = Patch::Merge(json!({"data": {"updated": "before"}}));
        self.maps.patch(name, &update, &data).await.unwrap();
        let status = Patch::Merge(json!({"status": {"url": "http://before"}}));
        self.notes
            .patch_status(name, &update, &status)
            .await
            .unwrap();
    }

    async fn keys(&self, map: &str) -> Vec<String> {
        let map = self.maps.get(map).await.unwrap();
        map.data.unwrap_or_default().into_keys().collect()
    }

    async fn note(&self, name: &str) -> Value {
        serde_json::to_value(self.notes.get(name).await.unwrap()).unwrap()
    }

    /// Lets the operator work until `is_done` holds.
    async fn work(&self, is_done: impl AsyncFn() -> bool) {
        let line = ["run", "--leader-elect=false", "--metrics-address", "0"];
        let mut operator = command(&line, &self.kubeconfig)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let waits = async {
            while !is_done().await {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), waits).await;
        operator.kill().await.unwrap();
        waited.unwrap();
    }
}

fn command(line: &[&str], kubeconfig: &Path) -> Command {
    let mut command = Command::from(with_clear_environment(env!("CARGO_BIN_EXE_notes")));
    command
        .args(line)
        .env("KUBECONFIG", kubeconfig)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// An operator takes over the objects of another one, works, and is uninstalled.
async fn moving(kubeconfig: &Path) {
    let world = World::start(kubeconfig).await;
    world
        .left_by(FORMER, "moved", &["example.com/first", FORMER_FINALIZER])
        .await;
    world.left_by("someone", "control", &[]).await;

    let line = format!("adopt-from {FORMER} --finalizer {FORMER_FINALIZER}");
    let shown = world.printed(&line).await;
    for row in [
        "configmaps              default/moved  applied fields, updated fields\n",
        "notes.demo.example.com  default/moved  updated fields of status, finalizer example.com/former becomes example.com/note\n",
        "\nNothing was changed. With --yes the command makes these changes",
    ] {
        assert!(shown.contains(row), "{shown}");
    }
    let finalizers = json!(["example.com/first", FORMER_FINALIZER]);
    assert_eq!(
        world.note("moved").await["metadata"]["finalizers"],
        finalizers
    );
    let done = world.printed(&format!("{line} --yes")).await;
    assert!(done.contains("\nChanged objects: 2\n"), "{done}");
    let finalizers = json!(["example.com/first", FINALIZER]);
    assert_eq!(
        world.note("moved").await["metadata"]["finalizers"],
        finalizers
    );
    let again = world.printed(&format!("{line} --yes")).await;
    assert!(again.contains("Nothing to do: "), "{again}");

    // Fields that the new operator does not want are removed, also in the status. Without the adoption they stay.
    let is_published = async |name: &str| world.note(name).await["status"]["published"] == true;
    world
        .work(async || is_published("moved").await && is_published("control").await)
        .await;
    assert_eq!(world.keys("moved").await, ["text"]);
    assert_eq!(world.keys("control").await, ["applied", "text", "updated"]);
    assert_eq!(world.note("moved").await["status"].get("url"), None);
    assert_eq!(
        world.note("control").await["status"]["url"],
        "http://before"
    );

    // The operator is gone. So an object that is deleted stays, until `uninstall` removes the finalizer.
    let params = DeleteParams::background();
    world.notes.delete("control", &params).await.unwrap();
    let refused = world.error("uninstall").await;
    let (cluster, refused) = refused.split_once('\n').unwrap();
    assert!(cluster.starts_with("Cluster: https://"), "{cluster}");
    assert_eq!(
        refused,
        "error: nothing was removed: `notes uninstall --yes` removes the finalizers, with the other flags of this command\n"
    );
    assert_eq!(
        world.note("control").await["metadata"]["finalizers"],
        json!([FINALIZER])
    );
    let printed = world.printed("uninstall --yes").await;
    assert!(printed.contains("Changed objects: 2"), "{printed}");
    let rest = "# Deleting a definition deletes all objects of its kind.\n\
                kubectl delete customresourcedefinitions.apiextensions.k8s.io notes.demo.example.com\n";
    assert!(printed.ends_with(rest), "{printed}");
    assert!(world.notes.get_opt("control").await.unwrap().is_none());
    let finalizers = json!(["example.com/first"]);
    assert_eq!(
        world.note("moved").await["metadata"]["finalizers"],
        finalizers
    );
    drop(world.client);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_moves_here_and_is_uninstalled() {
    moving(ServedSandbox::start().await.kubeconfig()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_real_api_server_an_operator_moves_here_and_is_uninstalled() {
    if let Some(server) = RealServer::from_environment(&[]).filter(RealServer::is_own) {
        moving(server.kubeconfig()).await;
    }
}
