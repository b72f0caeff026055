use std::sync::Arc;

use serde_json::Value;

use super::{GroupResource, SchemaSource};
use crate::schema::Schema;

/// One kind in one version, as it is served.
#[derive(Clone, Debug)]
pub struct ServedKind {
    /// API group; empty for the core group.
    pub group: String,
    /// Version, such as `v1`.
    pub version: String,
    /// Kind, such as `Deployment`.
    pub kind: String,
    /// Kind of its lists, such as `DeploymentList`.
    pub list_kind: String,
    /// Plural name: the resource in paths.
    pub plural: String,
    /// Singular name, in lower case.
    pub singular: String,
    /// Short names, such as `deploy`.
    pub short_names: Vec<String>,
    /// Categories, such as `all`.
    pub categories: Vec<String>,
    /// Whether its objects are in a namespace.
    pub namespaced: bool,
    /// Verbs of the main resource, as discovery lists them: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verbs: Vec<String>,
    /// Whether it has the `status` subresource.
    pub status: bool,
    /// The `scale` subresource, if it has one.
    pub scale: Option<ScalePaths>,
    /// Columns of the table output after the name. Without any, the age is shown. The columns of built-in kinds are in
    /// `table`.
    pub columns: Vec<Column>,
    /// Fields that a field selector may name besides name and namespace: `spec.color`. Those of built-in kinds are in
    /// `store::selector`.
    pub selectable_fields: Vec<String>,
    /// Its schema, including `apiVersion`, `kind` and `metadata`.
    pub schema: SchemaSource,
    /// Whether objects are stored in this version. Exactly one version of a kind is stored.
    pub storage: bool,
    /// The webhook that converts its objects between versions, if its definition names one.
    pub converter: Option<Arc<Converter>>,
    /// What each client of the version is warned of, if the version is deprecated.
    pub deprecated: Option<String>,
    /// The origin of the kind.
    pub origin: Origin,
}

/// How a webhook converts custom resources.
#[derive(Clone, Debug)]
pub struct Converter {
    /// The `webhook` of the definition's conversion.
    pub webhook: Value,
    /// The `apiVersion` in which objects are stored.
    pub stored_in: String,
}

/// The origin of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Built into the API server.
    BuiltIn,
    /// Defined by a CustomResourceDefinition.
    Custom,
}

impl ServedKind {
    /// `apiVersion` of its objects: `apps/v1`, or `v1` in the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Its group and plural name.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(&*self.group, &*self.plural)
    }

    /// Kind and group as error messages name them: `Deployment.apps`, or `Pod` in the core group.
    pub fn group_kind(&self) -> String {
        if self.group.is_empty() {
            self.kind.clone()
        } else {
            format!("{}.{}", self.kind, self.group)
        }
    }

    /// Its schema for validation, defaulting, pruning and merging.
    pub fn structural(&self) -> Schema {
        self.schema.schema()
    }

    /// Whether a CustomResourceDefinition defines it.
    pub fn is_custom(&self) -> bool {
        self.origin == Origin::Custom
    }

    /// Whether the main resource has this verb.
    pub fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }
}

/// The simple JSON paths from which the `scale` subresource is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// The desired replicas: `.spec.replicas`.
    pub spec: String,
    /// The observed replicas: `.status.replicas`.
    pub status: String,
    /// The label selector, if the kind has one. A string in custom resources, a LabelSelector in built-in kinds.
    pub selector: Option<String>,
}

/// One column of the table output: an entry of `additionalPrinterColumns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Heading.
    pub name: String,
    /// OpenAPI type: `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// OpenAPI format, or empty.
    pub format: String,
    /// Help text, or empty.
    pub description: String,
    /// 0 is always shown, a higher priority only in wide output.
    pub priority: i32,
    /// The simple JSON path of the value: `.spec.replicas`.
    pub json_path: String,
}
