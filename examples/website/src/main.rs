//! The smallest real operator: static web sites that nginx serves from a ConfigMap.

// ANCHOR: program
use pilothouse::prelude::*;

// ANCHOR: kind
/// A static web site served by nginx.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.pilothouse.dev", version = "v1", namespaced)]
pub struct Website {
    pub metadata: ObjectMeta,
    pub spec: WebsiteSpec,
    pub status: Option<WebsiteStatus>,
}

/// The desired site.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebsiteSpec {
    /// Number of pods to run.
    #[serde(default = "one")]
    #[schema(minimum = 0, maximum = 100, scale = "spec")]
    pub replicas: i32,
    /// Page served at `/`.
    #[schema(rule("self.size() > 0", "html must not be empty"))]
    pub html: String,
}

/// The state of the site.
#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WebsiteStatus {
    /// Number of pods that serve the page.
    #[schema(column = "Ready", scale = "status")]
    pub ready_replicas: i32,
    /// The framework sets `Ready`: whether the last reconcile succeeded, and why not.
    pub conditions: Vec<Condition>,
}

fn one() -> i32 {
    1
}

// ANCHOR_END: kind

// ANCHOR: reconciler
pub struct WebsiteReconciler;

impl Reconciler for WebsiteReconciler {
    type Resource = Website;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Deployment>().owns::<ConfigMap>()
    }

    async fn reconcile(&self, site: Arc<Website>, cx: &Context<Website>) -> Result<Action> {
        cx.apply(page(&site)).await?;
        let deployment = cx.apply(deployment(&site)).await?;
        cx.update_status(WebsiteStatus::from(&deployment)).await?;
        Ok(Action::wait())
    }
}

// ANCHOR_END: reconciler

impl From<&Deployment> for WebsiteStatus {
    fn from(deployment: &Deployment) -> Self {
        let status = deployment.status.clone().unwrap_or_default();
        Self {
            ready_replicas: status.ready_replicas.unwrap_or_default(),
            ..Self::default()
        }
    }
}

// ANCHOR: children
/// The ConfigMap with the page, for the volume of nginx.
fn page(site: &Website) -> ConfigMap {
    ConfigMap {
        data: Some([("index.html".into(), site.spec.html.clone())].into()),
        ..ConfigMap::named(site.name())
    }
}

/// The Deployment of nginx, with the page mounted in each pod.
fn deployment(site: &Website) -> Deployment {
    let labels = Labels::from([("app", site.name())]);
    let page = Volume {
        name: "page".into(),
        config_map: Some(ConfigMapVolumeSource {
            name: page(site).name().into(),
            ..Default::default()
        }),
        ..Default::default()
    };
    let mount = VolumeMount {
        name: page.name.clone(),
        mount_path: "/usr/share/nginx/html".into(),
        ..Default::default()
    };
    let nginx = Container {
        name: "nginx".into(),
        image: Some("nginx:1.29-alpine".into()),
        volume_mounts: Some(vec![mount]),
        ..Default::default()
    };
    Deployment {
        spec: DeploymentSpec {
            replicas: Some(site.spec.replicas),
            selector: labels.selector(),
            template: PodTemplateSpec {
                metadata: Some(labels.metadata()),
                spec: Some(PodSpec {
                    containers: vec![nginx],
                    volumes: Some(vec![page]),
                    ..Default::default()
                }),
            },
            ..Default::default()
        },
        ..Deployment::named(site.name())
    }
}

// ANCHOR_END: children

// ANCHOR: main
fn main() -> ExitCode {
    Operator::new("website")
        .version(env!("CARGO_PKG_VERSION"))
        .example("examples/website/site.yaml")
        .controller(WebsiteReconciler)
        .main()
}
// ANCHOR_END: main
// ANCHOR_END: program
