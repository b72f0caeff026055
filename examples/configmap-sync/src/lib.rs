//! One set of settings, kept as a ConfigMap in every namespace that asks for it.

use pilothouse::{k8s::api::core::v1::Namespace, prelude::*, resource::ObjectKey};

// ANCHOR: kind
/// The annotation by which a Namespace asks for a SharedConfig: its namespace, `/` and its name.
pub const ASKS_FOR: &str = "demo.pilothouse.dev/shared-config";

/// Settings that many namespaces share.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.pilothouse.dev", version = "v1", namespaced)]
pub struct SharedConfig {
    pub metadata: ObjectMeta,
    pub spec: SharedConfigSpec,
    pub status: Option<SharedConfigStatus>,
}

/// What is shared.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedConfigSpec {
    /// What the ConfigMaps hold.
    pub data: BTreeMap<String, String>,
}

/// How far it is shared.
#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SharedConfigStatus {
    /// Number of namespaces that have a copy.
    #[schema(column = "Copies")]
    pub copies: i32,
}
// ANCHOR_END: kind

struct SharedConfigReconciler;

// ANCHOR: reconciler
impl Reconciler for SharedConfigReconciler {
    type Resource = SharedConfig;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns_detached::<ConfigMap>()
            .prunes::<ConfigMap>()
            .finalizer("demo.pilothouse.dev/shared-config")
            // Of an annotation that changes both the old and the new value count.
            .watches::<Namespace>(|namespace| asked_for(namespace).into_iter().collect())
    }

    async fn reconcile(
        &self,
        shared: Arc<SharedConfig>,
        cx: &Context<SharedConfig>,
    ) -> Result<Action> {
        let mut copies = 0;
        for namespace in cx.list_all::<Namespace>()?.items {
            if asked_for(&namespace).as_ref() == Some(cx.key()) && !namespace.is_deleting() {
                cx.apply_detached(copy(&shared, &namespace)).await?;
                copies += 1;
            }
        }
        cx.update_status(SharedConfigStatus { copies }).await?;
        Ok(Action::wait())
    }
}

// The copies go with their SharedConfig; there is nothing else to undo.
impl Cleanup for SharedConfigReconciler {}
// ANCHOR_END: reconciler

/// The SharedConfig that a Namespace asks for.
fn asked_for(namespace: &Namespace) -> Option<ObjectKey> {
    let annotations = namespace.metadata.annotations.as_ref()?;
    let (namespace, name) = annotations.get(ASKS_FOR)?.split_once('/')?;
    Some(ObjectKey::namespaced(namespace, name))
}

/// What a Namespace gets.
fn copy(shared: &SharedConfig, namespace: &Namespace) -> ConfigMap {
    let mut copy = ConfigMap::named(shared.name());
    copy.metadata.namespace = Some(namespace.name().into());
    copy.data = Some(shared.spec.data.clone());
    copy
}

/// The operator, for `main` and for tests.
pub fn operator() -> Operator {
    Operator::new("configmap-sync").controller(SharedConfigReconciler)
}
