//! An operator whose reconcile never ends. It has a kind that the API server only stores.

use greeting::Greeting;
use pilothouse::{k8s::api::networking::v1::Ingress, prelude::*};

struct StuckReconciler;

impl Reconciler for StuckReconciler {
    type Resource = Greeting;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<ConfigMap>().owns::<Ingress>()
    }

    async fn reconcile(&self, object: Arc<Greeting>, cx: &Context<Greeting>) -> Result<Action> {
        let text = Some([("text".into(), object.spec.text.clone())].into());
        cx.apply(ConfigMap {
            data: text,
            ..ConfigMap::named(object.name())
        })
        .await?;
        std::future::pending().await
    }
}

pub(super) fn operator() -> Operator {
    Operator::new("greeting").controller(StuckReconciler)
}
