//! One set of settings, kept as a ConfigMap in every namespace that asks for it by a label.

use pilothouse::{
    client::{Api, DeleteParams},
    k8s::api::core::v1::Namespace,
    prelude::*,
    resource::ObjectKey,
};

// ANCHOR: kind
/// The label by which a Namespace asks for the SharedConfig of that name.
pub const LABEL: &str = "demo.pilothouse.dev/shared-config";

/// Settings that many namespaces share.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.pilothouse.dev", version = "v1", cluster)]
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
            .owns::<ConfigMap>()
            .deletes::<ConfigMap>()
            // Of a label that changes both the old and the new value count.
            .watches::<Namespace>(|namespace| wanted(namespace).into_iter().collect())
    }

    async fn reconcile(
        &self,
        shared: Arc<SharedConfig>,
        cx: &Context<SharedConfig>,
    ) -> Result<Action> {
        let mut copies = 0;
        for namespace in cx.list_all::<Namespace>()?.items {
            if wanted(&namespace).as_ref() == Some(cx.key()) && !namespace.is_deleting() {
                cx.apply(copy(&shared, &namespace)).await?;
                copies += 1;
            }
        }
        for copy in cx.list_owned::<ConfigMap>()?.items {
            let namespace = cx.get::<Namespace>(copy.namespace().unwrap_or_default())?;
            if namespace.is_none_or(|namespace| wanted(&namespace).as_ref() != Some(cx.key())) {
                delete(cx, &copy).await?;
            }
        }
        cx.update_status(SharedConfigStatus { copies }).await?;
        Ok(Action::wait())
    }
}
// ANCHOR_END: reconciler

/// The SharedConfig that a Namespace asks for.
fn wanted(namespace: &Namespace) -> Option<ObjectKey> {
    namespace.label(LABEL).map(ObjectKey::cluster)
}

/// What a Namespace gets.
fn copy(shared: &SharedConfig, namespace: &Namespace) -> ConfigMap {
    let mut copy = ConfigMap::named(shared.name());
    copy.metadata.namespace = Some(namespace.name().into());
    copy.data = Some(shared.spec.data.clone());
    copy
}

/// Takes a copy away that is not wanted any more.
async fn delete(cx: &Context<SharedConfig>, copy: &ConfigMap) -> Result<()> {
    let maps = Api::<ConfigMap>::namespaced(cx.live(), copy.namespace().unwrap_or_default());
    match maps.delete(copy.name(), &DeleteParams::default()).await {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

/// The operator, for `main` and for tests.
pub fn operator() -> Operator {
    Operator::new("configmap-sync").controller(SharedConfigReconciler)
}
