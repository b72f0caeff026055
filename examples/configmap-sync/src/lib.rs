//! One set of settings, copied into a ConfigMap in each namespace that asks for it.

use pilothouse::{
    controller::{Child, Owned},
    k8s::api::core::v1::Namespace,
    prelude::*,
    resource::ObjectKey,
};

// ANCHOR: kind
/// The annotation with which a Namespace asks for a SharedConfig. Its value is `namespace/name`.
pub const ASKS_FOR: &str = "demo.pilothouse.dev/shared-config";

/// Settings that many namespaces share.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.pilothouse.dev", version = "v1", namespaced)]
pub struct SharedConfig {
    pub metadata: ObjectMeta,
    pub spec: SharedConfigSpec,
    pub status: Option<SharedConfigStatus>,
}

/// The shared settings.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedConfigSpec {
    /// The data of the ConfigMaps.
    pub data: BTreeMap<String, String>,
}

/// The state of the copies.
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
            .watch(Owned::<ConfigMap>::new().detached())
            .prunes::<ConfigMap>()
            .finalizer("demo.pilothouse.dev/shared-config")
            // The framework maps both the old and the new Namespace of a change.
            .watches::<Namespace>(|namespace| asked_for(namespace).into_iter().collect())
            .index(asked_for)
    }

    async fn reconcile(
        &self,
        shared: Arc<SharedConfig>,
        cx: &Context<SharedConfig>,
    ) -> Result<Action> {
        let (mut copies, mut failed) = (0, None);
        for namespace in cx.indexed(asked_for, cx.key())?.items {
            if !namespace.is_deleting() {
                let child = Child::new(copy(&shared, &namespace)).detached();
                match cx.apply_child(child).await {
                    Ok(_) => copies += 1,
                    // One namespace that refuses its copy does not hold up the others.
                    Err(error) => failed = Some(error),
                }
            }
        }
        cx.update_status(SharedConfigStatus { copies }).await?;
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(Action::wait()),
        }
    }
}

// The framework deletes the copies with their SharedConfig. There is nothing else to undo.
impl Cleanup for SharedConfigReconciler {}
// ANCHOR_END: reconciler

/// The SharedConfig that a Namespace asks for.
fn asked_for(namespace: &Namespace) -> Option<ObjectKey> {
    let annotations = namespace.metadata.annotations.as_ref()?;
    let (namespace, name) = annotations.get(ASKS_FOR)?.split_once('/')?;
    Some(ObjectKey::namespaced(namespace, name))
}

/// The copy for a Namespace.
fn copy(shared: &SharedConfig, namespace: &Namespace) -> ConfigMap {
    let mut copy = ConfigMap::named(shared.name());
    copy.metadata.namespace = Some(namespace.name().into());
    copy.data = Some(shared.spec.data.clone());
    copy
}

/// The operator, for `main` and for the tests.
pub fn operator() -> Operator {
    Operator::new("configmap-sync").controller(SharedConfigReconciler)
}
