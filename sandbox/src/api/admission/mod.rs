//! Admission: what the server adds to an object, and what it refuses, because of other objects.
//!
//! A new object is admitted after its defaults were set and the owners of its fields were recorded, so nobody owns what admission adds. It is validated
//! afterwards. A change is admitted before it is validated.
//!
//! | file | plugin of kube-apiserver | what it does |
//! | --- | --- | --- |
//! | `service_account.rs` | ServiceAccount | gives a Pod its service account and the token; only with the simulator |
//! | `tolerations.rs` | DefaultTolerationSeconds | lets a Pod stay five minutes on a node that does not answer |
//! | `priority.rs` | Priority | gives a Pod the priority of its class; allows one default class |
//! | `storage_class.rs` | DefaultStorageClass | gives a claim the default class |

mod priority;
mod service_account;
mod storage_class;
#[cfg(test)]
mod tests;
mod tolerations;

use serde_json::Value;

use super::Target;
use crate::core::Core;

pub(crate) use service_account::create_default as create_default_account;

/// Admits a new object.
///
/// # Errors
/// The reason why the object is forbidden.
pub(super) fn admit_new(core: &Core, target: &Target, object: &mut Value) -> Result<(), String> {
    let kind = &target.kind;
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => {
            service_account::admit(core, target, object)?;
            tolerations::admit(object);
            priority::admit(core, object)
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
