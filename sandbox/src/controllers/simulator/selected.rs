//! Which Services and disruption budgets a change of a Pod concerns.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::object::{is_true, services};
use super::{disruption, endpoints};
use crate::api::Handle;
use crate::meta;
use crate::registry::GroupResource;

/// What Services and budgets know of each Pod.
#[derive(Default)]
pub(super) struct Selected {
    known: BTreeMap<String, View>,
}

#[derive(PartialEq)]
struct View {
    labels: Value,
    facts: Value,
}

impl Selected {
    /// The objects that select a Pod, or selected it before it changed: none if the change does not concern them. `gone` says whether the
    /// Pod does not exist any more.
    pub(super) fn by(
        &mut self,
        handle: &Handle,
        pod: &Value,
        gone: bool,
    ) -> Vec<(GroupResource, String)> {
        let (uid, new) = (meta::uid(pod), View::of(pod));
        let old = match gone {
            true => self.known.remove(uid),
            false if self.known.get(uid) == Some(&new) => return Vec::new(),
            false => self.known.insert(uid.to_owned(), View::of(pod)),
        };
        let labels = [Some(new), old].map(|view| view.map(|view| view.labels));
        let namespace = Some(meta::text(pod, "namespace"));
        let mut found = Vec::new();
        type Selects = fn(&Value, &Value) -> bool;
        let kinds: [(GroupResource, Selects); 2] = [
            (services(), endpoints::selects),
            (disruption::budgets(), disruption::selects),
        ];
        for (resource, selects) in kinds {
            for object in handle.list(&resource, namespace) {
                if labels
                    .iter()
                    .flatten()
                    .any(|labels| selects(&object, labels))
                {
                    found.push((resource.clone(), meta::name(&object).to_owned()));
                }
            }
        }
        found
    }
}

impl View {
    fn of(pod: &Value) -> Self {
        let facts = json!([
            pod["spec"]["nodeName"],
            pod["status"]["podIPs"],
            pod["status"]["phase"],
            is_true(pod, "Ready"),
            meta::is_deleting(pod),
            pod["metadata"]["ownerReferences"],
        ]);
        Self {
            labels: pod["metadata"]["labels"].clone(),
            facts,
        }
    }
}
