use serde_json::Value;

use super::PodRequest;
use crate::error::ApiError;
use crate::pods::node_number;
use crate::registry::GroupResource;
use crate::store::Key;

impl PodRequest<'_> {
    /// The container of the request.
    ///
    /// # Errors
    /// 400 if the Pod has no such container, or has several and the request names none.
    pub(super) fn container(&self) -> Result<String, ApiError> {
        let names = |field: &str| {
            let list = self.pod["spec"][field].as_array();
            let names = list.into_iter().flatten();
            names.filter_map(|one| one["name"].as_str())
        };
        let wanted = self.query.get("container");
        let all = || {
            let fields = ["initContainers", "containers", "ephemeralContainers"];
            fields.into_iter().flat_map(names)
        };
        if !wanted.is_empty() {
            return if all().any(|name| name == wanted) {
                Ok(wanted.to_owned())
            } else {
                let text = format!("container {wanted} is not valid for pod {}", self.name);
                Err(ApiError::bad_request(text))
            };
        }
        let mut containers = names("containers");
        match (containers.next(), containers.next()) {
            (Some(only), None) => Ok(only.to_owned()),
            _ => Err(ApiError::bad_request(format!(
                "a container name must be specified for pod {}, choose one of: [{}]",
                self.name,
                all().collect::<Vec<_>>().join(" ")
            ))),
        }
    }

    /// Whether the Pod has a node.
    ///
    /// # Errors
    /// 404 if the node does not exist, 501 if it is not the simulated one.
    pub(super) fn has_node(&self) -> Result<bool, ApiError> {
        let node = self.pod["spec"]["nodeName"].as_str().unwrap_or_default();
        if node.is_empty() {
            return Ok(false);
        }
        let nodes = GroupResource::new("", "nodes");
        if self.core.store.get(&nodes, &Key::new(None, node)).is_none() {
            return Err(ApiError::not_found(&nodes, node));
        }
        if node_number(node).is_none() {
            return Err(ApiError::not_implemented(format_args!(
                "logs and processes of Pods on nodes that it does not simulate, such as {node}"
            )));
        }
        Ok(true)
    }

    /// # Errors
    /// 400 if the Pod has no node.
    pub(super) fn must_have_node(&self) -> Result<(), ApiError> {
        if self.has_node()? {
            return Ok(());
        }
        let text = format!("pod {} does not have a host assigned", self.name);
        Err(ApiError::bad_request(text))
    }

    /// The status of a container in the Pod's status.
    fn status(&self, container: &str) -> &Value {
        let lists = [
            "containerStatuses",
            "initContainerStatuses",
            "ephemeralContainerStatuses",
        ];
        let lists = lists.into_iter().map(|list| &self.pod["status"][list]);
        let mut statuses = lists.filter_map(Value::as_array).flatten();
        let status = statuses.find(|status| status["name"] == container);
        status.unwrap_or(&Value::Null)
    }

    /// The state of a container in the Pod's status.
    pub(super) fn state(&self, container: &str) -> &Value {
        &self.status(container)["state"]
    }

    /// Whether a container ran before its present state.
    pub(super) fn has_run(&self, container: &str) -> bool {
        self.status(container)["lastState"]["terminated"].is_object()
    }

    pub(super) fn is_running(&self, container: &str) -> bool {
        self.state(container)["running"].is_object()
    }
}
