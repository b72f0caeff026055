use k8s_openapi::api::core::v1::Node;

use super::super::api::Api;
use crate::client::{Error, Patch, PatchParams};

/// Methods of Nodes only, as kubectl has them.
impl Api<Node> {
    /// Tells the scheduler to place no new Pods on the Node named `name` (`kubectl cordon`).
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error}, k8s::api::core::v1::Node};
    /// # async fn example(nodes: Api<Node>) -> Result<(), Error> {
    /// nodes.cordon("node-1").await?;
    /// nodes.uncordon("node-1").await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such Node.
    pub async fn cordon(&self, name: &str) -> Result<Node, Error> {
        self.unschedulable(name, serde_json::json!(true)).await
    }

    /// Allows the scheduler to place Pods on the Node named `name` again (`kubectl uncordon`).
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such Node.
    pub async fn uncordon(&self, name: &str) -> Result<Node, Error> {
        self.unschedulable(name, serde_json::Value::Null).await
    }

    async fn unschedulable(&self, name: &str, value: serde_json::Value) -> Result<Node, Error> {
        let patch = Patch::Merge(serde_json::json!({"spec": {"unschedulable": value}}));
        self.patch(name, &PatchParams::default(), &patch).await
    }
}
