use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::{MigrationProgress, stored_definition::StoredDefinition};
use crate::{
    client::{Api, Client, DeleteParams, Error, PostParams},
    resource::{ApiResource, DynamicObject, Object},
};

const GROUP: &str = "storagemigration.k8s.io";
const PLURAL: &str = "storageversionmigrations";
/// The versions whose objects name the group and the plural of a kind, best first. `v1alpha1` had another form.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// The annotation of a migration that this module has begun: the UID of the definition, its stored version and its generation.
const OF: &str = "migration.pilothouse.dev/of";

/// After this time without a sign, the controller of the cluster does not run. It begins at once, except if it starts itself.
const UNTIL_BEGUN: Duration = Duration::from_secs(30);
/// After this time, this program writes the objects, too. Both may do so, because neither writes an object that the other has written.
const UNTIL_DONE: Duration = Duration::from_secs(600);
/// How often the caller hears that the cluster works.
const TICK: Duration = Duration::from_secs(15);

/// Lets the cluster write the objects of a kind again, with a `StorageVersionMigration`. Returns false if the cluster does not do it. An
/// earlier migration for the same state of the definition counts: every object was written since.
///
/// # Errors
/// A request fails, for another reason than a missing permission.
pub(super) async fn rewrite(
    client: &Client,
    definition: &StoredDefinition<'_>,
    kind: &ApiResource,
    field_manager: &str,
    progress: &mut (dyn FnMut(MigrationProgress) + Send),
) -> Result<bool, Error> {
    let Some(resource) = served(client).await? else {
        return Ok(false);
    };
    let api = Api::<DynamicObject>::of(client, resource.clone(), None);
    let Some(uid) = begin(&api, &resource, definition, kind, field_manager).await? else {
        return Ok(false);
    };
    let ended = follow(&api, definition.name(), &uid, progress).await?;
    // Its state says nothing for a later definition, and a controller that starts late must not begin.
    let params = DeleteParams::default().uid(uid);
    match api.delete(definition.name(), &params).await {
        Ok(_) => {}
        Err(error) if error.is_forbidden() || error.is_not_found() || error.is_conflict() => {}
        Err(error) => return Err(error),
    }
    if let Err(reason) = &ended {
        progress(MigrationProgress::NotByCluster {
            reason: reason.clone(),
        });
    }
    Ok(ended.is_ok())
}

/// The kind `StorageVersionMigration`, if the server has it.
async fn served(client: &Client) -> Result<Option<ApiResource>, Error> {
    let group = match client.discover_group(GROUP).await {
        Ok(Some(group)) => group,
        Ok(None) => return Ok(None),
        Err(error) if error.is_forbidden() => return Ok(None),
        Err(error) => return Err(error),
    };
    let has_kind = |version: &&str| {
        let version = group.version(version);
        version.is_some_and(|version| {
            version
                .kinds()
                .iter()
                .any(|kind| kind.resource.plural == PLURAL)
        })
    };
    let version = VERSIONS.into_iter().find(has_kind);
    Ok(version.map(|version| ApiResource {
        group: GROUP.into(),
        version: version.into(),
        kind: "StorageVersionMigration".into(),
        plural: PLURAL.into(),
        namespaced: false,
    }))
}

/// Creates the migration, or finds the one of an earlier run. Returns its UID, or `None` if it may not be created.
async fn begin(
    api: &Api<DynamicObject>,
    resource: &ApiResource,
    definition: &StoredDefinition<'_>,
    kind: &ApiResource,
    field_manager: &str,
) -> Result<Option<String>, Error> {
    let name = definition.name();
    let of = format!("{}/{}", definition.uid(), definition.state());
    let uid = |migration: &DynamicObject| migration.uid().unwrap_or_default().to_owned();
    let found = match api.get_opt(name).await {
        Err(error) if error.is_forbidden() => return Ok(None),
        found => found?,
    };
    if let Some(found) = found {
        match json!(found)["metadata"]["annotations"][OF].as_str() {
            Some(other) if other == of => return Ok(Some(uid(&found))),
            // It is of an earlier definition.
            Some(_) => {
                let params = DeleteParams::default().uid(uid(&found));
                match api.delete(name, &params).await {
                    Ok(_) => api.wait_until_deleted(name, Some(&uid(&found))).await?,
                    Err(error) if error.is_forbidden() => return Ok(None),
                    Err(error) if error.is_not_found() => {}
                    Err(error) => return Err(error),
                }
            }
            // Somebody else has begun it, perhaps before the definition was changed.
            None => return Ok(None),
        }
    }
    let migration: DynamicObject = match serde_json::from_value(json!({
        "apiVersion": format!("{GROUP}/{}", resource.version),
        "kind": "StorageVersionMigration",
        "metadata": {
            "name": name,
            "annotations": {OF: of},
            // It goes with the definition, if this program ends before it has deleted it.
            "ownerReferences": [{
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "name": name, "uid": definition.uid(),
            }],
        },
        "spec": {"resource": {"group": kind.group, "resource": kind.plural}},
    })) {
        Ok(migration) => migration,
        Err(_) => return Ok(None),
    };
    let params = PostParams::default().field_manager(field_manager);
    match api.create(&params, &migration).await {
        Ok(created) => Ok(Some(uid(&created))),
        // An admission plugin may refuse it. This program can do without it.
        Err(error) if error.is_forbidden() || error.is_invalid() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits until the cluster has written all objects. The inner error is why it has not.
async fn follow(
    api: &Api<DynamicObject>,
    name: &str,
    uid: &str,
    progress: &mut (dyn FnMut(MigrationProgress) + Send),
) -> Result<Result<(), String>, Error> {
    let begin = Instant::now();
    let is_ours = |migration: &DynamicObject| migration.uid() == Some(uid);
    let has_begun = |migration: Option<&DynamicObject>| {
        migration.is_none_or(|one| !is_ours(one) || has_status(one))
    };
    match timeout_at(begin + UNTIL_BEGUN, api.wait_until(name, has_begun)).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) if error.is_forbidden() => return Ok(Err(error.to_string())),
        Ok(Err(error)) => return Err(error),
        Err(_) => {
            return Ok(Err(format!(
                "its StorageVersionMigration has no status after {} s, so its controller does not run",
                UNTIL_BEGUN.as_secs()
            )));
        }
    }
    let mut tick = begin;
    loop {
        progress(MigrationProgress::ByCluster {
            elapsed: begin.elapsed(),
        });
        tick += TICK;
        let has_ended = |migration: Option<&DynamicObject>| {
            migration.is_none_or(|one| {
                !is_ours(one)
                    || condition(one, "Succeeded").is_some()
                    || condition(one, "Failed").is_some()
            })
        };
        let ended = match timeout_at(tick, api.wait_until(name, has_ended)).await {
            Ok(ended) => ended?,
            Err(_) if begin.elapsed() < UNTIL_DONE => continue,
            Err(_) => {
                return Ok(Err(format!(
                    "its StorageVersionMigration has not ended after {} minutes",
                    UNTIL_DONE.as_secs() / 60
                )));
            }
        };
        let Some(ended) = ended.filter(is_ours) else {
            return Ok(Err("somebody deleted its StorageVersionMigration".into()));
        };
        return Ok(match condition(&ended, "Failed") {
            Some(message) => Err(format!("its StorageVersionMigration failed: {message}")),
            None => Ok(()),
        });
    }
}

fn has_status(migration: &DynamicObject) -> bool {
    let status = &json!(migration)["status"];
    status["conditions"]
        .as_array()
        .is_some_and(|all| !all.is_empty())
        || status["resourceVersion"].is_string()
}

/// The message of a condition that is true.
fn condition(migration: &DynamicObject, name: &str) -> Option<String> {
    let migration = json!(migration);
    let conditions: &Vec<Value> = migration["status"]["conditions"].as_array()?;
    let mut conditions = conditions.iter();
    let found = conditions.find(|one| one["type"] == name && one["status"] == "True")?;
    Some(found["message"].as_str().unwrap_or_default().to_owned())
}
