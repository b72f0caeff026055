//! The operator with a cluster in memory, on a paused clock.
#![cfg(feature = "dev")]

use pilothouse::{
    client::{ListParams, PostParams},
    k8s::api::core::v1::{Event, Namespace, Pod},
    prelude::*,
    resource::Conditions,
    testing::{Cluster, Sandbox},
};
use quota_guard::{QuotaGuard, QuotaGuardSpec};
use serde_json::json;

fn guard(pods: i32) -> QuotaGuard {
    QuotaGuard {
        metadata: ObjectMeta {
            name: Some("pods".into()),
            ..Default::default()
        },
        spec: QuotaGuardSpec {
            pods,
            near_percent: 80,
        },
        status: None,
    }
}

fn pod(name: &str) -> Pod {
    let container = Container {
        name: "web".into(),
        image: Some("nginx".into()),
        ..Default::default()
    };
    Pod {
        spec: Some(PodSpec {
            containers: vec![container],
            ..Default::default()
        }),
        ..Pod::named(name)
    }
}

/// Whether the guard counts that many Pods, and gives that reason.
fn counts(pods: i32, reason: &str) -> impl Fn(&QuotaGuard) -> bool + '_ {
    move |guard| {
        guard.status.as_ref().is_some_and(|status| {
            let condition = status.conditions.of_type("WithinLimit");
            status.pods == pods && condition.is_some_and(|condition| condition.reason == reason)
        })
    }
}

// ANCHOR: story
#[tokio::test(start_paused = true)]
async fn a_guard_says_when_its_namespace_is_near_the_limit_above_it_and_below_it_again() {
    let cluster = Cluster::start().unwrap();
    let running = cluster.run(quota_guard::operator()).await.unwrap();
    cluster.create(&guard(5)).await.unwrap();
    let is = async |pods, reason| {
        let guard = cluster
            .until("pods", reason, counts(pods, reason))
            .await
            .unwrap();
        let conditions = guard.status.unwrap().conditions;
        assert_eq!(conditions.is_true("WithinLimit"), reason != "Exceeded");
        conditions.of_type("WithinLimit").unwrap().message.clone()
    };
    is(0, "Enough").await;

    // Pods of other namespaces do not count.
    cluster.create(&Namespace::named("shop")).await.unwrap();
    cluster
        .in_namespace("shop")
        .create(&pod("other"))
        .await
        .unwrap();
    for name in ["a", "b", "c", "d"] {
        cluster.create(&pod(name)).await.unwrap();
    }
    assert_eq!(is(4, "Near").await, "4 of 5 Pods");
    for name in ["e", "f"] {
        cluster.create(&pod(name)).await.unwrap();
    }
    assert_eq!(is(6, "Exceeded").await, "6 of 5 Pods");

    // A Pod that has ended does not count, and neither does one that is gone.
    let succeed =
        |pod: &mut Pod| pod.status.get_or_insert_default().phase = Some("Succeeded".into());
    let params = PostParams::default();
    cluster
        .api::<Pod>()
        .modify_status("a", &params, succeed)
        .await
        .unwrap();
    is(5, "Near").await;
    for name in ["b", "c", "d"] {
        cluster.delete::<Pod>(name).await.unwrap();
    }
    is(2, "Enough").await;

    // A changed limit counts at once.
    let lower = json!({"spec": {"pods": 1}});
    cluster.patch::<QuotaGuard>("pods", lower).await.unwrap();
    is(2, "Exceeded").await;

    // Each step is told by an Event. The server counts equal ones together.
    let of_guard = ListParams::default().fields("involvedObject.kind=QuotaGuard");
    let events = cluster.api::<Event>().list(&of_guard).await.unwrap();
    let mut told: Vec<_> = events
        .items
        .iter()
        .filter_map(|event| Some((event.type_.as_deref()?, event.reason.as_deref()?)))
        .collect();
    told.sort_unstable();
    let expected = [
        ("Normal", "Enough"),
        ("Warning", "Exceeded"),
        ("Warning", "Near"),
    ];
    assert_eq!(told, expected);
    assert_eq!(running.unused_access().to_string(), "");
    running.stop().await;
}
// ANCHOR_END: story

// ANCHOR: roles
#[tokio::test(start_paused = true)]
async fn the_printed_roles_are_enough() {
    let cluster = Cluster::with(Sandbox::builder().seed(1).rbac(true)).unwrap();
    let roles = quota_guard::operator().roles("operators").unwrap();
    let running = cluster
        .run_with_roles(quota_guard::operator(), &roles)
        .await
        .unwrap();
    cluster.create(&guard(1)).await.unwrap();
    cluster.create(&pod("a")).await.unwrap();
    cluster.create(&pod("b")).await.unwrap();
    cluster
        .until("pods", "be exceeded", counts(2, "Exceeded"))
        .await
        .unwrap();
    assert!(cluster.requests().iter().all(|one| one.status != 403));
    running.stop().await;
}
// ANCHOR_END: roles
