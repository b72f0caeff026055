//! Writes the objects of a kind again, in the version in which they are stored now: what a StorageVersionMigration asks for.
//!
//! It follows the controllers `migration-runner-controller` and `storage-version-migrator-controller` of Kubernetes 1.37. For each kind one migration runs
//! at a time, the oldest first. Each object that was written before the migration began is written without a change. Then
//! the definition of a custom kind lists only the version in which the kind is stored.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `status.rs` | the conditions of a migration |
//! | `definition.rs` | what a migration writes into the definition of a custom kind |

mod definition;
mod status;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;

use self::status::{Progress, RUNNING, SUCCEEDED, completed, has_ended, holds, report};
use super::feed::Feed;
use super::retries::Retries;
use crate::api::Handle;
use crate::core::Core;
use crate::error::ApiError;
use crate::meta;
use crate::registry::GroupResource;

/// How long a kind may be unknown until its migration fails.
const UNKNOWN_KIND_TIMEOUT: Duration = Duration::from_secs(60);

/// What a kind must allow so that its objects can be migrated.
const NEEDED_VERBS: [&str; 3] = ["update", "patch", "list"];

pub(crate) fn migrations() -> GroupResource {
    GroupResource::new("storagemigration.k8s.io", "storageversionmigrations")
}

/// Works until the future is dropped.
pub(crate) async fn migrate(core: Arc<Core>) {
    let handle = Handle::new(&core, "storage-version-migrator-controller");
    let mut feed = Feed::new(&handle, Some(vec![migrations()]));
    let mut retries = Retries::default();
    loop {
        for migration in handle.list(&migrations(), None) {
            let name = meta::name(&migration);
            match step(&handle, &migration).await {
                Err(error) => {
                    tracing::debug!(name, %error, "the migration cannot go on; the sandbox tries again later");
                    retries.add(name, Instant::now());
                }
                Ok(()) => retries.forget(name),
            }
        }
        let wake = retries.wait();
        // Each branch may be cancelled: all migrations are looked at in any case.
        tokio::select! {
            biased;
            _ = feed.next() => {}
            () = wake => {
                retries.take_due(Instant::now());
            }
        }
    }
}

/// Begins a migration, does its work or ends it. The change of its status is the reason for the next step.
async fn step(handle: &Handle, migration: &Value) -> Result<(), ApiError> {
    let resource = resource_of(migration);
    match (has_ended(migration), holds(migration, RUNNING)) {
        (true, false) => Ok(()),
        (true, true) => {
            definition::end(handle, &resource, holds(migration, SUCCEEDED)).await?;
            let generation = meta::generation(migration).unwrap_or_default();
            report(handle, migration, &[completed(generation)], None).await
        }
        (false, false) if is_next(handle, migration) => {
            definition::begin(handle, &resource, meta::name(migration)).await?;
            let message = "The migration is running";
            report(handle, migration, &[status::running(message)], None).await
        }
        (false, false) => Ok(()),
        (false, true) => write_all(handle, migration, &resource).await,
    }
}

fn resource_of(migration: &Value) -> GroupResource {
    let asked = &migration["spec"]["resource"];
    let part = |name: &str| asked[name].as_str().unwrap_or_default();
    GroupResource::new(part("group"), part("resource"))
}

/// Whether no other migration of the kind runs, and none that waits is older.
fn is_next(handle: &Handle, migration: &Value) -> bool {
    let age = |migration: &Value| {
        let created = meta::text(migration, "creationTimestamp").to_owned();
        (created, meta::name(migration).to_owned())
    };
    let resource = resource_of(migration);
    let all = handle.list(&migrations(), None);
    !all.iter()
        .filter(|other| !has_ended(other) && resource_of(other) == resource)
        .any(|other| holds(other, RUNNING) || age(other) < age(migration))
}

/// Writes all objects that were written before the migration began.
async fn write_all(
    handle: &Handle,
    migration: &Value,
    resource: &GroupResource,
) -> Result<(), ApiError> {
    if let Err(why) = check(handle, migration, resource)? {
        return report(handle, migration, &[status::failed(&why)], None).await;
    }
    let before = &migration["status"]["resourceVersion"];
    let Some(before) = before
        .as_str()
        .and_then(|before| before.parse::<u64>().ok())
    else {
        let version = handle.version().to_string();
        return report(handle, migration, &[], Some(&version)).await;
    };
    let all = handle.list(resource, None);
    let is_older = |object: &&Arc<Value>| {
        let version = meta::resource_version(object).parse::<u64>();
        version.is_ok_and(|version| version <= before)
    };
    let older: Vec<_> = all.iter().filter(is_older).collect();
    let mut progress = Progress {
        left: older.len(),
        all: all.len(),
    };
    for object in older {
        match write(handle, resource, object).await {
            Ok(()) => {}
            // Somebody else has written or deleted it.
            Err(error) if ["NotFound", "Conflict"].contains(&error.reason) => {}
            Err(error) if error.code >= 500 || error.code == 429 => {
                let message = progress.message(Some(&error));
                report(handle, migration, &[status::running(&message)], None).await?;
                return Err(error);
            }
            Err(error) => {
                let why = format!(
                    "{}/{} not yet migrated. migration encountered unhandled error: {}",
                    progress.left, progress.all, error.message
                );
                let running = progress.message(None);
                let ended = [status::running(&running), status::failed(&why)];
                return report(handle, migration, &ended, None).await;
            }
        }
        progress.left -= 1;
        // There may be many objects, and without webhooks nothing else waits here.
        tokio::task::yield_now().await;
    }
    let message = progress.message(None);
    let ended = [status::running(&message), status::succeeded()];
    report(handle, migration, &ended, None).await
}

/// Writes an object without a change.
async fn write(handle: &Handle, resource: &GroupResource, object: &Value) -> Result<(), ApiError> {
    let namespace = Some(meta::text(object, "namespace")).filter(|name| !name.is_empty());
    let version = &object["metadata"]["resourceVersion"];
    let unchanged = |new: &mut Value| new["metadata"]["resourceVersion"] = version.clone();
    let written = handle.update_and_wait(resource, namespace, meta::name(object), "", unchanged);
    written.await.map(drop)
}

/// Whether the objects of the kind can be migrated, or why the migration fails.
///
/// # Errors
/// The kind is unknown, and may become known.
fn check(
    handle: &Handle,
    migration: &Value,
    resource: &GroupResource,
) -> Result<Result<(), String>, ApiError> {
    let registry = handle.core().registry();
    let mut kinds = registry.kinds().iter();
    let known = kinds.find(|kind| kind.group == resource.group && kind.plural == resource.resource);
    if let Some(kind) = registry
        .storage(&resource.group, &resource.resource)
        .or(known)
    {
        let is_possible = kind.storage && NEEDED_VERBS.iter().all(|verb| kind.allows(verb));
        return Ok(match is_possible {
            true => Ok(()),
            false => Err(format!(
                "resource \"{}/{}, Resource={}\" does not support discovery operations: [{}]",
                kind.group,
                kind.version,
                kind.plural,
                NEEDED_VERBS.join(" ")
            )),
        });
    }
    let created: Option<Timestamp> = meta::text(migration, "creationTimestamp").parse().ok();
    let age = created.map(|created| handle.core().clock.now().duration_since(created));
    let age = age.and_then(|age| Duration::try_from(age).ok());
    match age.is_some_and(|age| age < UNKNOWN_KIND_TIMEOUT) {
        true => Err(ApiError::not_found(resource, "")),
        false => Ok(Err("resource does not exist in discovery".into())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Sandbox;

    fn ask(handle: &Handle, name: &str, resource: &Value) {
        let migration = json!({"metadata": {"name": name}, "spec": {"resource": resource}});
        handle.create(&migrations(), migration).unwrap();
    }

    async fn status_after(handle: &Handle, seconds: u64) -> Value {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        handle.get(&migrations(), None, "m").unwrap()["status"].clone()
    }

    fn types(status: &Value) -> Vec<&str> {
        let conditions = status["conditions"].as_array().unwrap().iter();
        conditions
            .map(|one| one["type"].as_str().unwrap())
            .collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_migration_of_a_served_kind_succeeds() {
        let sandbox = Sandbox::builder().seed(1).simulator(true).build().unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        ask(&handle, "m", &json!({"resource": "namespaces"}));
        let status = status_after(&handle, 1).await;
        assert_eq!(types(&status), ["Running", "Succeeded"]);
        assert!(status["resourceVersion"].is_string());
        assert_eq!(status["conditions"][0]["status"], "False");
    }

    #[tokio::test(start_paused = true)]
    async fn a_migration_of_an_unknown_kind_fails_after_a_minute() {
        let sandbox = Sandbox::builder().seed(1).simulator(true).build().unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        ask(
            &handle,
            "m",
            &json!({"group": "example.com", "resource": "gadgets"}),
        );
        assert_eq!(types(&status_after(&handle, 30).await), ["Running"]);
        assert_eq!(
            types(&status_after(&handle, 60).await),
            ["Running", "Failed"]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_migrations_of_a_kind_run_one_after_the_other() {
        let sandbox = Sandbox::builder().seed(1).simulator(true).build().unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        // All are there before the first one begins, and were created in the same second.
        for name in ["c", "a", "b"] {
            ask(&handle, name, &json!({"resource": "namespaces"}));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let [a, b, c] = ["a", "b", "c"].map(|name| {
            let migration = handle.get(&migrations(), None, name).unwrap();
            assert!(holds(&migration, SUCCEEDED), "{migration}");
            let begun = migration["status"]["resourceVersion"].as_str().unwrap();
            let ended = meta::resource_version(&migration);
            [begun, ended].map(|version| version.parse::<u64>().unwrap())
        });
        let versions = [a, b, c].concat();
        assert!(versions.is_sorted(), "{versions:?}");
    }
}
