//! Writes the stored objects of a kind again, in the version in which the API server stores it now.
//!
//! If a definition gets another stored version, the objects stay stored as they were until somebody writes them. The API server lists the
//! versions that may be stored in `status.storedVersions`, and refuses a definition without one of them. [`migrate`] writes each object
//! without a change, and then removes the other versions from that list.
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
//! | `objects.rs` | writes the objects of a kind again |

mod migrate;
mod objects;
mod stored_definition;

pub use migrate::{Migrated, MigrationError, MigrationProgress, migrate};
