//! Writes the stored objects of a kind again, in the version in which the API server stores it now.
//!
//! If a definition gets another stored version, the objects stay stored as they were until somebody writes them. The API server lists the
//! versions that may be stored in `status.storedVersions`, and refuses a definition without one of them. [`migrate`] writes each object
//! without a change, and then removes the other versions from that list.
//!
//! # Who writes
//! A cluster with the API `StorageVersionMigration` writes the objects itself, if its controller runs. Kubernetes has it since 1.35, and by
//! default since 1.37. `migrate` creates such an object, and waits for its end. If the cluster lacks the API or the caller the permission, if
//! no controller begins within 30 s, or if it fails, `migrate` writes the objects. It can then say which ones the server refuses.
//!
//! # How it resumes
//! Before the first write, `migrate` notes the resource version of the moment in an annotation of the definition
//! (`migration.pilothouse.dev/since`). An object with a later resource version was written after that, so it is stored in the right
//! version. A second run after an interruption skips it. The annotation is removed at the end.
//!
//! | file | holds |
//! | --- | --- |
//! | `migrate.rs` | [`migrate`], [`Migrated`], [`MigrationProgress`] and [`MigrationError`] |
//! | `stored_definition.rs` | the parts of the definition on the server that matter here |
//! | `by_cluster.rs` | lets the cluster write the objects |
//! | `objects.rs` | writes the objects of a kind again |

mod by_cluster;
mod migrate;
mod objects;
mod stored_definition;

pub use migrate::{Migrated, MigrationError, MigrationProgress, migrate};
