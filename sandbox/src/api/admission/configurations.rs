use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use serde_json::Value;

use super::expressions::Expressions;
use crate::registry::GroupResource;
use crate::store::{Store, Subscription};

/// The configurations by which others admit requests, with their expressions compiled.
///
/// They follow the store: a request that comes after a change of a configuration sees the change. While nothing changes, a request costs a look at
/// one flag of each kind.
#[derive(Default)]
pub(crate) struct Configurations(Mutex<Option<Loaded>>);

struct Loaded {
    all: Arc<All>,
    changes: Vec<Subscription>,
}

/// The configurations of each kind, in the order of their names.
#[derive(Default)]
pub(super) struct All {
    pub(super) mutating_policies: Kind,
    pub(super) validating_policies: Kind,
    pub(super) mutating_webhooks: Vec<Arc<Configuration>>,
    pub(super) validating_webhooks: Vec<Arc<Configuration>>,
}

/// Policies and their bindings. A policy without a binding has no effect.
#[derive(Default)]
pub(super) struct Kind {
    pub(super) policies: Vec<Arc<Configuration>>,
    pub(super) bindings: Vec<Arc<Configuration>>,
}

/// One configuration of webhooks, or a policy, or a binding.
pub(super) struct Configuration {
    pub(super) object: Arc<Value>,
    expressions: OnceLock<Expressions>,
}

impl Configuration {
    pub(super) fn expressions(&self) -> &Expressions {
        let expressions = || Expressions::of(&self.object);
        self.expressions.get_or_init(expressions)
    }
}

impl Configurations {
    /// The configurations as they are now.
    pub(super) fn load(&self, store: &Arc<Store>) -> Arc<All> {
        let mut loaded = self.0.lock();
        if let Some(loaded) = &*loaded
            && !loaded.changes.iter().any(Subscription::has_changed)
        {
            return loaded.all.clone();
        }
        let new = loaded.insert(Loaded::new(store));
        new.all.clone()
    }
}

impl Loaded {
    fn new(store: &Arc<Store>) -> Self {
        let mut changes = Vec::new();
        let mut read = |plural: &str| {
            let resource = GroupResource::new("admissionregistration.k8s.io", plural);
            // Before the list, so that a change in between is noticed.
            if let Some(mut subscription) = store.watch(&resource, 0) {
                subscription.mark_seen();
                changes.push(subscription);
            }
            let Some(Ok(listed)) = store.list(&resource, None, None, None) else {
                return Vec::new();
            };
            let objects = listed.entries.into_iter().map(|entry| entry.object);
            let configurations = objects.map(|object| {
                Arc::new(Configuration {
                    object,
                    expressions: OnceLock::new(),
                })
            });
            configurations.collect()
        };
        let all = All {
            mutating_policies: Kind {
                policies: read("mutatingadmissionpolicies"),
                bindings: read("mutatingadmissionpolicybindings"),
            },
            validating_policies: Kind {
                policies: read("validatingadmissionpolicies"),
                bindings: read("validatingadmissionpolicybindings"),
            },
            mutating_webhooks: read("mutatingwebhookconfigurations"),
            validating_webhooks: read("validatingwebhookconfigurations"),
        };
        Self {
            all: Arc::new(all),
            changes,
        }
    }
}

impl All {
    /// Whether others may change objects.
    pub(super) fn mutates(&self) -> bool {
        !self.mutating_policies.bindings.is_empty() || !self.mutating_webhooks.is_empty()
    }

    /// Whether others may refuse requests.
    pub(super) fn validates(&self) -> bool {
        !self.validating_policies.bindings.is_empty() || !self.validating_webhooks.is_empty()
    }
}
