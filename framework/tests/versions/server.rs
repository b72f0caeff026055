//! Conversions beside the embedded API server: in this process, and over HTTPS.

use std::sync::Arc;

use pilothouse::{
    client::{Api, Patch, PatchParams, PostParams},
    prelude::*,
    resource::AccessRule,
    testing::{self, Cluster, Offline},
};
use serde_json::json;

use crate::{
    autoscaler::{Autoscaler, AutoscalerSpec, Metric, v1},
    endpoint::{self, Endpoint},
    route::Route,
};

// ANCHOR: round-trips
#[test]
fn an_endpoint_loses_nothing() {
    testing::round_trips::<Endpoint>().check().unwrap();
}

#[test]
fn a_route_loses_nothing() {
    let lists = testing::round_trips::<Route>()
        .not_in("v1", ["spec.rules"])
        .not_in("v1beta1", ["spec.rules"]);
    lists.check().unwrap();
}
// ANCHOR_END: round-trips

#[test]
fn a_conversion_that_fails_is_found() {
    let error = testing::round_trips::<crate::lossy::Failing>()
        .check()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("the size is too large") && error.contains("the object: {"),
        "{error}"
    );
}

fn scaler() -> Autoscaler {
    let metric = |name: &str, utilization| Metric {
        name: name.into(),
        utilization,
    };
    let mut scaler = Autoscaler {
        metadata: Default::default(),
        spec: AutoscalerSpec {
            min_replicas: None,
            max_replicas: 3,
            metrics: vec![metric("cpu", 70), metric("memory", 60)],
            behavior: None,
        },
        status: None,
    };
    scaler.metadata_mut().name = Some("web".into());
    scaler
}

#[tokio::test(start_paused = true)]
async fn clients_read_and_write_each_version_without_a_socket() {
    let cluster = Cluster::start().unwrap();
    cluster.install::<Autoscaler>().await.unwrap();
    cluster.create(&scaler()).await.unwrap();
    let old: Api<v1::Autoscaler> = cluster.api();
    let mut read = old.get("web").await.unwrap();
    assert_eq!(read.spec.target_percentage, Some(70));
    read.spec.target_percentage = Some(50);
    old.replace("web", &PostParams::default(), &read)
        .await
        .unwrap();
    let stored = cluster.get::<Autoscaler>("web").await.unwrap().unwrap();
    let shown: Vec<_> = stored
        .spec
        .metrics
        .iter()
        .map(|one| (&*one.name, one.utilization))
        .collect();
    assert_eq!(shown, [("cpu", 50), ("memory", 60)]);
    let patch = Patch::Merge(json!({"spec": {"maxReplicas": 8}}));
    old.patch("web", &PatchParams::default(), &patch)
        .await
        .unwrap();
    let listed = old.list(&Default::default()).await.unwrap();
    assert_eq!(listed.items[0].spec.max_replicas, 8);
    let stored = cluster.get::<Autoscaler>("web").await.unwrap().unwrap();
    assert_eq!(
        (stored.spec.max_replicas, stored.spec.metrics.len()),
        (8, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_converted_is_refused_with_its_name_and_the_reason() {
    let cluster = Cluster::start().unwrap();
    cluster.install::<Endpoint>().await.unwrap();
    let mut old = endpoint::v1alpha1::Endpoint {
        metadata: Default::default(),
        spec: endpoint::v1alpha1::EndpointSpec {
            address: "db:9999".into(),
        },
    };
    old.metadata.name = Some("db".into());
    cluster.create(&old).await.unwrap();
    assert_eq!(
        cluster
            .get::<Endpoint>("db")
            .await
            .unwrap()
            .unwrap()
            .spec
            .port,
        9999
    );
    let wrong = json!({"spec": {"host": "none"}});
    let _ = cluster.patch::<Endpoint>("db", wrong).await.unwrap();
    let error = cluster
        .get::<endpoint::v1alpha1::Endpoint>("db")
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("convert Endpoint default/db from endpoints.example.com/v1")
            && error.contains("an endpoint has a host"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_reconciler_without_a_server_reads_and_writes_each_version() {
    let offline = Offline::new(Halve);
    offline.seed(scaler());
    let _ = offline.reconcile("web").await.unwrap();
    let stored: Autoscaler = offline.get("web").unwrap();
    let shown: Vec<_> = stored
        .spec
        .metrics
        .iter()
        .map(|one| (&*one.name, one.utilization))
        .collect();
    assert_eq!(shown, [("cpu", 35), ("memory", 60)]);
    let old: v1::Autoscaler = offline.get("web").unwrap();
    assert_eq!(old.spec.target_percentage, Some(35));
}

/// Halves the target of an autoscaler, as a client of the older version.
struct Halve;

impl Reconciler for Halve {
    type Resource = Autoscaler;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.access(AccessRule::of::<v1::Autoscaler>(["get", "patch"]))
    }

    async fn reconcile(&self, scaler: Arc<Autoscaler>, cx: &Context<Autoscaler>) -> Result<Action> {
        let api = Api::<v1::Autoscaler>::namespaced(cx.live(), "default");
        let old = api.get(scaler.name()).await?;
        let half = old.spec.target_percentage.unwrap_or_default() / 2;
        let patch = Patch::Merge(json!({"spec": {"targetPercentage": half}}));
        api.patch(scaler.name(), &PatchParams::default(), &patch)
            .await?;
        Ok(Action::wait())
    }
}
