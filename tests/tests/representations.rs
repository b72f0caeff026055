//! The parts of each object that a cache holds: the whole object, the metadata, or the fields of a view.

use std::sync::Arc;

use pilothouse::{
    Resource,
    cache::{Index, InformerScope, Informers},
    client::{ErrorKind, PostParams},
    k8s::api::core::v1::{ConfigMap, Pod},
    metrics::Metrics,
    resource::{ApiResource, Object, ObjectKey, ObjectMeta, PartialObject},
    testing::Cluster,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_util::sync::CancellationToken;

#[derive(Resource, Deserialize, Serialize, Clone, Debug)]
#[resource(view_of = Pod)]
struct PodOnNode {
    metadata: ObjectMeta,
    spec: OnNode,
}

#[derive(Deserialize, Serialize, Clone, Debug)]
#[serde(rename_all = "camelCase")]
struct OnNode {
    node_name: Option<String>,
}

fn pod(name: &str, node: &str) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "nginx"}]},
    }))
    .unwrap()
}

fn watches(cluster: &Cluster, resource: &str) -> usize {
    let requests = cluster.requests().into_iter();
    let watches =
        requests.filter(|request| request.resource == resource && request.verb == "watch");
    watches.count()
}

fn informers(cluster: &Cluster) -> Informers {
    let informers = Informers::new(cluster.client().clone(), Metrics::new());
    informers.start(&CancellationToken::new());
    informers
}

#[tokio::test(start_paused = true)]
async fn metadata_and_whole_objects_have_separate_informers_and_one_watch() {
    let cluster = Cluster::start().unwrap();
    let mut map = ConfigMap::named("settings");
    map.data = Some([("key".to_owned(), "value".to_owned())].into());
    cluster.create(&map).await.unwrap();
    let informers = informers(&cluster);
    let scope = || InformerScope::all().namespace("default");
    let whole = informers.informer::<ConfigMap>(scope());
    let light = informers.metadata::<ConfigMap>(scope());
    let (again, same) = (
        informers.metadata::<ConfigMap>(scope()),
        informers.informer::<PartialObject<ConfigMap>>(scope()),
    );
    for synced in [light.synced().await, whole.synced().await] {
        assert!(synced);
    }
    let key = ObjectKey::namespaced("default", "settings");
    let read = light.lister().get(&key).unwrap().unwrap();
    assert_eq!(read.name(), "settings");
    for other in [again, same] {
        assert!(Arc::ptr_eq(
            &read,
            &other.lister().get(&key).unwrap().unwrap()
        ));
    }
    assert!(whole.lister().get(&key).unwrap().unwrap().data.is_some());
    assert_eq!(informers.statuses().len(), 2);
    assert_eq!(watches(&cluster, "configmaps"), 1);
    informers.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_view_holds_only_the_fields_that_it_names() {
    let cluster = Cluster::start().unwrap();
    cluster.create(&pod("web", "node-1")).await.unwrap();
    cluster.create(&pod("db", "node-2")).await.unwrap();
    let informers = informers(&cluster);
    let pods = informers.informer::<PodOnNode>(InformerScope::all());
    let by_node = pods.add_index(Index::by(|pod: &PodOnNode| pod.spec.node_name.clone()));
    assert!(pods.synced().await);
    let found = pods.lister().by(&by_node, "node-1").items;
    assert_eq!(
        found.iter().map(|pod| pod.name()).collect::<Vec<_>>(),
        ["web"]
    );
    // The same without the derive: any type that can read the kind works.
    let same = informers.of::<PodOnNode>(ApiResource::of::<Pod>(), InformerScope::all());
    assert_eq!(same.lister().len(), 2);
    assert_eq!(informers.statuses().len(), 1);
    informers.shutdown().await;
    assert_eq!(ApiResource::of::<PodOnNode>(), ApiResource::of::<Pod>());
    assert!(size_of::<PodOnNode>() * 4 < size_of::<Pod>());
}

#[tokio::test(start_paused = true)]
async fn writing_through_a_view_never_removes_the_other_fields() {
    let cluster = Cluster::start().unwrap();
    cluster.create(&pod("web", "node-1")).await.unwrap();
    let views = cluster.api::<PodOnNode>();
    let view = views.get("web").await.unwrap();
    let before = cluster.requests().len();
    let params = PostParams::default();
    let refused = [
        views.replace("web", &params, &view).await.unwrap_err(),
        views.create(&params, &view).await.unwrap_err(),
    ];
    for error in refused {
        assert!(matches!(error.kind(), ErrorKind::Invalid { .. }), "{error}");
        assert!(
            error
                .to_string()
                .contains("use `patch`, or the kind's own type"),
            "{error}"
        );
    }
    assert_eq!(cluster.requests().len(), before, "nothing was sent");
}
