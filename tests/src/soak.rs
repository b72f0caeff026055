//! The operator of the soak test: a kind that owns ConfigMaps. The operator's program and the test that checks the
//! result share it.

use pilothouse::prelude::*;

/// A number of ConfigMaps with the same text.
#[derive(Resource, Clone, Debug)]
#[resource(group = "soak.pilothouse.dev", version = "v1", namespaced)]
pub struct Bundle {
    /// Name, labels and the rest.
    pub metadata: ObjectMeta,
    /// The desired state.
    pub spec: BundleSpec,
    /// The observed state.
    pub status: Option<BundleStatus>,
}

/// The desired state of a [`Bundle`].
#[derive(Schema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct BundleSpec {
    /// Number of ConfigMaps.
    pub size: i32,
    /// The value of each ConfigMap under [`TEXT`].
    pub text: String,
}

/// The observed state of a [`Bundle`].
#[derive(Schema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct BundleStatus {
    /// Number of ConfigMaps that were applied.
    pub applied: i32,
    /// The text that they were applied with.
    pub text: String,
}

/// The key that the operator writes in each ConfigMap.
pub const TEXT: &str = "text";
/// The label of each ConfigMap that the operator creates.
pub const LABEL: &str = "soak.pilothouse.dev/bundle";

/// Returns the ConfigMaps of a bundle.
pub fn children(bundle: &Bundle) -> Vec<ConfigMap> {
    let child = |number| {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(format!("{}-{number}", bundle.name()));
        map.metadata.labels = Some([(LABEL.to_owned(), bundle.name().to_owned())].into());
        map.data = Some([(TEXT.to_owned(), bundle.spec.text.clone())].into());
        map
    };
    (0..bundle.spec.size).map(child).collect()
}

struct BundleReconciler;

impl Reconciler for BundleReconciler {
    type Resource = Bundle;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns::<ConfigMap>()
            .prunes::<ConfigMap>()
            .concurrency(8)
    }

    async fn reconcile(&self, bundle: Arc<Bundle>, cx: &Context<Bundle>) -> Result<Action> {
        for child in children(&bundle) {
            cx.apply(child).await?;
        }
        cx.update_status(BundleStatus {
            applied: bundle.spec.size,
            text: bundle.spec.text.clone(),
        })
        .await?;
        Ok(Action::wait())
    }
}

/// Returns the operator.
pub fn operator() -> Operator {
    Operator::new("soak").controller(BundleReconciler)
}
