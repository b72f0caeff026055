//! Conversions beside the embedded API server: in this process, and over HTTPS.

use std::sync::Arc;

use pilothouse::{
    client::{Api, Patch, PatchParams, PostParams},
    k8s::api::autoscaling::v1::Scale,
    prelude::*,
    resource::AccessRule,
    testing::{self, Cluster, Offline},
};
use serde_json::json;

use crate::{
    autoscaler::{Autoscaler, AutoscalerSpec, Metric, v1},
    endpoint::{self, Endpoint},
    route::Route,
    scaled::{Fleet, FleetBefore, FleetSpec, Size},
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
fn an_optional_field_of_another_variant_is_no_loss() {
    testing::round_trips::<crate::variants::Backup>()
        .check()
        .unwrap();
}

#[test]
fn nulls_come_back_and_a_conversion_that_drops_one_is_found() {
    testing::round_trips::<crate::nulls::Limit>()
        .check()
        .unwrap();
    let dropped = testing::round_trips::<crate::nulls::Dropped>().check();
    let error = dropped.unwrap_err().to_string();
    assert!(
        error.contains("v1beta1 does not express spec.limits."),
        "{error}"
    );
}

#[test]
fn an_autoscaler_loses_nothing() {
    testing::round_trips::<Autoscaler>()
        .not_in("v1", ["spec.metrics", "spec.behavior"])
        .not_in("v2beta1", ["spec.metrics"])
        .check()
        .unwrap();
}

#[test]
fn a_conversion_that_fails_is_found() {
    let error = testing::round_trips::<crate::lossy::Failing>()
        .check()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("the size is too large\n  object: {"),
        "{error}"
    );
}

#[test]
fn a_changed_value_is_told_in_three_short_lines() {
    let error = testing::round_trips::<crate::lossy::Growing>().check();
    let error = error.unwrap_err();
    // `unwrap` shows the same.
    let text = format!("{error:?}");
    assert_eq!(text, error.to_string());
    let lines: Vec<&str> = text.lines().collect();
    let size = error.object().unwrap()["spec"]["size"].as_i64().unwrap();
    let expected = [
        "round trip of Growing: v1beta1 does not express spec.size of v1: convert the field, or name it with `not_in(\"v1beta1\", [\"spec.size\"])`"
            .to_owned(),
        format!("  before: {size}"),
        format!("  after:  {}", size + 1),
    ];
    assert_eq!(lines, expected);
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

/// As an autoscaler does, which may know either version of its target.
#[tokio::test(start_paused = true)]
async fn each_version_is_scaled_by_its_own_fields_and_loses_nothing() {
    testing::round_trips::<Fleet>()
        .not_in("v1beta1", ["spec.size.limit"])
        .check()
        .unwrap();
    let cluster = Cluster::start().unwrap();
    cluster.install::<Fleet>().await.unwrap();
    let mut fleet = Fleet {
        metadata: ObjectMeta::default(),
        spec: FleetSpec {
            size: Size {
                boats: 2,
                limit: Some(9),
            },
        },
        status: None,
    };
    fleet.metadata.name = Some("red".into());
    cluster.create(&fleet).await.unwrap();
    let (new, old): (Api<Fleet>, Api<FleetBefore>) = (cluster.api(), cluster.api());
    let params = PatchParams::default();
    let status = Patch::Merge(json!({"status": {"boats": 2, "labels": "fleet=red"}}));
    old.patch_status("red", &params, &status).await.unwrap();
    let shown = |scale: Scale| {
        let status = scale.status.unwrap();
        let (wanted, present) = (scale.spec.unwrap().replicas, status.replicas);
        (wanted, present, status.selector.unwrap_or_default())
    };
    let to = |replicas: i32| Patch::Merge(json!({"spec": {"replicas": replicas}}));
    let scaled = old.patch_subresource("red", "scale", &params, &to(5)).await;
    assert_eq!(shown(scaled.unwrap()), (Some(5), 2, "fleet=red".into()));
    let scale = new.get_subresource("red", "scale").await.unwrap();
    assert_eq!(shown(scale), (Some(5), 2, "fleet=red".into()));
    let scaled = new.patch_subresource("red", "scale", &params, &to(7)).await;
    assert_eq!(shown(scaled.unwrap()), (Some(7), 2, "fleet=red".into()));
    let scale = old.get_subresource("red", "scale").await.unwrap();
    assert_eq!(shown(scale), (Some(7), 2, "fleet=red".into()));
    let stored = new.get("red").await.unwrap().spec.size;
    assert_eq!((stored.boats, stored.limit), (7, Some(9)));
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
