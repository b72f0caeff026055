//! The conditions of a migration.

use serde_json::Value;

use super::migrations;
use crate::api::Handle;
use crate::definitions::conditions;
use crate::error::ApiError;
use crate::meta;

pub(super) const RUNNING: &str = "Running";
pub(super) const SUCCEEDED: &str = "Succeeded";
pub(super) const FAILED: &str = "Failed";

pub(super) struct Condition<'a> {
    pub(super) kind: &'a str,
    pub(super) is_true: bool,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
    /// The generation of the object that it speaks of.
    pub(super) generation: Option<i64>,
}

impl Condition<'_> {
    pub(super) fn set(&self, object: &mut Value, now: &str) {
        conditions::set(
            object,
            self.kind,
            self.is_true,
            self.reason,
            self.message,
            now,
        );
        if let Some(generation) = self.generation {
            let all = object["status"]["conditions"].as_array_mut();
            let mut all = all.into_iter().flatten();
            if let Some(condition) = all.find(|one| one["type"] == self.kind) {
                condition["observedGeneration"] = generation.into();
            }
        }
    }
}

pub(super) fn running(message: &str) -> Condition<'_> {
    Condition {
        kind: RUNNING,
        is_true: true,
        reason: "MigrationRunning",
        message,
        generation: None,
    }
}

pub(super) fn failed(message: &str) -> Condition<'_> {
    Condition {
        kind: FAILED,
        reason: "StorageVersionMigrationFailed",
        ..running(message)
    }
}

pub(super) fn succeeded() -> Condition<'static> {
    Condition {
        kind: SUCCEEDED,
        reason: "StorageVersionMigrationSucceeded",
        ..running("Migration completed")
    }
}

pub(super) fn completed(generation: i64) -> Condition<'static> {
    Condition {
        is_true: false,
        reason: "MigrationCompleted",
        generation: Some(generation),
        ..running("Migration completed")
    }
}

/// How far a migration is: objects that are not written again yet, and all.
#[derive(Clone, Copy)]
pub(super) struct Progress {
    pub(super) left: usize,
    pub(super) all: usize,
}

impl Progress {
    /// The message of the condition `Running`, with the failure after which a write is tried again.
    pub(super) fn message(self, failure: Option<&ApiError>) -> String {
        let Self { left, all } = self;
        let counted = match (left, all) {
            (_, 0) => String::new(),
            (0, all) => format!(", {all} objects verified migrated"),
            (left, all) => format!(", {left}/{all} objects not yet migrated"),
        };
        let failure = failure.map(|failure| format!("; transient error: {}", failure.message));
        format!(
            "The migration is running{counted}{}",
            failure.unwrap_or_default()
        )
    }
}

pub(super) fn holds(migration: &Value, kind: &str) -> bool {
    conditions::is_true(migration, kind)
}

pub(super) fn has_ended(migration: &Value) -> bool {
    holds(migration, SUCCEEDED) || holds(migration, FAILED)
}

/// Sets these conditions, and the resource version of the beginning.
pub(super) async fn report(
    handle: &Handle,
    migration: &Value,
    conditions: &[Condition<'_>],
    version: Option<&str>,
) -> Result<(), ApiError> {
    let uid = meta::uid(migration);
    let now = handle.core().clock.timestamp();
    let change = |object: &mut Value| {
        // Another object may have the name by now.
        if meta::uid(object) != uid {
            return;
        }
        if let Some(version) = version {
            object["status"]["resourceVersion"] = version.into();
        }
        for condition in conditions {
            condition.set(object, &now);
        }
    };
    let name = meta::name(migration);
    let resource = migrations();
    let written = handle.update_and_wait(&resource, None, name, "status", change);
    written.await.map(drop)
}
