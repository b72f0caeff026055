use pilothouse::prelude::*;

/// What a user asks for. This text is the description of the kind in `kubectl explain`.
#[derive(Resource, Clone, Debug)]
#[resource(group = "example.com", version = "v1", namespaced)]
pub struct Greeting {
    pub metadata: ObjectMeta,
    pub spec: GreetingSpec,
    pub status: Option<GreetingStatus>,
}

/// The desired state.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GreetingSpec {
    /// The text of the ConfigMap.
    #[schema(min_length = 1)]
    pub text: String,
}

/// The observed state.
#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GreetingStatus {
    /// Number of bytes of the text that the ConfigMap holds.
    #[schema(column = "Size")]
    pub size: i64,
    /// The framework sets `Ready`: whether the last reconcile succeeded, and why not.
    pub conditions: Vec<Condition>,
}

/// Keeps a ConfigMap for each Greeting.
pub struct GreetingReconciler;

impl Reconciler for GreetingReconciler {
    type Resource = Greeting;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        // A change of an owned object leads to another reconcile of its owner.
        controller.owns::<ConfigMap>()
    }

    async fn reconcile(&self, object: Arc<Greeting>, cx: &Context<Greeting>) -> Result<Action> {
        // The framework sets namespace and owner, and sends nothing if the ConfigMap is as it should be.
        let map = cx.apply(config_map(&object)).await?;
        let texts = map.data.iter().flatten();
        let size = texts.map(|(_, text)| text.len() as i64).sum();
        cx.update_status(GreetingStatus {
            size,
            ..Default::default()
        })
        .await?;
        Ok(Action::wait())
    }
}

/// The ConfigMap of a Greeting.
fn config_map(object: &Greeting) -> ConfigMap {
    ConfigMap {
        data: Some([("text".into(), object.spec.text.clone())].into()),
        ..ConfigMap::named(object.name())
    }
}
