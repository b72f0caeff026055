use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{ApiResource, FieldError, Object, ObjectMeta};

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

    /// The field `name`, such as `spec`, read as a `T`. A missing field is read as `null`, so an `Option` is `None` then.
    ///
    /// ```
    /// use pilothouse::resource::DynamicObject;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct WidgetSpec {
    ///     size: i32,
    /// }
    ///
    /// # fn size(widget: &DynamicObject) -> Result<i32, pilothouse::resource::FieldError> {
    /// let spec: WidgetSpec = widget.field("spec")?;
    /// # Ok(spec.size) }
    /// ```
    ///
    /// # Errors
    /// [`FieldError`] if the value does not fit. It names the path, never the value.
    pub fn field<T: DeserializeOwned>(&self, name: &str) -> Result<T, FieldError> {
        let value = self.data.get(name).unwrap_or(&Value::Null);
        serde_path_to_error::deserialize(value)
            .map_err(|error| FieldError::new(self, name, error.path(), &error.inner().to_string()))
    }

    /// Sets the namespace.
    #[must_use]
    pub fn within(mut self, namespace: &str) -> Self {
        self.metadata.namespace = Some(namespace.to_owned());
        self
    }
}

impl Object for DynamicObject {
    const HAS_ALL_FIELDS: bool = true;

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
    fn an_error_about_a_field_names_its_path_and_not_its_value() {
        #[derive(Debug, Deserialize)]
        #[allow(dead_code)]
        struct Spec {
            pages: Vec<u8>,
        }
        let read = |spec: Option<Value>| {
            let mut object = DynamicObject::new(&widgets(), "a").within("default");
            object
                .data
                .extend(spec.map(|spec| ("spec".to_owned(), spec)));
            let read = object.field::<Spec>("spec");
            read.map(|spec| spec.pages)
                .map_err(|error| error.to_string())
        };
        assert_eq!(
            read(Some(serde_json::json!({"pages": [1, 2]}))),
            Ok(vec![1, 2])
        );
        let texts = [
            read(Some(serde_json::json!({"pages": [1, "secret"]}))),
            read(Some(serde_json::json!({}))),
            read(None),
        ];
        let texts = texts.map(|text| text.unwrap_err());
        assert_eq!(
            texts,
            [
                "read Widget default/a: spec.pages[1]: expected u8, found a string",
                "read Widget default/a: spec: missing field `pages`",
                "read Widget default/a: spec: expected struct Spec, found null",
            ]
        );
        let absent = DynamicObject::new(&widgets(), "a").field::<Option<Value>>("spec");
        assert_eq!(absent, Ok(None));
    }

    fn widgets() -> ApiResource {
        ApiResource {
            group: "example.dev".into(),
            version: "v1".into(),
            kind: "Widget".into(),
            plural: "widgets".into(),
            namespaced: true,
        }
    }

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
