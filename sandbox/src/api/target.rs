use std::sync::Arc;

use serde_json::Value;

use crate::builtin::{self, Conversion};
use crate::error::ApiError;
use crate::registry::{GroupResource, ServedKind};
use crate::schema::Schema;
use crate::store::{Encoded, Key};

/// The kind and namespace of a request; the name is not part of it.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) kind: Arc<ServedKind>,
    /// `None` for cluster-scoped kinds and for requests across all namespaces.
    pub(crate) namespace: Option<String>,
}

impl Target {
    pub(crate) fn new(kind: &Arc<ServedKind>, namespace: Option<&str>) -> Self {
        Self {
            kind: kind.clone(),
            namespace: namespace.filter(|_| kind.namespaced).map(String::from),
        }
    }

    /// Group and resource as errors name them.
    pub(crate) fn resource(&self) -> GroupResource {
        self.kind.group_resource()
    }

    /// The resource under which the objects are stored: both kinds of Event share one.
    pub(crate) fn storage(&self) -> GroupResource {
        match self.conversion() {
            Some(conversion) => {
                let [group, plural] = conversion.storage;
                GroupResource::new(group, plural)
            }
            None => self.resource(),
        }
    }

    fn conversion(&self) -> Option<&'static Conversion> {
        let kind = &self.kind;
        if kind.is_custom() {
            return None;
        }
        builtin::shared_storage(&kind.group, &kind.version, &kind.plural)
    }

    pub(crate) fn key(&self, name: &str) -> Key {
        Key::new(self.namespace.as_deref(), name)
    }

    pub(crate) fn not_found(&self, name: &str) -> ApiError {
        ApiError::not_found(&self.resource(), name)
    }

    /// A stored object in the version of this kind, without the fields that its definition does not have, and with the defaults that it got meanwhile.
    pub(crate) fn read(&self, stored: &Value) -> Value {
        let mut object = match self.conversion() {
            Some(conversion) => (conversion.from_stored)(stored),
            None => stored.clone(),
        };
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".into(), self.kind.api_version().into());
            fields.insert("kind".into(), self.kind.kind.as_str().into());
        }
        if self.kind.is_custom() {
            let schema = self.kind.structural();
            schema.prune(&mut object);
            schema.apply_defaults(&mut object);
        }
        builtin::shown_object(&self.kind, &mut object);
        object
    }

    /// Whether a stored object already has the version of this kind.
    pub(crate) fn reads_as_stored(&self, stored: &Encoded) -> bool {
        let kind = &self.kind;
        self.conversion().is_none()
            && kind.kind != "Job"
            && stored.has_api_version(&kind.api_version())
            && (!kind.is_custom() || fits(&kind.structural(), &stored.value()))
    }

    /// Converts an object of this version to the stored version. Custom resources stay as they are: `convert.rs` brings them into their stored version.
    pub(crate) fn store(&self, object: Value) -> Value {
        match self.conversion() {
            Some(conversion) => (conversion.to_stored)(&object),
            None => object,
        }
    }
}

/// Whether an object has only the fields of the schema, and all its defaults.
fn fits(schema: &Schema, object: &Value) -> bool {
    schema.has_all_defaults(object) && schema.prune(&mut object.clone()).is_empty()
}
