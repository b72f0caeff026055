use std::sync::Arc;

use serde_json::Value;

use super::classes;
use crate::api::Handle;

/// The provisioner of a claim without a class, and of one whose class has no object.
const SIMULATED: &str = "sandbox";
/// The provisioner that makes no volumes.
const NONE: &str = "kubernetes.io/no-provisioner";

/// What the class of a claim says.
pub(super) struct Class {
    /// Empty if the claim has none.
    pub(super) name: String,
    object: Option<Arc<Value>>,
    is_explicitly_empty: bool,
}

impl Class {
    pub(super) fn of(handle: &Handle, claim: &Value) -> Self {
        let name = crate::api::class_of(claim).to_owned();
        Self {
            object: handle.get(&classes(), None, &name),
            is_explicitly_empty: claim["spec"]["storageClassName"] == "",
            name,
        }
    }

    fn field(&self, name: &str) -> Option<&Value> {
        self.object.as_ref()?.get(name)
    }

    /// The provisioner that makes volumes of the class, if there is one.
    pub(super) fn provisioner(&self) -> Option<&str> {
        let named = self.field("provisioner").and_then(Value::as_str);
        let named = named.unwrap_or(SIMULATED);
        let waits = self.name.is_empty() && self.is_explicitly_empty;
        (named != NONE && !waits).then_some(named)
    }

    /// Whether a claim waits until a Pod that uses it has a node.
    pub(super) fn waits_for_consumer(&self) -> bool {
        let mode = self.field("volumeBindingMode").and_then(Value::as_str);
        mode == Some("WaitForFirstConsumer")
    }

    pub(super) fn reclaim_policy(&self) -> &str {
        let policy = self.field("reclaimPolicy").and_then(Value::as_str);
        policy.unwrap_or("Delete")
    }

    pub(super) fn mount_options(&self) -> Value {
        self.field("mountOptions").cloned().unwrap_or_default()
    }
}
