//! Admission: what the server adds to an object, and what it refuses, because of other objects.
//!
//! A new object is admitted after its defaults were set and the owners of its fields were recorded, so nobody owns what admission adds. It is validated
//! and then checked. A change is admitted before it is validated, and checked afterwards. Quotas come last: [`charge`] counts what is about to be written.
//!
//! | file | plugin of kube-apiserver | what it does |
//! | --- | --- | --- |
//! | `limit_range.rs` | LimitRanger | gives containers default requests and limits; refuses Pods and claims outside a LimitRange |
//! | `service_account.rs` | ServiceAccount | gives a Pod its service account and the token; only with the simulator |
//! | `tolerations.rs` | DefaultTolerationSeconds | lets a Pod stay five minutes on a node that does not answer |
//! | `priority.rs` | Priority | gives a Pod the priority of its class; allows one default class |
//! | `protection.rs` | StorageObjectInUseProtection | gives claims, volumes and attribute classes the finalizer that protects them |
//! | `runtime_class.rs` | RuntimeClass | gives a Pod the overhead, node selector and tolerations of its class |
//! | `storage_class.rs` | DefaultStorageClass | gives a claim the default class |
//! | `quota/` | ResourceQuota | counts objects and what they ask for; refuses what exceeds a quota |
//! | `resources.rs` | | what Pods and containers ask for |

mod limit_range;
mod priority;
mod protection;
mod quota;
mod resources;
mod runtime_class;
mod service_account;
mod storage_class;
#[cfg(test)]
mod tests;
mod tolerations;

use serde_json::Value;

use super::Target;
use crate::core::Core;
use crate::meta;

pub(crate) use protection::PROTECTED;
pub(crate) use quota::recount as recount_quota;
pub(super) use quota::{Attempt, charge};
pub(crate) use service_account::create_default as create_default_account;
pub(crate) use storage_class::class_of;

/// Admits a new object.
///
/// # Errors
/// The reason why the object is forbidden.
pub(super) fn admit_new(core: &Core, target: &Target, object: &mut Value) -> Result<(), String> {
    let kind = &target.kind;
    protection::admit(kind, object);
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => {
            limit_range::set_defaults(core, target, object);
            service_account::admit(core, target, object)?;
            tolerations::admit(object);
            priority::admit(core, object)?;
            runtime_class::admit(core, object)
        }
        ("", "PersistentVolumeClaim") => {
            storage_class::admit(core, object);
            Ok(())
        }
        ("scheduling.k8s.io", "PriorityClass") => priority::admit_class(core, object, None),
        _ => Ok(()),
    }
}

/// Admits a change of an object through its main resource.
///
/// # Errors
/// The reason why the change is forbidden.
pub(super) fn admit_change(
    core: &Core,
    target: &Target,
    current: &Value,
    new: &mut Value,
) -> Result<(), String> {
    let kind = &target.kind;
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => {
            tolerations::admit(new);
            priority::keep(current, new);
            Ok(())
        }
        ("scheduling.k8s.io", "PriorityClass") => priority::admit_class(core, new, Some(current)),
        _ => Ok(()),
    }
}

/// Checks a valid object that is about to be written: a new one, or one that was `current` before.
///
/// # Errors
/// The reason why the write is forbidden.
pub(super) fn check(
    core: &Core,
    target: &Target,
    subresource: &str,
    current: Option<&Value>,
    object: &Value,
) -> Result<(), String> {
    let kind = &target.kind;
    if current.is_some_and(meta::is_deleting) {
        return Ok(());
    }
    match (kind.group.as_str(), kind.kind.as_str(), subresource) {
        ("", "Pod", "") if current.is_none() => limit_range::check(core, target, object),
        ("", "Pod", "resize") | ("", "PersistentVolumeClaim", "") => {
            limit_range::check(core, target, object)
        }
        _ => Ok(()),
    }
}
