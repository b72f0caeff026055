//! A sandbox with the simulator, for unit tests.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::object::pods;
use crate::Sandbox;
use crate::api::{DeleteOptions, Handle, Propagation};
use crate::meta;
use crate::registry::GroupResource;

pub(super) struct World {
    pub(super) handle: Handle,
    pub(super) sandbox: Sandbox,
}

impl World {
    pub(super) fn new() -> Self {
        Self::with_nodes(1)
    }

    pub(super) fn with_nodes(count: u32) -> Self {
        let sandbox = Sandbox::builder().seed(1).simulator(true).nodes(count);
        let sandbox = sandbox.build().unwrap();
        Self {
            handle: Handle::new(sandbox.core(), "test"),
            sandbox,
        }
    }

    pub(super) async fn pass(&self, seconds: u64) {
        self.pass_millis(seconds * 1000).await;
    }

    pub(super) async fn pass_millis(&self, millis: u64) {
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    pub(super) fn create(&self, resource: &GroupResource, object: Value) {
        self.handle.create(resource, object).unwrap();
    }

    pub(super) fn find(&self, resource: &GroupResource, name: &str) -> Option<Arc<Value>> {
        self.handle.get(resource, Some("default"), name)
    }

    pub(super) fn get(&self, resource: &GroupResource, name: &str) -> Value {
        let found = self.find(resource, name);
        Value::clone(&found.unwrap_or_else(|| panic!("{resource} {name} does not exist")))
    }

    pub(super) fn change(
        &self,
        resource: &GroupResource,
        name: &str,
        change: impl FnMut(&mut Value),
    ) {
        let changed = self
            .handle
            .update(resource, Some("default"), name, "", change);
        changed.unwrap();
    }

    pub(super) fn delete(
        &self,
        resource: &GroupResource,
        name: &str,
        propagation: Option<Propagation>,
    ) {
        let options = DeleteOptions {
            propagation,
            ..DeleteOptions::default()
        };
        let deleted = self
            .handle
            .delete(resource, Some("default"), name, &options);
        deleted.unwrap();
    }

    pub(super) fn pods(&self) -> Vec<Arc<Value>> {
        self.handle.list(&pods(), None)
    }

    /// Names and phases of the Pods.
    pub(super) fn phases(&self) -> Vec<(String, String)> {
        let of = |pod: &Arc<Value>| {
            let phase = pod["status"]["phase"].as_str().unwrap_or_default();
            (meta::name(pod).to_owned(), phase.to_owned())
        };
        self.pods().iter().map(of).collect()
    }

    /// How many Pods are in a phase.
    pub(super) fn count(&self, phase: &str) -> usize {
        let phases = self.phases();
        phases.iter().filter(|(_, known)| known == phase).count()
    }

    /// The Events about an object, as `reason: message`, sorted.
    pub(super) fn events(&self, name: &str) -> Vec<String> {
        let mut texts: Vec<String> = self
            .handle
            .list(&super::events::events(), None)
            .iter()
            .filter(|event| event["involvedObject"]["name"] == name)
            .map(|event| {
                let text = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
                format!("{}: {}", text("reason"), text("message"))
            })
            .collect();
        texts.sort();
        texts
    }
}
