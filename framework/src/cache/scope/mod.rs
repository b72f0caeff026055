//! Which objects of a kind a cache holds.
//!
//! | file | what it contains |
//! | --- | --- |
//! | `informer_scope.rs` | [`InformerScope`]: namespaces, label selector and field selector |
//! | `namespaces.rs` | [`Namespaces`], and [`NamespaceSet`], which caches follow while it changes |

mod informer_scope;
mod namespaces;

pub(crate) use informer_scope::Field;
pub use informer_scope::InformerScope;
pub use namespaces::{NamespaceSet, Namespaces};
