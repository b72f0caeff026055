//! The operator after a change: its definition has one more field, and its text is in capitals.

use pilothouse::prelude::*;

#[derive(Resource, Clone, Debug)]
#[resource(group = "example.com", version = "v1", namespaced)]
pub(super) struct Greeting {
    metadata: ObjectMeta,
    spec: GreetingSpec,
    status: Option<GreetingStatus>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GreetingSpec {
    text: String,
    /// The field that the first definition does not have.
    ending: Option<String>,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct GreetingStatus {
    size: i64,
    conditions: Vec<Condition>,
}

struct LoudReconciler;

impl Reconciler for LoudReconciler {
    type Resource = Greeting;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<ConfigMap>()
    }

    async fn reconcile(&self, object: Arc<Greeting>, cx: &Context<Greeting>) -> Result<Action> {
        let ending = object.spec.ending.as_deref().unwrap_or_default();
        let text = object.spec.text.to_uppercase() + ending;
        cx.apply(ConfigMap {
            data: Some([("text".into(), text)].into()),
            ..ConfigMap::named(object.name())
        })
        .await?;
        Ok(Action::wait())
    }
}

pub(super) fn operator() -> Operator {
    Operator::new("greeting").controller(LoudReconciler)
}
