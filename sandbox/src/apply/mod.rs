//! Server-side apply: which manager owns which field, and what a write does to that.
//!
//! Two pure functions. [`apply`] merges the configuration a manager wants into the live object: fields the manager
//! applied before and left out now go away unless somebody else owns them, and a field that another manager owns with
//! another value is a conflict unless forced. [`update`] is for every other write: what changed belongs to the writer,
//! what went away belongs to nobody.
//!
//! Lists and maps are merged as the schema says (`x-kubernetes-list-type`, `x-kubernetes-map-type`); where there is no
//! schema, lists are atomic and maps are granular. Managers that used another API version are taken as if they had used
//! this one: the sandbox serves one form of each object.
//!
//! Time comes in as a value, and the caller keeps the live object consistent between read and write.

mod apply_patch;
mod cap;
mod check;
mod compare;
mod conflict;
mod field_set;
mod fields;
mod last_applied;
mod manager;
mod managers;
mod merge;
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
mod update;
mod value_order;

pub(crate) use apply_patch::full_version;
pub use apply_patch::{Applied, apply};
pub use conflict::{ApplyError, Conflict, Conflicts};
pub use field_set::{FieldSet, FieldSetError};
pub use manager::{Manager, Operation};
pub use managers::{Managers, ManagersError};
pub use options::ApplyOptions;
pub use path_element::PathElement;
pub use update::update;
