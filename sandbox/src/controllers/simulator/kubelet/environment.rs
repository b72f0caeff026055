use serde_json::Value;

use crate::api::Handle;
use crate::meta;
use crate::registry::GroupResource;

/// What the environment of a container names and does not exist; `None` if the container can be created.
pub(super) fn missing(handle: &Handle, pod: &Value, container: &Value) -> Option<String> {
    let namespace = meta::text(pod, "namespace");
    let list = |field: &str| container[field].as_array().into_iter().flatten();
    for from in list("envFrom") {
        for source in [Source::ConfigMap, Source::Secret] {
            let why = from
                .get(source.reference())
                .and_then(|reference| source.lacks(handle, namespace, reference, None));
            if why.is_some() {
                return why;
            }
        }
    }
    list("env").find_map(|variable| {
        let from = variable.get("valueFrom")?;
        [Source::ConfigMap, Source::Secret]
            .into_iter()
            .find_map(|source| {
                let reference = from.get(source.key_reference())?;
                source.lacks(handle, namespace, reference, reference["key"].as_str())
            })
    })
}

/// What an environment can come from.
#[derive(Clone, Copy)]
enum Source {
    ConfigMap,
    Secret,
}

impl Source {
    fn reference(self) -> &'static str {
        match self {
            Self::ConfigMap => "configMapRef",
            Self::Secret => "secretRef",
        }
    }

    fn key_reference(self) -> &'static str {
        match self {
            Self::ConfigMap => "configMapKeyRef",
            Self::Secret => "secretKeyRef",
        }
    }

    /// The plural name and the kind.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::ConfigMap => ("configmaps", "ConfigMap"),
            Self::Secret => ("secrets", "Secret"),
        }
    }

    /// Why a reference that is not optional has no value.
    fn lacks(
        self,
        handle: &Handle,
        namespace: &str,
        reference: &Value,
        key: Option<&str>,
    ) -> Option<String> {
        if reference["optional"] == true {
            return None;
        }
        let name = reference["name"].as_str().unwrap_or_default();
        let (plural, kind) = self.names();
        let resource = GroupResource::new("", plural);
        let Some(object) = handle.get(&resource, Some(namespace), name) else {
            return Some(format!("{} {name:?} not found", kind.to_lowercase()));
        };
        let key = key.filter(|key| object["data"].get(key).is_none())?;
        Some(format!(
            "couldn't find key {key} in {kind} {namespace}/{name}"
        ))
    }
}
