use pilothouse::{
    crd::{CustomResource, CustomResourceDefinition, to_json},
    resource::Resource,
};
use serde_json::Value;

/// What the tests do with a generated type.
#[derive(Debug)]
pub struct Kind {
    /// The project, as its file in `data` is named.
    pub project: &'static str,
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: &'static str,
    /// Reads an object and writes it again.
    pub read_and_write: fn(&Value) -> Result<Value, String>,
    /// The definition that is made of the type; `None` for a foreign kind.
    pub definition: Option<fn() -> Result<CustomResourceDefinition, String>>,
}

impl Kind {
    /// A kind with a definition.
    #[must_use]
    pub fn own<K: CustomResource>(project: &'static str) -> Self {
        Self {
            definition: Some(|| K::crd().map_err(|error| error.to_string())),
            ..Self::foreign::<K>(project)
        }
    }

    /// A foreign kind.
    #[must_use]
    pub fn foreign<K: Resource>(project: &'static str) -> Self {
        Self {
            project,
            api_version: format!("{}/{}", K::GROUP, K::VERSION),
            kind: K::KIND,
            read_and_write: |object| {
                let object: K = serde_json::from_value(object.clone())
                    .map_err(|error| format!("cannot be read: {error}"))?;
                serde_json::to_value(&object).map_err(|error| format!("cannot be written: {error}"))
            },
            definition: None,
        }
    }

    /// The schema of the definition that is made of the type; `None` for a foreign kind.
    ///
    /// # Errors
    /// The types have no definition.
    pub fn schema(&self) -> Result<Option<Value>, String> {
        let Some(definition) = self.definition else {
            return Ok(None);
        };
        let definition = to_json(&definition()?);
        Ok(Some(
            definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone(),
        ))
    }
}
