//! The operator of the soak: a kind that owns ConfigMaps, shared by its program and by the test that judges the result.

use pilothouse::prelude::*;

/// A number of ConfigMaps with the same text.
#[derive(Resource, Clone, Debug)]
#[resource(group = "soak.pilothouse.dev", version = "v1", namespaced)]
pub struct Bundle {
    /// Name, labels and the rest.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: BundleSpec,
    /// What is there.
    pub status: Option<BundleStatus>,
}

/// What a [`Bundle`] asks for.
#[derive(Schema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct BundleSpec {
    /// Number of ConfigMaps.
    pub size: i32,
    /// What each of them holds under [`TEXT`].
    pub text: String,
}

/// What a [`Bundle`] has.
#[derive(Schema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct BundleStatus {
    /// Number of ConfigMaps that were applied.
    pub applied: i32,
    /// The text that they were applied with.
    pub text: String,
}

/// The key of a ConfigMap that the operator writes.
pub const TEXT: &str = "text";
/// The label of each ConfigMap that the operator makes.
pub const LABEL: &str = "soak.pilothouse.dev/bundle";

/// The ConfigMaps that a bundle asks for.
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

/// The operator.
pub fn operator() -> Operator {
    Operator::new("soak").controller(BundleReconciler)
}
