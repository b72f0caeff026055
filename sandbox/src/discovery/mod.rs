//! Discovery: which groups, versions and resources are served, in the forms clients ask for.
//!
//! Every function is pure over a [`Registry`](crate::registry::Registry). A path maps to a function:
//!
//! | path | function |
//! | --- | --- |
//! | `/api` | [`api_versions`], or [`aggregated`] of the core group |
//! | `/apis` | [`group_list`], or [`aggregated`] of all other groups |
//! | `/apis/<group>` | [`group`] |
//! | `/api/v1`, `/apis/<group>/<version>` | [`resource_list`] |
//! | `/version` | [`server_version`] |
//!
//! Clients that accept [`AGGREGATED`] get the second form.

mod aggregated;
mod groups;
mod resource_list;
mod server_version;
mod subresources;
mod version_order;

pub use aggregated::{AGGREGATED, aggregated, wants_aggregated};
pub use groups::{api_versions, group, group_list};
pub use resource_list::resource_list;
pub use server_version::server_version;
pub(crate) use version_order::{group_names, versions};
