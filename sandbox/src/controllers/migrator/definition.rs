//! What a migration writes into the definition of a custom kind: the condition `StorageMigrating`, and at its end the only stored version.

use serde_json::Value;

use super::status::Condition;
use crate::api::Handle;
use crate::definitions::{definitions, items};
use crate::error::ApiError;
use crate::meta;
use crate::registry::GroupResource;

const STORAGE_MIGRATING: &str = "StorageMigrating";

/// Says that a migration of the kind runs.
pub(super) async fn begin(
    handle: &Handle,
    resource: &GroupResource,
    migration: &str,
) -> Result<(), ApiError> {
    let message = format!("Migration {migration} is running");
    write(handle, resource, |definition, now| {
        set(definition, true, "MigrationRunning", &message, now);
    })
    .await
}

/// Says that the migration has ended. Then all objects have the version in which the kind is stored now, unless the
/// definition has changed meanwhile.
pub(super) async fn end(
    handle: &Handle,
    resource: &GroupResource,
    has_succeeded: bool,
) -> Result<(), ApiError> {
    write(handle, resource, |definition, now| {
        let generation = meta::generation(definition);
        let migrating = items(definition, "/status/conditions")
            .iter()
            .find(|condition| condition["type"] == STORAGE_MIGRATING);
        let is_unchanged = generation.is_some()
            && migrating.and_then(|one| one["observedGeneration"].as_i64()) == generation;
        let (reason, message) = match (has_succeeded, is_unchanged) {
            (false, _) => ("MigrationFailed", "The migration has failed"),
            (true, true) => (
                "MigrationSucceeded",
                "The migration has succeeded and the stored versions have been updated",
            ),
            (true, false) => (
                "MigrationSucceeded",
                "The migration has succeeded but the stored versions have not been updated due to a generation mismatch",
            ),
        };
        set(definition, false, reason, message, now);
        let versions = items(definition, "/spec/versions").iter();
        let stored: Vec<Value> = versions
            .filter(|version| version["storage"] == true)
            .map(|version| version["name"].clone())
            .collect();
        // A real controller does so after a failure, too.
        if is_unchanged {
            definition["status"]["storedVersions"] = stored.into();
        }
    })
    .await
}

fn set(definition: &mut Value, is_true: bool, reason: &str, message: &str, now: &str) {
    let condition = Condition {
        kind: STORAGE_MIGRATING,
        is_true,
        reason,
        message,
        generation: meta::generation(definition),
    };
    condition.set(definition, now);
}

/// Changes the status of the definition of a kind. A built-in kind has none.
async fn write(
    handle: &Handle,
    resource: &GroupResource,
    change: impl Fn(&mut Value, &str) + Send,
) -> Result<(), ApiError> {
    let now = handle.core().clock.timestamp();
    let change = |definition: &mut Value| change(definition, &now);
    let name = resource.to_string();
    let resource = definitions();
    let written = handle.update_and_wait(&resource, None, &name, "status", change);
    match written.await {
        Err(error) if error.reason == "NotFound" => Ok(()),
        written => written.map(drop),
    }
}
