use std::time::Duration;

use super::{
    by_cluster,
    objects::{self, Written},
    stored_definition::StoredDefinition,
};
use crate::client::{Client, Error};

/// What [`migrate`] has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migrated {
    /// The version in which all objects are stored now.
    pub version: String,
    /// The other versions in which objects were perhaps stored. If there are none, there was nothing to do.
    pub removed: Vec<String>,
    /// The number of objects that were written.
    pub written: usize,
    /// The number of objects that somebody has written after the migration began: an earlier run, or another client.
    pub skipped: usize,
    /// Whether the cluster has written the objects with its `StorageVersionMigration`. The numbers are 0 then.
    pub by_cluster: bool,
}

/// How far a migration is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MigrationProgress {
    /// This program writes the objects.
    Objects {
        /// The number of objects that were looked at.
        done: usize,
        /// The number of the others, if the server says it.
        remaining: Option<u64>,
    },
    /// The cluster writes the objects. It does not tell how many.
    ByCluster {
        /// The time since it was asked to.
        elapsed: Duration,
    },
    /// The cluster was asked to write the objects and has not done it, so this program writes the rest.
    NotByCluster {
        /// Why.
        reason: String,
    },
}

/// Why the stored objects of a kind are not migrated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrationError {
    /// A request failed.
    #[error("{0}: run the migration again, it goes on where it stopped")]
    Client(#[from] Error),
    /// The server does not have the definition.
    #[error("CustomResourceDefinition {name} is not installed, so no objects of it are stored")]
    #[non_exhaustive]
    NotInstalled {
        /// Name of the definition.
        name: String,
    },
    /// No version of the kind is served, so its objects cannot be read.
    #[error(
        "CustomResourceDefinition {name} serves no version, so its objects cannot be written: serve one"
    )]
    #[non_exhaustive]
    NotServed {
        /// Name of the definition.
        name: String,
    },
    /// Meanwhile the definition was changed, and perhaps another version was stored.
    #[error("CustomResourceDefinition {name} was changed meanwhile: run the migration again")]
    #[non_exhaustive]
    Changed {
        /// Name of the definition.
        name: String,
    },
    /// The server refuses to write some objects. All others are written.
    #[error(
        "{count} objects of {name} may still be stored in an old version, because the server refuses to write them: remove the \
         cause, and run the migration again\n  {}", .refusals.join("\n  ")
    )]
    #[non_exhaustive]
    Refused {
        /// Name of the definition.
        name: String,
        /// The number of objects.
        count: usize,
        /// The first of them, with the reasons.
        refusals: Vec<String>,
    },
}

/// Writes each object of the definition `name` again, so that all are stored in the stored version of the definition. Then it removes all
/// other versions from `status.storedVersions`, so that a later definition may leave them out. No object changes, apart from its resource
/// version.
///
/// The cluster writes the objects if it has a `StorageVersionMigration` whose controller works. Otherwise this program does.
///
/// Run it a while after the definition was installed, when every API server of the cluster uses it. If it is interrupted, run it again: it
/// skips what is written. `progress` is called after each page of 500 objects, or every 15 s while the cluster works.
///
/// It needs these permissions: get and patch of the definition, patch of `customresourcedefinitions/status`, list of the objects. Besides get, list, watch,
/// create and delete of `storageversionmigrations`, or patch of the objects.
///
/// # Errors
/// * [`MigrationError::Client`]: a request fails.
/// * [`MigrationError::NotInstalled`], [`MigrationError::NotServed`]: there is nothing that could be written.
/// * [`MigrationError::Changed`]: the definition was changed meanwhile.
/// * [`MigrationError::Refused`]: the server refuses some objects, for example because a webhook does. `status.storedVersions` stays as it is.
pub async fn migrate(
    client: &Client,
    name: &str,
    field_manager: &str,
    mut progress: impl FnMut(MigrationProgress) + Send,
) -> Result<Migrated, MigrationError> {
    let mut definition = StoredDefinition::get(client, name, field_manager).await?;
    let mut removed = definition.stored_versions();
    let version = definition.stored_version().to_owned();
    removed.retain(|one| *one != version);
    if removed.is_empty() {
        definition.remove_note().await?;
        return Ok(Migrated {
            version,
            ..Migrated::default()
        });
    }
    let kind = definition.kind()?;
    let since = match definition.since() {
        Some(since) => since.to_owned(),
        None => {
            let since = objects::version_now(client, &kind).await?;
            definition.note_start(&since).await?;
            since
        }
    };
    if by_cluster::rewrite(client, &definition, &kind, field_manager, &mut progress).await? {
        definition.note_end().await?;
        return Ok(Migrated {
            version,
            removed,
            by_cluster: true,
            ..Migrated::default()
        });
    }
    let done = objects::rewrite(client, &kind, &since, field_manager, &mut progress).await?;
    let Written {
        written,
        skipped,
        refused,
        refusals,
    } = done;
    if refused > 0 {
        return Err(MigrationError::Refused {
            name: name.to_owned(),
            count: refused,
            refusals,
        });
    }
    definition.note_end().await?;
    Ok(Migrated {
        version,
        removed,
        written,
        skipped,
        by_cluster: false,
    })
}
