use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ApiResource, Object, ObjectMeta};

/// The fields `apiVersion` and `kind` of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TypeMeta {
    /// `group/version`, or only the version for the core group.
    pub api_version: String,
    /// The kind.
    pub kind: String,
}

impl TypeMeta {
    /// The values for objects of the kind `resource`.
    pub fn of(resource: &ApiResource) -> Self {
        Self {
            api_version: resource.api_version(),
            kind: resource.kind.to_string(),
        }
    }
}

/// An object of a kind known only at run time. Functions that take one also take the kind as an [`ApiResource`].
///
/// [`data`](Self::data) holds everything but `apiVersion`, `kind` and `metadata` as JSON, in no particular order. It is
/// written back unchanged.
///
/// The client and the cache read objects with up to 127 nested lists and maps, counting the object itself. An API server
/// accepts 10 000. A deeper object is [`Undecodable`](super::Undecodable). The limit does not apply to a
/// [`PartialObject`](super::PartialObject), nor to a typed object whose type does not have the deep field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DynamicObject {
    /// `apiVersion` and `kind`. A server leaves them out in the items of a list; an [`Api`](crate::client::Api) adds them.
    #[serde(flatten)]
    pub types: TypeMeta,
    /// Metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// All other fields.
    #[serde(flatten)]
    pub data: Map<String, Value>,
}

impl DynamicObject {
    /// An object of the kind `resource` with a name and nothing else.
    pub fn new(resource: &ApiResource, name: &str) -> Self {
        Self {
            types: TypeMeta::of(resource),
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            data: Map::new(),
        }
    }

    /// Sets the namespace.
    #[must_use]
    pub fn within(mut self, namespace: &str) -> Self {
        self.metadata.namespace = Some(namespace.to_owned());
        self
    }
}

impl Object for DynamicObject {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }

    fn types(&self) -> Option<&TypeMeta> {
        Some(&self.types)
    }

    fn fill_types(&mut self, resource: &ApiResource) {
        if self.types.kind.is_empty() {
            self.types = TypeMeta::of(resource);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_kind_survives_a_round_trip() {
        let json = serde_json::json!({
            "apiVersion": "example.dev/v1", "kind": "Thing",
            "metadata": {"name": "a", "labels": {"x": "y"}},
            "spec": {"deep": [1, {"b": null}]}, "extra": true,
        });
        let object: DynamicObject = serde_json::from_value(json.clone()).unwrap();
        assert_eq!((object.name(), object.label("x")), ("a", Some("y")));
        assert_eq!(serde_json::to_value(&object).unwrap(), json);
    }
}
