//! The first version of the kind. Clients that know only this one go on working.

use std::fmt;

use pilothouse::prelude::*;

use crate::{Engine, SecretReference, SharedDatabaseStatus};

// ANCHOR: version
/// A PostgreSQL database at the usual port, and the namespaces that use it.
#[derive(Resource, Clone, Debug)]
#[resource(
    group = "demo.pilothouse.dev",
    version = "v1beta1",
    cluster,
    deprecated = "demo.pilothouse.dev/v1beta1 SharedDatabase is deprecated: use demo.pilothouse.dev/v1"
)]
pub struct SharedDatabase {
    pub metadata: ObjectMeta,
    pub spec: SharedDatabaseSpec,
    pub status: Option<SharedDatabaseStatus>,
}

/// Where the database is, and who uses it.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedDatabaseSpec {
    /// The DNS name of the server.
    #[schema(pattern = "^[a-z0-9.-]{1,253}$", column = "Host")]
    pub host: String,
    /// The Secret with the keys `user` and `password`: `namespace/name`.
    #[schema(pattern = "^[a-z0-9-]{1,63}/[a-z0-9.-]{1,253}$")]
    pub secret: String,
    /// The namespaces that use the database.
    #[serde(default)]
    #[schema(list_type = "set", max_items = 1000)]
    pub namespaces: Vec<String>,
}
// ANCHOR_END: version

/// The text for the Secret is not of the form `namespace/name`. The schema refuses such an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidSecret;

impl fmt::Display for InvalidSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("spec.secret: write the namespace and the name, such as default/credentials")
    }
}

// ANCHOR: conversions
impl TryFrom<SharedDatabase> for crate::SharedDatabase {
    type Error = InvalidSecret;

    fn try_from(old: SharedDatabase) -> Result<Self, InvalidSecret> {
        let (namespace, name) = old.spec.secret.split_once('/').ok_or(InvalidSecret)?;
        Ok(Self {
            metadata: old.metadata,
            spec: crate::SharedDatabaseSpec {
                credentials: SecretReference {
                    namespace: namespace.into(),
                    name: name.into(),
                },
                host: old.spec.host,
                // What this version cannot say; the framework keeps it for objects that say it in the other version.
                engine: Engine::default(),
                port: None,
                namespaces: old.spec.namespaces,
            },
            status: old.status,
        })
    }
}

impl From<crate::SharedDatabase> for SharedDatabase {
    fn from(new: crate::SharedDatabase) -> Self {
        let SecretReference { namespace, name } = new.spec.credentials;
        Self {
            metadata: new.metadata,
            spec: SharedDatabaseSpec {
                host: new.spec.host,
                secret: format!("{namespace}/{name}"),
                namespaces: new.spec.namespaces,
            },
            status: new.status,
        }
    }
}
// ANCHOR_END: conversions
