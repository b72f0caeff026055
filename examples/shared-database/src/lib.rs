//! One database that many namespaces use. Each of them gets a Service with the database's name and a Secret with the credentials.
//!
//! | file | holds |
//! | --- | --- |
//! | `lib.rs` | the kind in its stored version `v1`, and its reconciler |
//! | `v1beta1.rs` | the older version, and the conversions |
//! | `admission.rs` | what the API server asks before it stores an object: a default, and a rule across objects |

mod admission;
pub mod v1beta1;

pub use admission::{PRIVATE, PrivateNamespaces, UsualPort};
use pilothouse::{
    controller::Child,
    k8s::{
        ByteString,
        api::core::v1::{Namespace, ServicePort, ServiceSpec},
    },
    prelude::*,
    resource::ObjectKey,
};

// ANCHOR: kind
/// A database, and the namespaces that use it.
#[derive(Resource, Clone, Debug)]
#[resource(
    group = "demo.pilothouse.dev",
    version = "v1",
    cluster,
    served(v1beta1::SharedDatabase)
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
    /// What the server runs.
    #[serde(default)]
    pub engine: Engine,
    /// The port of the server. Without it, it is the usual one of the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 65535, column = "Port")]
    pub port: Option<i32>,
    /// The Secret with the keys `user` and `password`.
    pub credentials: SecretReference,
    /// The namespaces that use the database.
    #[serde(default)]
    #[schema(list_type = "set", max_items = 1000)]
    pub namespaces: Vec<String>,
}

/// What a server runs.
#[derive(Schema, Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Engine {
    #[default]
    PostgreSQL,
    MySQL,
}

/// A Secret of a namespace.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretReference {
    #[schema(pattern = "^[a-z0-9-]{1,63}$")]
    pub namespace: String,
    #[schema(pattern = "^[a-z0-9.-]{1,253}$")]
    pub name: String,
}

/// Which namespaces are served.
#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SharedDatabaseStatus {
    /// Number of namespaces that have the Service and the Secret.
    #[schema(column = "Served")]
    pub served: i32,
    /// The namespaces that do not exist or are being deleted.
    #[schema(list_type = "set")]
    pub missing: Vec<String>,
    /// The framework sets `Ready`.
    pub conditions: Vec<Condition>,
}

// ANCHOR_END: kind

impl SharedDatabase {
    fn port(&self) -> i32 {
        let usual = match self.spec.engine {
            Engine::PostgreSQL => 5432,
            Engine::MySQL => 3306,
        };
        self.spec.port.unwrap_or(usual)
    }
}

struct SharedDatabaseReconciler;

// ANCHOR: reconciler
impl Reconciler for SharedDatabaseReconciler {
    type Resource = SharedDatabase;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            // An owner without a namespace can own objects of all namespaces.
            .owns::<Service>()
            .owns::<Secret>()
            // A namespace that leaves the list loses both.
            .prunes::<Service>()
            .prunes::<Secret>()
            .watches_indexed::<Secret>(credentials)
            .watches_indexed::<Namespace>(namespaces)
    }

    async fn reconcile(
        &self,
        database: Arc<SharedDatabase>,
        cx: &Context<SharedDatabase>,
    ) -> Result<Action> {
        let SecretReference { namespace, name } = &database.spec.credentials;
        // Without the credentials nothing is written, and nothing is pruned.
        let credentials = cx.get_in::<Secret>(namespace, name)?.ok_or_else(|| {
            Failure::waiting(format!("the Secret {namespace}/{name} does not exist yet"))
        })?;
        let (mut served, mut missing) = (0, Vec::new());
        for namespace in &database.spec.namespaces {
            match cx.get::<Namespace>(namespace)? {
                Some(found) if !found.is_deleting() => {
                    // A Service of this name that somebody made by hand is taken over. A Secret is not: it may be another one.
                    let service = Child::new(service(&database, namespace)).adopting();
                    cx.apply_child(service).await?;
                    cx.apply(connection(&database, namespace, &credentials)?)
                        .await?;
                    served += 1;
                }
                _ => missing.push(namespace.clone()),
            }
        }
        cx.update_status(SharedDatabaseStatus {
            served,
            missing,
            ..Default::default()
        })
        .await?;
        Ok(Action::wait())
    }
}
// ANCHOR_END: reconciler

// ANCHOR: indexes
/// The Secret that a SharedDatabase names.
fn credentials(database: &SharedDatabase) -> Vec<ObjectKey> {
    let SecretReference { namespace, name } = &database.spec.credentials;
    vec![ObjectKey::namespaced(namespace, name)]
}

/// The Namespaces that a SharedDatabase names.
fn namespaces(database: &SharedDatabase) -> Vec<ObjectKey> {
    let names = database.spec.namespaces.iter();
    names.map(|name| ObjectKey::new(None, name)).collect()
}
// ANCHOR_END: indexes

// ANCHOR: children
/// The name under which Pods of a namespace find the database.
fn service(database: &SharedDatabase, namespace: &str) -> Service {
    let port = ServicePort {
        name: Some("database".into()),
        port: database.port(),
        ..Default::default()
    };
    Service {
        spec: Some(ServiceSpec {
            type_: Some("ExternalName".into()),
            external_name: Some(database.spec.host.clone()),
            ports: Some(vec![port]),
            ..Default::default()
        }),
        ..within(database, namespace)
    }
}

/// What a Pod of a namespace needs to connect.
fn connection(database: &SharedDatabase, namespace: &str, credentials: &Secret) -> Result<Secret> {
    let value = |key: &str| {
        let value = credentials.data.as_ref().and_then(|data| data.get(key));
        value.cloned().ok_or_else(|| {
            // No retry helps before a person adds the key.
            Failure::new(format!(
                "the Secret with the credentials has no key `{key}`"
            ))
            .terminal()
        })
    };
    let text = |text: &str| ByteString(text.as_bytes().to_vec());
    let data = [
        ("host", text(database.name())),
        ("port", text(&database.port().to_string())),
        ("user", value("user")?),
        ("password", value("password")?),
    ];
    Ok(Secret {
        data: Some(data.map(|(key, value)| (key.into(), value)).into()),
        ..within(database, namespace)
    })
}

/// An object with the database's name in a namespace.
fn within<K: Object + Default>(database: &SharedDatabase, namespace: &str) -> K {
    let mut object = K::named(database.name());
    object.metadata_mut().namespace = Some(namespace.into());
    object
}
// ANCHOR_END: children

/// The operator, for `main` and for the tests.
pub fn operator() -> Operator {
    Operator::new("shared-database")
        .controller(SharedDatabaseReconciler)
        .mutates(UsualPort)
        .validates(PrivateNamespaces)
}
