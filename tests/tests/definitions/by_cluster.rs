//! Migrations by the cluster: `StorageVersionMigration`.

use std::time::Duration;

use parking_lot::Mutex;
use pilothouse::{
    client::{Api, Patch, PatchParams, PostParams},
    crd::{self, Migrated, MigrationProgress},
    resource::{ApiResource, DynamicObject},
    testing::{Answer, Cluster, RequestMatcher},
};
use pilothouse_sandbox::Sandbox;
use serde_json::{Value, json};

use super::{NAME, World, with_older};

/// The kind `StorageVersionMigration` of a cluster. Without the simulator no controller of the sandbox works on it.
struct Migrations {
    api: Api<DynamicObject>,
}

impl Migrations {
    fn of(world: &World) -> Self {
        let kind = ApiResource {
            group: "storagemigration.k8s.io".into(),
            version: "v1".into(),
            kind: "StorageVersionMigration".into(),
            plural: "storageversionmigrations".into(),
            namespaced: false,
        };
        Self {
            api: Api::of(&world.client, kind, None),
        }
    }

    /// Does the work of the controller: waits for the migration, and gives it these conditions, one after the other.
    async fn end(&self, conditions: &[(&str, &str)]) -> Value {
        let created = self.api.wait_until(NAME, |one| one.is_some());
        let created = tokio::time::timeout(Duration::from_secs(60), created).await;
        let created = created.expect("a migration begins").unwrap();
        let mut all = Vec::new();
        for (name, message) in conditions {
            tokio::time::sleep(Duration::from_secs(20)).await;
            all.push(json!({
                "type": name, "status": "True", "reason": "Test", "message": message,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }));
            let status = Patch::Merge(json!({"status": {"conditions": all}}));
            let params = PatchParams::default();
            self.api.patch_status(NAME, &params, &status).await.unwrap();
        }
        json!(created.unwrap())
    }

    async fn are_gone(&self) -> bool {
        self.api.get_opt(NAME).await.unwrap().is_none()
    }
}

/// A cluster whose migrations nobody works on: the simulator of the sandbox is off.
fn without_controllers() -> Cluster {
    Cluster::with(Sandbox::builder().seed(1)).unwrap()
}

/// Migrates the objects, and returns what it tells meanwhile.
async fn migrate(cluster: &Cluster) -> (Migrated, Vec<MigrationProgress>) {
    let seen = Mutex::new(Vec::new());
    let note = |progress| seen.lock().push(progress);
    let migrated = crd::migrate(cluster.client(), NAME, "notes", note).await;
    (migrated.unwrap(), seen.into_inner())
}

fn writes_of_notes(cluster: &Cluster) -> usize {
    let writes = cluster.writes().into_iter();
    writes.filter(|one| one.resource == "notes").count()
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_can_migrate_writes_the_objects_itself() {
    let cluster = without_controllers();
    let world = World::new(cluster.client().clone()).await;
    let migrations = Migrations::of(&world);
    world.store_older(["a", "b"].map(str::to_owned)).await;
    cluster.forget_requests();
    let work = migrations.end(&[("Running", ""), ("Succeeded", "")]);
    let ((migrated, seen), created) = tokio::join!(migrate(&cluster), work);
    assert_eq!(
        created["spec"]["resource"],
        json!({"group": "demo.example.com", "resource": "notes"})
    );
    assert_eq!(created["metadata"]["ownerReferences"][0]["name"], NAME);
    assert!(migrated.by_cluster);
    assert_eq!(
        (migrated.written, migrated.removed),
        (0, vec!["v1alpha1".to_owned()])
    );
    assert!(
        matches!(*seen, [MigrationProgress::ByCluster { .. }, MigrationProgress::ByCluster { elapsed }, ..] if elapsed.as_secs() >= 15),
        "{seen:?}"
    );
    assert_eq!(writes_of_notes(&cluster), 0);
    assert_eq!(world.stored_versions().await, json!(["v1"]));
    assert!(world.begun().await.is_null());
    assert!(migrations.are_gone().await);
}

#[tokio::test(start_paused = true)]
async fn this_program_writes_the_objects_if_the_cluster_does_not() {
    for (conditions, reason) in [
        (&[][..], "no status after 30 s"),
        (
            &[("Running", ""), ("Failed", "note a is refused")],
            "failed: note a is refused",
        ),
        (&[("Running", "")], "has not ended after 10 minutes"),
    ] {
        let cluster = without_controllers();
        let world = World::new(cluster.client().clone()).await;
        let migrations = Migrations::of(&world);
        world.store_older(["a", "b"].map(str::to_owned)).await;
        cluster.forget_requests();
        let ((migrated, seen), _) = tokio::join!(migrate(&cluster), migrations.end(conditions));
        let told = seen.iter().find_map(|one| match one {
            MigrationProgress::NotByCluster { reason } => Some(reason.as_str()),
            _ => None,
        });
        assert!(told.unwrap().contains(reason), "{seen:?}");
        assert_eq!((migrated.written, migrated.by_cluster), (2, false));
        assert_eq!(writes_of_notes(&cluster), 2);
        assert_eq!(world.stored_versions().await, json!(["v1"]));
        assert!(migrations.are_gone().await);
    }
}

#[tokio::test(start_paused = true)]
async fn without_the_permission_for_migrations_this_program_writes_the_objects() {
    let cluster = without_controllers();
    let world = World::new(cluster.client().clone()).await;
    world.store_older(["a".to_owned()]).await;
    for verb in ["get", "create"] {
        let denied = RequestMatcher::any()
            .verb(verb)
            .resource("storageversionmigrations");
        let refusal = Answer::status(403, "Forbidden").message("no permission");
        cluster.faults().answer(denied, refusal, 1);
        let (migrated, _) = migrate(&cluster).await;
        assert_eq!(
            (migrated.written, migrated.by_cluster),
            (1, false),
            "{verb}"
        );
        world.install(with_older(&world.printed, "v1alpha1")).await;
        world.label(["a".to_owned()]).await;
        world.install(with_older(&world.printed, "v1")).await;
    }
}

/// A run that was interrupted left its migration, and another program has one of its own.
#[tokio::test(start_paused = true)]
async fn a_migration_counts_only_for_the_definition_for_which_it_was_begun() {
    let cluster = without_controllers();
    let world = World::new(cluster.client().clone()).await;
    let migrations = Migrations::of(&world);
    world.store_older(["a".to_owned()]).await;
    let definition = json!(world.definitions.get(NAME).await.unwrap());
    let (uid, generation) = (
        &definition["metadata"]["uid"],
        &definition["metadata"]["generation"],
    );
    let now = format!("{}/v1.{generation}", uid.as_str().unwrap());
    let left = async |of: Option<&str>| {
        let migration = json!({
            "apiVersion": "storagemigration.k8s.io/v1", "kind": "StorageVersionMigration",
            "metadata": {"name": NAME, "annotations": of.map(|of| json!({"migration.pilothouse.dev/of": of}))},
            "spec": {"resource": {"group": "demo.example.com", "resource": "notes"}},
        });
        let migration = serde_json::from_value(migration).unwrap();
        let params = PostParams::default();
        migrations.api.create(&params, &migration).await.unwrap();
        migrations.end(&[("Succeeded", "")]).await;
    };
    // Somebody else's may be older than the definition.
    left(None).await;
    let (migrated, _) = migrate(&cluster).await;
    assert_eq!((migrated.written, migrated.by_cluster), (1, false));
    migrations
        .api
        .delete(NAME, &Default::default())
        .await
        .unwrap();

    let undo = Patch::Merge(json!({"status": {"storedVersions": ["v1alpha1", "v1"]}}));
    let undo = async || {
        let params = PatchParams::default();
        world
            .definitions
            .patch_status(NAME, &params, &undo)
            .await
            .unwrap();
    };
    undo().await;
    left(Some("another/v1.1")).await;
    let (migrated, seen) = migrate(&cluster).await;
    // It was replaced by one on which no controller works.
    assert_eq!(
        (migrated.written, migrated.by_cluster),
        (1, false),
        "{seen:?}"
    );

    undo().await;
    left(Some(&now)).await;
    let (migrated, _) = migrate(&cluster).await;
    assert!(migrated.by_cluster);
    assert!(migrations.are_gone().await);
}
