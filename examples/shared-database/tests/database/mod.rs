use pilothouse::prelude::*;
use shared_database::{Engine, SecretReference, SharedDatabase, SharedDatabaseSpec};

/// The database `orders`, for these namespaces.
pub(crate) fn database(namespaces: &[&str]) -> SharedDatabase {
    SharedDatabase {
        metadata: ObjectMeta {
            name: Some("orders".into()),
            ..Default::default()
        },
        spec: SharedDatabaseSpec {
            host: "orders.example.com".into(),
            engine: Engine::PostgreSQL,
            port: None,
            credentials: SecretReference {
                namespace: "default".into(),
                name: "credentials".into(),
            },
            namespaces: namespaces.iter().map(|name| (*name).into()).collect(),
        },
        status: None,
    }
}
