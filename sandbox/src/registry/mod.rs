//! The kinds that are served.
//!
//! [`ServedKind`] describes one kind in one version: its names, scope, subresources, columns and schema. Built-in kinds come from `builtin`, the others
//! from CustomResourceDefinitions. A [`Registry`] is an immutable snapshot of all of them. A changed
//! CustomResourceDefinition makes a new snapshot, so a request sees one consistent set from beginning to end.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `registry.rs` | [`Registry`] |
//! | `served_kind.rs` | [`ServedKind`], with the paths of its scale subresource and the columns of its table |
//! | `schema_source.rs` | the schema of a kind, read when it is first used |
//! | `group_resource.rs` | [`GroupResource`], the name of a resource |

mod group_resource;
mod registry;
mod schema_source;
mod served_kind;

pub(crate) use group_resource::GroupResource;
pub(crate) use registry::Registry;
pub(crate) use schema_source::SchemaSource;
pub(crate) use served_kind::{Column, Converter, Origin, ScalePaths, ServedKind};
