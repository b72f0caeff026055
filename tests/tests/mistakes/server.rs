//! Requests that an API server refuses.

use pilothouse::{
    client::{Api, PostParams},
    prelude::*,
    testing::Cluster,
};
use serde_json::json;

use super::{Mistake, error, mistake};

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct Site {
    metadata: ObjectMeta,
    spec: SiteSpec,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct SiteSpec {
    #[schema(minimum = 0, maximum = 10)]
    replicas: i32,
    #[schema(rule("self.startsWith('<')", "html must be HTML"))]
    html: String,
    #[serde(default, with = "pilothouse::resource::duration")]
    timeout: Option<Duration>,
}

fn site(name: &str, replicas: i32, html: &str) -> Site {
    Site {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some("default".to_owned()),
            ..ObjectMeta::default()
        },
        spec: SiteSpec {
            replicas,
            html: html.to_owned(),
            timeout: None,
        },
    }
}

pub(super) async fn all() -> Vec<Mistake> {
    let cluster = Cluster::start().unwrap();
    cluster.install::<Site>().await.unwrap();
    let mut all = Vec::new();
    let refused = async |site: Site| error(cluster.create(&site).await);
    all.push(mistake(
        "A number is above its bound.",
        refused(site("web", 11, "<p>")).await,
    ));
    all.push(mistake(
        "A value violates a rule.",
        refused(site("web", 1, "hello")).await,
    ));
    all.push(mistake(
        "The name of an object has capital letters.",
        refused(site("Web", 1, "<p>")).await,
    ));
    let created = cluster.create(&site("web", 1, "<p>")).await.unwrap();
    all.push(mistake(
        "An object of this name exists.",
        refused(site("web", 1, "<p>")).await,
    ));
    let mut missing = site("web", 1, "<p>");
    missing.metadata.namespace = Some("nowhere".to_owned());
    let api = Api::<Site>::namespaced(cluster.client(), "nowhere");
    let created_nowhere = api.create(&PostParams::default(), &missing).await;
    all.push(mistake(
        "The namespace of an object does not exist.",
        error(created_nowhere),
    ));
    let mut stale = created.clone();
    stale.metadata.resource_version = Some("1".to_owned());
    let sites = cluster.api::<Site>();
    let replaced = sites.replace("web", &PostParams::default(), &stale).await;
    all.push(mistake(
        "An object is replaced that has changed since it was read.",
        error(replaced),
    ));
    let patch = json!({"spec": {"timeout": "2 days"}});
    let patched = cluster.patch::<Site>("web", patch).await;
    all.push(mistake("A duration is not in Go's form.", error(patched)));
    all
}
