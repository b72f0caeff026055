//! The kind of the recipes, and its Deployment.

// ANCHOR: kind
use pilothouse::prelude::*;

/// A web site.
#[derive(Resource, Clone, Debug, Default)]
#[resource(group = "book.pilothouse.dev", version = "v1", namespaced)]
pub(crate) struct Site {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: SiteSpec,
    pub(crate) status: Option<SiteStatus>,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SiteSpec {
    /// Image of the web server.
    pub(crate) image: String,
    /// Number of Pods.
    pub(crate) replicas: i32,
    /// Each region has a Deployment of its own.
    pub(crate) regions: Vec<String>,
    /// An autoscaler sets the number of Pods.
    pub(crate) autoscaled: bool,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SiteStatus {
    /// Number of Pods that serve.
    pub(crate) ready: i32,
    /// UID of the Deployment.
    pub(crate) deployment: Option<String>,
    /// What the operator would change.
    pub(crate) plan: Option<String>,
    pub(crate) conditions: Vec<Condition>,
}

/// A Deployment of the web server with this name.
pub(crate) fn deployment(name: &str, site: &Site) -> Deployment {
    let labels = Labels::from([("app", name)]);
    let server = Container {
        name: "server".into(),
        image: Some(site.spec.image.clone()),
        ..Default::default()
    };
    Deployment {
        spec: DeploymentSpec {
            replicas: Some(site.spec.replicas),
            selector: labels.selector(),
            template: PodTemplateSpec {
                metadata: Some(labels.metadata()),
                spec: Some(PodSpec {
                    containers: vec![server],
                    ..Default::default()
                }),
            },
            ..Default::default()
        },
        ..Deployment::named(name)
    }
}

/// Number of Pods of a Deployment that are ready.
pub(crate) fn ready(web: &Deployment) -> i32 {
    let status = web.status.as_ref();
    status.and_then(|status| status.ready_replicas).unwrap_or(0)
}
// ANCHOR_END: kind
