use serde_json::Value;

/// A list of containers: its path, and the path of its statuses.
pub(super) type List = (&'static str, &'static str);

pub(super) const MAIN: List = ("/spec/containers", "/status/containerStatuses");
pub(super) const INIT: List = ("/spec/initContainers", "/status/initContainerStatuses");
pub(super) const EPHEMERAL: List = (
    "/spec/ephemeralContainers",
    "/status/ephemeralContainerStatuses",
);

pub(super) fn containers(pod: &Value, list: List) -> impl Iterator<Item = &Value> {
    let containers = pod.pointer(list.0).and_then(Value::as_array);
    containers.into_iter().flatten()
}

/// Every container of a Pod, the init containers first.
pub(super) fn all(pod: &Value) -> impl Iterator<Item = &Value> {
    containers(pod, INIT).chain(containers(pod, MAIN))
}

/// The containers that run.
pub(super) fn running(pod: &Value) -> impl Iterator<Item = &Value> {
    let runs = |list, container: &Value| {
        let mut statuses = statuses_of(pod, list);
        statuses.any(|one| one["name"] == container["name"] && one["state"]["running"].is_object())
    };
    [INIT, MAIN, EPHEMERAL]
        .into_iter()
        .flat_map(move |list| containers(pod, list).filter(move |one| runs(list, one)))
}

/// Whether a container is ready, as the status says.
pub(super) fn is_ready(pod: &Value, container: &Value) -> bool {
    let mut statuses = statuses_of(pod, MAIN).chain(statuses_of(pod, INIT));
    statuses.any(|one| one["name"] == container["name"] && one["ready"] == true)
}

pub(super) fn statuses_of(pod: &Value, list: List) -> impl Iterator<Item = &Value> {
    let statuses = pod.pointer(list.1).and_then(Value::as_array);
    statuses.into_iter().flatten()
}
