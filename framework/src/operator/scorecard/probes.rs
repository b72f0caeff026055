//! The probes that a container needs: without a readiness probe, it counts as ready when its process runs; without a liveness probe, nothing
//! restarts it when it hangs.

use std::fmt;

use serde_json::Value;

/// A probe that a container does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MissingProbe {
    pub(super) container: String,
    pub(super) kind: ProbeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbeKind {
    Readiness,
    Liveness,
}

impl MissingProbe {
    /// The missing probes of an object with its spec: those of the containers that run as long as their Pod. An object that makes no such
    /// containers, for example a Job, needs none.
    pub(super) fn all(kind: &str, spec: &Value) -> Vec<Self> {
        let pod = match kind {
            "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => &spec["template"]["spec"],
            // Another restart policy says that its containers end.
            "Pod" if matches!(spec["restartPolicy"].as_str(), None | Some("Always")) => spec,
            _ => return Vec::new(),
        };
        let containers = |field: &str| pod[field].as_array().into_iter().flatten();
        let sidecars = containers("initContainers").filter(|one| one["restartPolicy"] == "Always");
        let all = sidecars.chain(containers("containers"));
        all.flat_map(Self::of).collect()
    }

    fn of(container: &Value) -> impl Iterator<Item = Self> {
        let kinds = [ProbeKind::Readiness, ProbeKind::Liveness];
        let missing = kinds
            .into_iter()
            .filter(move |kind| container[kind.field()].is_null());
        missing.map(move |kind| Self {
            container: container["name"].as_str().unwrap_or_default().to_owned(),
            kind,
        })
    }

    /// What to do.
    pub(super) fn fix(&self) -> &'static str {
        match self.kind {
            ProbeKind::Readiness => "set `readiness_probe` in the container",
            ProbeKind::Liveness => {
                "set `liveness_probe` in the container, so patient that it does not restart one that is only slow; a program that \
                 ends by itself when it cannot go on needs none"
            }
        }
    }
}

impl ProbeKind {
    fn field(self) -> &'static str {
        match self {
            Self::Readiness => "readinessProbe",
            Self::Liveness => "livenessProbe",
        }
    }
}

/// The problem.
impl fmt::Display for MissingProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.container;
        match self.kind {
            ProbeKind::Readiness => write!(
                f,
                "the container \"{name}\" has no readiness probe, so that it counts as ready before it works"
            ),
            ProbeKind::Liveness => write!(
                f,
                "the container \"{name}\" has no liveness probe, so that nothing restarts it when it hangs"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// As `web: Readiness`.
    fn missing(kind: &str, spec: Value) -> Vec<String> {
        let missing = MissingProbe::all(kind, &spec).into_iter();
        let shown = missing.map(|one| format!("{}: {:?}", one.container, one.kind));
        shown.collect()
    }

    #[test]
    fn each_container_of_a_workload_needs_both_probes() {
        let probe = json!({"httpGet": {"port": 80}});
        let pod = json!({"containers": [
            {"name": "both", "readinessProbe": probe, "livenessProbe": probe},
            {"name": "ready", "readinessProbe": probe},
            {"name": "alive", "livenessProbe": probe},
            {"name": "starts", "startupProbe": probe},
        ]});
        let expected = [
            "ready: Liveness",
            "alive: Readiness",
            "starts: Readiness",
            "starts: Liveness",
        ];
        for workload in ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"] {
            let spec = json!({"template": {"spec": pod}});
            assert_eq!(missing(workload, spec), expected, "{workload}");
        }
        assert_eq!(missing("Pod", pod), expected);
    }

    #[test]
    fn an_init_container_needs_probes_only_if_it_goes_on_beside_the_others() {
        let pod = json!({
            "initContainers": [{"name": "once"}, {"name": "sidecar", "restartPolicy": "Always"}],
            "containers": [],
        });
        let expected = ["sidecar: Readiness", "sidecar: Liveness"];
        assert_eq!(missing("Pod", pod), expected);
    }

    #[test]
    fn containers_that_end_need_no_probes() {
        let containers = json!([{"name": "work"}]);
        let of_job =
            json!({"template": {"spec": {"restartPolicy": "Never", "containers": containers}}});
        assert_eq!(missing("Job", of_job), [""; 0]);
        for policy in ["Never", "OnFailure"] {
            let pod = json!({"restartPolicy": policy, "containers": containers});
            assert_eq!(missing("Pod", pod), [""; 0], "{policy}");
        }
        assert_eq!(missing("ConfigMap", Value::Null), [""; 0]);
    }
}
