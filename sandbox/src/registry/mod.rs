//! Which kinds are served, and how.
//!
//! [`ServedKind`] describes one kind in one version: its names, scope, subresources, columns and schema. Built-in kinds come
//! from `builtin`, the others from CustomResourceDefinitions. A [`Registry`] is an immutable snapshot of all of them; a
//! changed CustomResourceDefinition makes a new snapshot, so a request sees one consistent set from beginning to end.

mod column;
mod group_resource;
#[expect(
    clippy::module_inception,
    reason = "the type and the concept share their name"
)]
mod registry;
mod scale;
mod schema_source;
mod served_kind;

pub use column::Column;
pub use group_resource::GroupResource;
pub use registry::Registry;
pub use scale::ScalePaths;
pub use schema_source::SchemaSource;
pub use served_kind::{Origin, ServedKind};
