//! A type with a mistake is used everywhere: there is one error for each mistake.

use pilothouse::prelude::*;

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo", version = "v1", namespaced)]
struct Website {
    metadata: ObjectMeta,
    spec: WebsiteSpec,
    status: Option<WebsiteStatus>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct WebsiteSpec {
    #[schema(minium = 0, scale = "spec")]
    replicas: i32,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct WebsiteStatus {
    #[schema(scale = "status")]
    ready_replicas: i32,
}

struct WebsiteReconciler;

impl Reconciler for WebsiteReconciler {
    type Resource = Website;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<ConfigMap>()
    }

    async fn reconcile(&self, site: Arc<Website>, cx: &Context<Website>) -> Result<Action> {
        cx.apply(ConfigMap::named(site.name())).await?;
        Ok(Action::wait())
    }
}

fn main() -> ExitCode {
    drop(<Website as pilothouse::crd::CustomResource>::crd());
    Operator::new("website").controller(WebsiteReconciler).main()
}
