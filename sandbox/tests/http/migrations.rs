//! StorageVersionMigrations: what they write, and how they end.

use pilothouse_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::client::{Client, DEFINITIONS, MERGE, version};

pub(super) const MIGRATIONS: &str = "/apis/storagemigration.k8s.io/v1/storageversionmigrations";
const GADGETS: &str = "/apis/example.com/v1/namespaces/default/gadgets";

/// Whether a migration has ended, and its controller is done with it.
pub(super) fn is_over(migration: &Value) -> bool {
    condition(migration, "Running").is_some_and(|running| running["status"] == "False")
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|one| one["type"] == kind)
}

async fn client() -> Client {
    Client::of(Sandbox::builder().simulator(true).build().unwrap()).await
}

/// A kind that is served in two versions, and stored in the second one since it has an object of the first one.
async fn stored_in_two_versions(client: &Client) -> Value {
    let versions = |stored: &str| {
        ["v1", "v2"].map(|name| {
            json!({
                "name": name, "served": true, "storage": name == stored,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            })
        })
    };
    let names = json!({"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"});
    let definition = json!({
        "metadata": {"name": "gadgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions("v1")},
    });
    client.post(DEFINITIONS, &definition).await.object();
    client.until(GADGETS, |answer| answer.code == 200).await;
    let gadget =
        json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a"}});
    let gadget = client.post(GADGETS, &gadget).await.object();
    let patch = json!({"spec": {"versions": versions("v2")}});
    let path = format!("{DEFINITIONS}/gadgets.example.com");
    let changed = client.patch(MERGE, &path, &patch).await.object();
    assert_eq!(changed["status"]["storedVersions"], json!(["v1", "v2"]));
    gadget
}

async fn migrated(client: &Client, name: &str, resource: Value) -> Value {
    let migration = json!({"metadata": {"name": name}, "spec": {"resource": resource}});
    client.post(MIGRATIONS, &migration).await.object();
    let path = format!("{MIGRATIONS}/{name}");
    let over = client.until(&path, |answer| is_over(&answer.json));
    over.await.json
}

fn said(condition: Option<&Value>) -> Value {
    let condition = condition.expect("the condition is there");
    let fields = ["status", "reason", "message", "observedGeneration"];
    fields.map(|field| condition[field].clone()).into()
}

#[tokio::test(start_paused = true)]
async fn a_migration_writes_old_objects_and_leaves_one_stored_version() {
    let client = client().await;
    let gadget = stored_in_two_versions(&client).await;
    let resource = json!({"group": "example.com", "resource": "gadgets"});
    let migration = migrated(&client, "m", resource).await;
    assert_eq!(
        said(condition(&migration, "Running")),
        json!(["False", "MigrationCompleted", "Migration completed", null])
    );
    assert_eq!(
        said(condition(&migration, "Succeeded")),
        json!([
            "True",
            "StorageVersionMigrationSucceeded",
            "Migration completed",
            null
        ])
    );
    let written = client.get(&format!("{GADGETS}/a")).await.object();
    assert_ne!(version(&written), version(&gadget));
    let path = format!("{DEFINITIONS}/gadgets.example.com");
    let definition = client.get(&path).await.object();
    assert_eq!(definition["status"]["storedVersions"], json!(["v2"]));
    let message = "The migration has succeeded and the stored versions have been updated";
    assert_eq!(
        said(condition(&definition, "StorageMigrating")),
        json!(["False", "MigrationSucceeded", message, 2])
    );
}

#[tokio::test(start_paused = true)]
async fn a_migration_of_what_cannot_be_written_fails_at_once() {
    let client = client().await;
    let migration = migrated(&client, "m", json!({"resource": "componentstatuses"})).await;
    let message = "resource \"/v1, Resource=componentstatuses\" does not support discovery operations: [update patch list]";
    assert_eq!(
        said(condition(&migration, "Failed")),
        json!(["True", "StorageVersionMigrationFailed", message, null])
    );
}
