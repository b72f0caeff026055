//! An operator with a rule that an API server refuses, because it may take too long.

use pilothouse::prelude::*;

#[derive(Resource, Clone, Debug)]
#[resource(group = "example.com", version = "v1", namespaced)]
pub(super) struct Basket {
    metadata: ObjectMeta,
    spec: BasketSpec,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BasketSpec {
    #[schema(rule("self.all(a, self.all(b, a == b))", "must be of one sort"))]
    fruits: Vec<String>,
}

struct BasketReconciler;

impl Reconciler for BasketReconciler {
    type Resource = Basket;

    async fn reconcile(&self, _: Arc<Basket>, _: &Context<Basket>) -> Result<Action> {
        Ok(Action::wait())
    }
}

pub(super) fn operator() -> Operator {
    Operator::new("basket").controller(BasketReconciler)
}
