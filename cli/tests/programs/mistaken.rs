//! The operator after a change with a mistake in a rule, which only an API server finds.

use pilothouse::prelude::*;

#[derive(Resource, Clone, Debug)]
#[resource(group = "example.com", version = "v1", namespaced)]
pub(super) struct Greeting {
    metadata: ObjectMeta,
    spec: GreetingSpec,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[schema(rule("self.words > 0", "must have words"))]
pub(super) struct GreetingSpec {
    text: String,
}

struct MistakenReconciler;

impl Reconciler for MistakenReconciler {
    type Resource = Greeting;

    async fn reconcile(&self, _: Arc<Greeting>, _: &Context<Greeting>) -> Result<Action> {
        Ok(Action::wait())
    }
}

pub(super) fn operator() -> Operator {
    Operator::new("greeting").controller(MistakenReconciler)
}
