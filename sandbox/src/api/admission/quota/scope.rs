use serde_json::Value;

use crate::api::admission::resources;
use crate::builtin;

/// One condition on the objects that a quota counts.
pub(super) struct Scope<'a> {
    name: &'a str,
    operator: &'a str,
    values: Vec<&'a str>,
}

/// The scopes of a quota. An object must be in all of them.
pub(super) fn all(quota: &Value) -> impl Iterator<Item = Scope<'_>> {
    let plain = resources::list(quota, "/spec/scopes").map(|name| Scope {
        name: name.as_str().unwrap_or_default(),
        operator: "Exists",
        values: Vec::new(),
    });
    let selected = resources::list(quota, "/spec/scopeSelector/matchExpressions");
    plain.chain(selected.map(|one| {
        Scope {
            name: one["scopeName"].as_str().unwrap_or_default(),
            operator: one["operator"].as_str().unwrap_or_default(),
            values: resources::list(one, "/values")
                .filter_map(Value::as_str)
                .collect(),
        }
    }))
}

impl Scope<'_> {
    pub(super) fn has_pod(&self, pod: &Value) -> bool {
        let class = || {
            let known = pod["status"]["qosClass"].as_str();
            known.unwrap_or_else(|| builtin::qos_class(&pod["spec"]))
        };
        match self.name {
            "Terminating" => has_deadline(pod),
            "NotTerminating" => !has_deadline(pod),
            "BestEffort" => class() == "BestEffort",
            "NotBestEffort" => class() != "BestEffort",
            "PriorityClass" => {
                let class = pod["spec"]["priorityClassName"].as_str();
                self.selects(class.filter(|class| !class.is_empty()))
            }
            "CrossNamespacePodAffinity" => is_near_other_namespaces(pod),
            _ => false,
        }
    }

    pub(super) fn has_claim(&self, claim: &Value) -> bool {
        if self.name != "VolumeAttributesClass" {
            return false;
        }
        let fields = [
            "/spec/volumeAttributesClassName",
            "/status/currentVolumeAttributesClassName",
            "/status/modifyVolumeStatus/targetVolumeAttributesClassName",
        ];
        let mut classes = fields
            .iter()
            .filter_map(|field| claim.pointer(field)?.as_str())
            .filter(|class| !class.is_empty())
            .peekable();
        match classes.peek() {
            None => self.selects(None),
            Some(_) => classes.any(|class| self.selects(Some(class))),
        }
    }

    /// Whether the scope selects an object of this class, or of none.
    fn selects(&self, class: Option<&str>) -> bool {
        let listed = class.is_some_and(|class| self.values.contains(&class));
        match self.operator {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => class.is_some(),
            "DoesNotExist" => class.is_none(),
            _ => false,
        }
    }
}

/// Whether a Pod may run for a limited time only.
pub(super) fn has_deadline(pod: &Value) -> bool {
    let deadline = pod["spec"]["activeDeadlineSeconds"].as_i64();
    deadline.is_some_and(|seconds| seconds >= 0)
}

/// Whether the place of a Pod depends on Pods in other namespaces.
fn is_near_other_namespaces(pod: &Value) -> bool {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    let affinity = &pod["spec"]["affinity"];
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        let of = |list: &str| affinity[kind][list].as_array().into_iter().flatten();
        let required = of(REQUIRED);
        let preferred = of(PREFERRED).map(|one| &one["podAffinityTerm"]);
        required.chain(preferred).any(|term| {
            let named = term["namespaces"].as_array();
            named.is_some_and(|named| !named.is_empty()) || term["namespaceSelector"].is_object()
        })
    })
}
