//! The commands `crd install` and `crd migrate` as processes, on the sandbox over HTTPS and on a real API server; and migrations that are
//! interrupted.

mod by_cluster;

use std::{
    path::Path,
    process::{Output, Stdio},
};

use parking_lot::Mutex;
use pilothouse::{
    client::{Api, Client, Config, KubeconfigOptions, Patch, PatchParams, PostParams},
    crd::{self, CustomResourceDefinition, MigrationError, MigrationProgress},
    resource::{ApiResource, DynamicObject, Object, Scheme},
    testing::{Answer, Cluster, RequestMatcher},
};
use pilothouse_sandbox::Sandbox;
use pilothouse_tests::{programs::with_clear_environment, real::RealServer, served::ServedSandbox};
use serde_json::{Value, json};
use tokio::process::Command;

const NAME: &str = "notes.demo.example.com";

/// What the program `notes` prints for its only kind, with one version, `v1`.
async fn printed() -> Value {
    let output = notes("crd", None).await;
    let text = String::from_utf8(output.stdout).unwrap();
    let scheme = Scheme::new().with::<CustomResourceDefinition>();
    let definition = scheme.decode(&text).remove(0).unwrap();
    crd::to_json(&definition.downcast().unwrap())
}

/// Runs the program `notes`.
async fn notes(line: &str, kubeconfig: Option<&Path>) -> Output {
    let mut command = Command::from(with_clear_environment(env!("CARGO_BIN_EXE_notes")));
    command.args(line.split_whitespace());
    if let Some(kubeconfig) = kubeconfig {
        command.env("KUBECONFIG", kubeconfig);
    }
    command.stdin(Stdio::null()).output().await.unwrap()
}

/// Adds the version `v1alpha1` to a definition. The API server stores the version `stored`.
fn with_older(definition: &Value, stored: &str) -> Value {
    let mut definition = definition.clone();
    let versions = definition["spec"]["versions"].as_array_mut().unwrap();
    let mut older = versions[0].clone();
    older["name"] = "v1alpha1".into();
    versions.push(older);
    for version in versions {
        version["storage"] = (version["name"] == stored).into();
    }
    definition
}

/// A cluster whose notes were stored as `v1alpha1`.
struct World {
    client: Client,
    definitions: Api<DynamicObject>,
    printed: Value,
}

impl World {
    async fn new(client: Client) -> Self {
        let resource = ApiResource::of::<CustomResourceDefinition>();
        Self {
            definitions: Api::of(&client, resource, None),
            client,
            printed: printed().await,
        }
    }

    async fn install(&self, definition: Value) {
        let definition = serde_json::from_value(definition).unwrap();
        crd::install(&self.client, &[definition], "test")
            .await
            .unwrap();
    }

    fn notes(&self) -> Api<DynamicObject> {
        let kind = ApiResource {
            group: "demo.example.com".into(),
            version: "v1".into(),
            kind: "Note".into(),
            plural: "notes".into(),
            namespaced: true,
        };
        Api::of(&self.client, kind, Some("default"))
    }

    /// Installs the definition with the older version, creates notes, and lets new ones be stored as `v1`.
    async fn store_older(&self, names: impl IntoIterator<Item = String>) {
        self.install(with_older(&self.printed, "v1alpha1")).await;
        for name in names {
            let note = json!({
                "apiVersion": "demo.example.com/v1", "kind": "Note",
                "metadata": {"name": name}, "spec": {"text": "hello"},
            });
            let note = serde_json::from_value(note).unwrap();
            let params = PostParams::default();
            self.notes().create(&params, &note).await.unwrap();
        }
        self.install(with_older(&self.printed, "v1")).await;
    }

    async fn stored_versions(&self) -> Value {
        let definition = json!(self.definitions.get(NAME).await.unwrap());
        definition["status"]["storedVersions"].clone()
    }

    /// The annotation of a migration that has begun.
    async fn begun(&self) -> Value {
        let definition = json!(self.definitions.get(NAME).await.unwrap());
        definition["metadata"]["annotations"]["migration.pilothouse.dev/since"].clone()
    }

    /// Writes these notes as another client does.
    async fn label(&self, names: impl IntoIterator<Item = String>) {
        let label = Patch::Merge(json!({"metadata": {"labels": {"seen": "yes"}}}));
        for name in names {
            let params = PatchParams::default();
            self.notes().patch(&name, &params, &label).await.unwrap();
        }
    }

    async fn version_of(&self, note: &str) -> String {
        let note = self.notes().get(note).await.unwrap();
        note.resource_version().unwrap().to_owned()
    }
}

/// What the command prints, and its error.
fn ended(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

/// Lets the program write the objects itself: it has no permission for migrations by the cluster.
fn without_migrations(cluster: &Cluster) {
    let asked = RequestMatcher::any().resource("storageversionmigrations");
    let refusal = Answer::status(403, "Forbidden").message("no permission");
    cluster.faults().answer(asked, refusal, 1000);
}

async fn install_and_migrate(kubeconfig: &Path) {
    let options = KubeconfigOptions {
        path: Some(kubeconfig.to_owned()),
        ..KubeconfigOptions::default()
    };
    let config = Config::from_kubeconfig(&options).await.unwrap();
    let world = World::new(Client::new(config).unwrap()).await;
    let run = async |line: &str| ended(&notes(line, Some(kubeconfig)).await);
    let text = std::fs::read_to_string(kubeconfig).unwrap();
    let value = |key: &str| {
        text.lines()
            .find_map(|line| line.trim().strip_prefix(key))
            .unwrap()
            .trim()
            .to_owned()
    };
    let cluster = format!(
        "Cluster: {} (context {})\n",
        value("server:"),
        value("current-context:")
    );

    for done in ["created", "unchanged"] {
        let (text, error) = run("crd install").await;
        let expected = format!("customresourcedefinition.apiextensions.k8s.io/{NAME} {done}\n");
        assert_eq!((text, &*error), (expected, &*cluster));
    }
    world
        .definitions
        .delete(NAME, &Default::default())
        .await
        .unwrap();
    let deleted = world.definitions.wait_until_deleted(NAME, None).await;
    deleted.unwrap();

    world.store_older(["a", "b"].map(str::to_owned)).await;
    assert_eq!(world.stored_versions().await, json!(["v1alpha1", "v1"]));
    let gone = format!(
        "error: nothing was installed, because the cluster's definitions are not compatible with those of this program:\n  \
         {NAME}: objects are stored as `v1alpha1`, and the version is gone\n"
    );
    let advice = "\n`notes crd install --force` installs them nevertheless\n";
    let (text, error) = run("crd install").await;
    assert!(
        error.starts_with(&(cluster.clone() + &gone)) && error.ends_with(advice),
        "{error}"
    );
    assert_eq!(text, "");
    // The server itself refuses what nobody could read any more.
    let (text, error) = run("crd install --force").await;
    assert!(
        text.starts_with(&format!(
            "ignored: {NAME}: objects are stored as `v1alpha1`"
        )),
        "{text}"
    );
    assert!(error.contains("status.storedVersions"), "{error}");
    assert_eq!(world.stored_versions().await, json!(["v1alpha1", "v1"]));

    let before = world.version_of("a").await;
    let (text, error) = run("crd migrate").await;
    let expected = format!(
        "{NAME}: all objects are stored as v1 now, none as v1alpha1 (written by the cluster)\n"
    );
    assert_eq!(error, cluster);
    assert!(text.ends_with(&expected), "{text}");
    assert_ne!(world.version_of("a").await, before);
    assert_eq!(world.stored_versions().await, json!(["v1"]));
    let (text, _) = run("crd migrate").await;
    assert_eq!(text, format!("{NAME}: all objects are stored as v1\n"));

    // Now the version can go, although its clients lose it.
    let (_, error) = run("crd install").await;
    assert!(
        error.contains(&format!("{NAME} v1alpha1: the version is not served\n")),
        "{error}"
    );
    let (text, error) = run("crd install --force").await;
    assert!(
        text.ends_with(&format!("/{NAME} changed\n")),
        "{text}{error}"
    );
    let definition = json!(world.definitions.get(NAME).await.unwrap());
    assert_eq!(definition["spec"]["versions"].as_array().unwrap().len(), 1);
    let note = json!(world.notes().get("a").await.unwrap());
    assert_eq!(note["spec"]["text"], "hello");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definitions_are_installed_and_objects_are_migrated() {
    let sandbox = ServedSandbox::with(Sandbox::builder().simulator(true)).await;
    install_and_migrate(sandbox.kubeconfig()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_real_api_server_definitions_are_installed_and_objects_are_migrated() {
    if let Some(server) = RealServer::from_environment(&[]).filter(RealServer::is_own) {
        install_and_migrate(server.kubeconfig()).await;
    }
}

#[tokio::test]
async fn a_migration_that_was_not_complete_goes_on_with_the_rest() {
    let cluster = Cluster::start().unwrap();
    without_migrations(&cluster);
    let world = World::new(cluster.client().clone()).await;
    let names = (0..600).map(|number| format!("note-{number:03}"));
    world.store_older(names).await;
    let seen = Mutex::new(Vec::new());
    let migrate = async || {
        seen.lock().clear();
        let note = |progress| match progress {
            MigrationProgress::Objects { done, remaining } => seen.lock().push((done, remaining)),
            other => panic!("{other:?}"),
        };
        crd::migrate(cluster.client(), NAME, "notes", note).await
    };
    let writes = || RequestMatcher::any().verb("patch").resource("notes");

    // The server refuses one object, and the others are written.
    let refusal = Answer::status(422, "Invalid").message("the text is too long");
    let faults = cluster.faults();
    faults.answer(writes().name("note-001"), refusal, 1);
    let error = migrate().await.unwrap_err();
    assert!(
        matches!(error, MigrationError::Refused { count: 1, .. }),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("note-001: invalid: the text is too long"),
        "{error}"
    );
    assert_eq!(*seen.lock(), [(500, Some(100)), (600, None)]);
    assert_eq!(world.stored_versions().await, json!(["v1alpha1", "v1"]));
    let begun = world.begun().await;
    assert!(begun.as_str().unwrap().starts_with("v1."), "{begun}");

    // On a real server the written objects have new resource versions. The sandbox keeps an object in no version, so another client
    // writes them here.
    let others = (0..600).filter(|number| *number != 1);
    world
        .label(others.map(|number| format!("note-{number:03}")))
        .await;
    cluster.forget_requests();
    let migrated = migrate().await.unwrap();
    assert_eq!((migrated.written, migrated.skipped), (1, 599));
    assert_eq!(migrated.removed, ["v1alpha1"]);
    let written = cluster.writes();
    let written: Vec<_> = written
        .iter()
        .filter(|one| one.resource == "notes")
        .collect();
    assert_eq!(written.len(), 1, "{written:?}");
    assert_eq!(world.stored_versions().await, json!(["v1"]));
    assert!(world.begun().await.is_null());
}

#[tokio::test]
async fn a_missing_permission_ends_a_migration_and_the_refusal_of_one_object_does_not() {
    let cluster = Cluster::start().unwrap();
    without_migrations(&cluster);
    let world = World::new(cluster.client().clone()).await;
    let names = (0..40).map(|number| format!("note-{number:02}"));
    world.store_older(names).await;
    let migrate = async || crd::migrate(cluster.client(), NAME, "notes", |_| {}).await;
    let writes = || RequestMatcher::any().verb("patch").resource("notes");
    let refused = async |message: &str| {
        cluster.forget_requests();
        without_migrations(&cluster);
        let refusal = Answer::status(403, "Forbidden").message(message);
        cluster.faults().answer(writes(), refusal, 40);
        let error = migrate().await.unwrap_err();
        cluster.faults().clear();
        let tried = cluster.requests().into_iter();
        let tried = tried.filter(|one| one.verb == "patch" && one.resource == "notes");
        (error, tried.count())
    };
    let (error, tried) = refused(
        "notes.demo.pilothouse.dev \"note-00\" is forbidden: User \"ann\" cannot patch resource \"notes\" in API group \
         \"demo.pilothouse.dev\" in the namespace \"default\"",
    )
    .await;
    assert!(matches!(error, MigrationError::Client(_)), "{error}");
    assert!(
        error.to_string().contains("cannot patch resource"),
        "{error}"
    );
    // Those that were sent at once.
    assert!(tried <= 8, "{tried} requests");
    let (error, tried) = refused("a policy denied it").await;
    assert!(
        matches!(error, MigrationError::Refused { count: 40, .. }),
        "{error}"
    );
    assert_eq!(tried, 40);
}

#[tokio::test]
async fn what_was_written_while_another_version_was_stored_is_written_again() {
    let cluster = Cluster::start().unwrap();
    without_migrations(&cluster);
    let world = World::new(cluster.client().clone()).await;
    let names = || ["a", "b"].map(str::to_owned);
    world.store_older(names()).await;
    let refusal = Answer::status(422, "Invalid").message("the text is too long");
    let writes = RequestMatcher::any().verb("patch").resource("notes");
    cluster.faults().answer(writes, refusal, 2);
    let migrate = async || crd::migrate(cluster.client(), NAME, "notes", |_| {}).await;
    migrate().await.unwrap_err();
    assert!(world.begun().await.is_string());

    world.install(with_older(&world.printed, "v1alpha1")).await;
    world.label(names()).await;
    world.install(with_older(&world.printed, "v1")).await;
    let migrated = migrate().await.unwrap();
    assert_eq!((migrated.written, migrated.skipped), (2, 0));
}

#[tokio::test]
async fn a_version_that_another_one_replaces_during_a_migration_stays_listed() {
    let cluster = Cluster::start().unwrap();
    without_migrations(&cluster);
    let world = World::new(cluster.client().clone()).await;
    world.store_older(["a".to_owned()]).await;
    let definitions = world.definitions.clone();
    let back = with_older(&world.printed, "v1alpha1");
    let (begin, begun) = tokio::sync::oneshot::channel();
    let mut begin = Some(begin);
    let changed = async {
        begun.await.unwrap();
        let back = Patch::Merge(json!({"spec": back["spec"]}));
        definitions
            .patch(NAME, &PatchParams::default(), &back)
            .await
            .unwrap();
    };
    let writes = RequestMatcher::any()
        .verb("patch")
        .resource("customresourcedefinitions")
        .subresource("status");
    cluster
        .faults()
        .delay_requests(writes, std::time::Duration::from_millis(500), 1);
    let migrate = crd::migrate(cluster.client(), NAME, "notes", |_| {
        let _ = begin.take().map(|begin| begin.send(()));
    });
    let (migrated, ()) = tokio::join!(migrate, changed);
    let error = migrated.unwrap_err();
    assert!(matches!(error, MigrationError::Changed { .. }), "{error}");
    let stored = world.stored_versions().await;
    assert!(
        stored.as_array().unwrap().contains(&json!("v1alpha1")),
        "{stored}"
    );
}
