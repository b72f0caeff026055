use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ApiResource, Object, ObjectMeta};

/// `apiVersion` and `kind` as they stand in an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TypeMeta {
    /// `group/version`, or only the version for the core group.
    pub api_version: String,
    /// The kind.
    pub kind: String,
}

impl TypeMeta {
    /// Those of objects of `resource`.
    pub fn of(resource: &ApiResource) -> Self {
        Self {
            api_version: resource.api_version(),
            kind: resource.kind.to_string(),
        }
    }
}

/// An object of a kind known only at run time; it travels with an [`ApiResource`].
///
/// Everything but `apiVersion`, `kind` and `metadata` is kept as JSON in [`data`](Self::data), in
/// no particular order, and is written back unchanged.
///
/// A client and a cache read objects with up to 127 lists and maps within each other, the object itself included. A
/// server takes 10 000. A deeper object is [`Undecodable`](super::Undecodable); a typed object whose type does not have the
/// deep field, and a [`PartialObject`](super::PartialObject), are read at any depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DynamicObject {
    /// `apiVersion` and `kind`. Where a server leaves them out, in the items of a list, an
    /// [`Api`](crate::client::Api) fills them in.
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
    /// An object of `resource`'s kind with a name and nothing else.
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

    /// The same object in `namespace`.
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
