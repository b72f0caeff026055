//! Discovery: the groups, versions and resources that are served, in the formats that clients ask for.
//!
//! Every function is pure over a [`Registry`](crate::registry::Registry). A path maps to a function:
//!
//! | path | function | file |
//! | --- | --- | --- |
//! | `/` | [`paths`] | `groups.rs` |
//! | `/api` | [`api_versions`], or [`aggregated`] with the core group | `groups.rs`, `aggregated.rs` |
//! | `/apis` | [`group_list`], or [`aggregated`] with all other groups | `groups.rs`, `aggregated.rs` |
//! | `/apis/<group>` | [`group`] | `groups.rs` |
//! | `/api/v1`, `/apis/<group>/<version>` | [`resource_list`] | `resource_list.rs` |
//! | `/version` | [`server_version`] | `server_version.rs` |
//!
//! Clients that accept [`AGGREGATED`] get the second form. `subresources.rs` lists the subresources of a kind, and
//! `version_order.rs` sorts groups and versions.

mod aggregated;
mod groups;
mod resource_list;
mod server_version;
mod subresources;
pub(crate) mod version_order;

pub(crate) use aggregated::{AGGREGATED, aggregated, wants_aggregated};
pub(crate) use groups::{api_versions, group, group_list, paths};
pub(crate) use resource_list::resource_list;
pub(crate) use server_version::server_version;
pub(crate) use version_order::{group_names, versions};
