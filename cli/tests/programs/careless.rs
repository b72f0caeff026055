//! An operator with each of the mistakes that `check` finds.

use std::sync::atomic::{AtomicU64, Ordering};

use pilothouse::{
    client::{Api, Patch, PatchParams, PostParams},
    prelude::*,
    resource::AccessRule,
};
use serde_json::json;

#[derive(Resource, Clone, Debug)]
#[resource(group = "example.com", version = "v1", namespaced)]
pub(super) struct Page {
    metadata: ObjectMeta,
    spec: PageSpec,
    status: Option<PageStatus>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageSpec {
    #[schema(min_length = 1)]
    text: String,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PageStatus {
    size: i64,
}

struct Careless;

/// A value that differs in each reconcile.
static COUNT: AtomicU64 = AtomicU64::new(0);

impl Reconciler for Careless {
    type Resource = Page;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns::<Deployment>()
            .owns::<Service>()
            .access(AccessRule::of::<ConfigMap>(["patch"]))
            .access(AccessRule::of::<Secret>(["create"]))
    }

    async fn reconcile(&self, page: Arc<Page>, cx: &Context<Page>) -> Result<Action> {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        if count == 0 {
            // The server chooses the name.
            let mut secret = Secret::default();
            secret.metadata.generate_name = Some("home-".into());
            let secrets = Api::<Secret>::namespaced(cx.live(), "default");
            secrets.create(&PostParams::default(), &secret).await?;
        }
        // Without the framework, so that it has no owner.
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": page.name()}, "data": {"text": page.spec.text, "count": count.to_string()}});
        let maps = Api::<ConfigMap>::namespaced(cx.live(), "default");
        let params = PatchParams::apply("careless").force();
        maps.patch(page.name(), &params, &Patch::Apply(map)).await?;
        cx.apply(deployment(&page)).await?;
        cx.update_status(PageStatus { size: 1 }).await?;
        Ok(Action::wait())
    }
}

fn deployment(page: &Page) -> Deployment {
    let labels: BTreeMap<String, String> = [("page".into(), page.name().into())].into();
    Deployment {
        spec: DeploymentSpec {
            selector: LabelSelector {
                match_labels: Some(labels.clone()),
                ..Default::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    ..Default::default()
                }),
                spec: Some(PodSpec {
                    containers: vec![Container {
                        name: "web".into(),
                        image: Some("nginx".into()),
                        ..Default::default()
                    }],
                    ..Default::default()
                }),
            },
            ..Default::default()
        },
        ..Deployment::named(page.name())
    }
}

pub(super) fn operator() -> Operator {
    Operator::new("careless").controller(Careless)
}
