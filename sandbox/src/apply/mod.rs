//! Server-side apply: which manager owns which field, and how a write changes that.
//!
//! The module has two pure functions. [`apply`] merges the configuration of a manager into the live object. It removes
//! fields that the manager applied before and leaves out now, unless another manager owns them. A field that another
//! manager owns with another value is a conflict, unless the caller forces it. [`update`] records every other write:
//! changed fields belong to the writer, removed fields belong to no manager.
//!
//! Lists and maps are merged as the schema says (`x-kubernetes-list-type`, `x-kubernetes-map-type`). Without a schema,
//! lists are atomic and maps are granular. A kind may be served in two versions with other fields ([`OtherVersion`]): what a manager owns is compared in the
//! version that the manager used. Managers that used a version of the same form are treated as if they had used this one.
//!
//! The caller passes the time as a value, and keeps the live object consistent between the read and the write.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `apply_patch.rs` | [`apply`] |
//! | `update.rs` | [`update`] |
//! | `options.rs` | the manager, version and time of a write |
//! | `ownership.rs` | what a write gives to its manager and takes from the others |
//! | `managers.rs`, `manager.rs` | `managedFields` and its entries |
//! | `field_set.rs`, `path_element.rs` | `fieldsV1` and the steps of its paths |
//! | `typed.rs` | a place in an object with its schema |
//! | `fields.rs` | the fields of a value |
//! | `compare.rs` | the difference of two values |
//! | `merge.rs`, `remove.rs` | merge a configuration into a value; remove fields from it |
//! | `unowned.rs` | merges a configuration without owners, for policies |
//! | `check.rs` | checks a configuration against the schema |
//! | `reset.rs` | the fields that no manager can own |
//! | `updater_limit.rs` | limits the number of managers |
//! | `last_applied.rs` | the annotation of client-side `kubectl apply` |
//! | `schema_change.rs` | adapts ownership to a changed schema |
//! | `conflict.rs` | the errors |
//! | `versions.rs` | the versions of a kind and of its managers |
//! | `value_order.rs` | order and equality of JSON values |

mod apply_patch;
mod check;
mod compare;
mod conflict;
mod field_set;
mod fields;
#[cfg(test)]
mod kubectl_test;
mod last_applied;
mod manager;
mod managers;
mod merge;
#[cfg(test)]
mod model;
mod options;
mod ownership;
mod path_element;
#[cfg(test)]
mod properties;
mod remove;
mod reset;
mod schema_change;
#[cfg(test)]
mod tests;
mod typed;
mod unowned;
mod update;
mod updater_limit;
mod value_order;
mod versions;

pub use apply_patch::apply;
pub(crate) use apply_patch::full_version;
pub(crate) use conflict::ApplyError;
pub use field_set::FieldSet;
pub use managers::Managers;
pub use options::ApplyOptions;
pub use path_element::PathElement;
pub(crate) use unowned::merge_unowned;
pub use update::update;
pub use versions::OtherVersion;
