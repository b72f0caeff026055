//! The operator with a cluster in memory, on a paused clock.
#![cfg(feature = "dev")]

use configmap_sync::{ASKS_FOR, SharedConfig, SharedConfigSpec};
use pilothouse::{
    controller::OWNER_UID_LABEL,
    k8s::api::core::v1::Namespace,
    prelude::*,
    testing::{Answer, Cluster, RequestMatcher, Sandbox},
};
use serde_json::json;

// ANCHOR: helpers
fn shared(colour: &str) -> SharedConfig {
    SharedConfig {
        metadata: ObjectMeta {
            name: Some("settings".into()),
            ..Default::default()
        },
        spec: SharedConfigSpec {
            data: [("colour".into(), colour.into())].into(),
        },
        status: None,
    }
}

/// Adds the annotation to `namespace`, or removes it.
async fn asks(cluster: &Cluster, namespace: &str, asks: bool) {
    let value = asks.then_some("default/settings");
    let change = json!({"metadata": {"annotations": {ASKS_FOR: value}}});
    let changed = cluster.patch::<Namespace>(namespace, change).await;
    changed.unwrap();
}

fn is(colour: &str) -> impl Fn(&ConfigMap) -> bool + '_ {
    move |copy| {
        copy.data
            .as_ref()
            .is_some_and(|data| data["colour"] == colour)
    }
}
// ANCHOR_END: helpers

// ANCHOR: story
#[tokio::test(start_paused = true)]
async fn copies_exist_in_each_namespace_that_asks_and_are_deleted_before_their_source() {
    let cluster = Cluster::start().unwrap();
    let [shop, blog] = ["shop", "blog"].map(|name| cluster.in_namespace(name));
    for namespace in ["shop", "blog"] {
        cluster.create(&Namespace::named(namespace)).await.unwrap();
    }
    let running = cluster.run(configmap_sync::operator()).await.unwrap();
    let source = cluster.create(&shared("blue")).await.unwrap();

    asks(&cluster, "shop", true).await;
    asks(&cluster, "blog", true).await;
    let copy = shop.until("settings", "be blue", is("blue")).await.unwrap();
    assert_eq!(copy.label(OWNER_UID_LABEL), source.uid());
    blog.until("settings", "be blue", is("blue")).await.unwrap();
    let two = |shared: &SharedConfig| {
        shared
            .status
            .as_ref()
            .is_some_and(|status| status.copies == 2)
    };
    cluster
        .until("settings", "have two copies", two)
        .await
        .unwrap();

    // A change reaches all copies, and a deleted copy is created again.
    let green = json!({"spec": {"data": {"colour": "green"}}});
    cluster
        .patch::<SharedConfig>("settings", green)
        .await
        .unwrap();
    shop.until("settings", "be green", is("green"))
        .await
        .unwrap();
    shop.delete::<ConfigMap>("settings").await.unwrap();
    shop.until("settings", "be there again", is("green"))
        .await
        .unwrap();

    asks(&cluster, "blog", false).await;
    blog.until_gone::<ConfigMap>("settings").await.unwrap();

    cluster.delete::<SharedConfig>("settings").await.unwrap();
    cluster
        .until_gone::<SharedConfig>("settings")
        .await
        .unwrap();
    assert!(shop.get::<ConfigMap>("settings").await.unwrap().is_none());
    // The operator declares no access that it does not use.
    assert_eq!(running.unused_access().to_string(), "");
    running.stop().await;
}
// ANCHOR_END: story

// ANCHOR: roles
#[tokio::test(start_paused = true)]
async fn the_printed_roles_are_enough_to_copy_and_to_clean_up() {
    let cluster = Cluster::with(Sandbox::builder().seed(1).rbac(true)).unwrap();
    let roles = configmap_sync::operator().roles("operators").unwrap();
    let running = cluster
        .run_with_roles(configmap_sync::operator(), &roles)
        .await
        .unwrap();
    cluster.create(&shared("blue")).await.unwrap();
    let shop = cluster.in_namespace("shop");
    cluster.create(&Namespace::named("shop")).await.unwrap();
    asks(&cluster, "shop", true).await;
    shop.until("settings", "be blue", is("blue")).await.unwrap();
    cluster.delete::<SharedConfig>("settings").await.unwrap();
    shop.until_gone::<ConfigMap>("settings").await.unwrap();
    assert!(cluster.requests().iter().all(|one| one.status != 403));
    running.stop().await;
}
// ANCHOR_END: roles

// ANCHOR: faults
#[tokio::test(start_paused = true)]
async fn a_copy_follows_its_source_after_refused_writes_and_broken_watches() {
    let cluster = Cluster::start().unwrap();
    let shop = cluster.in_namespace("shop");
    cluster.create(&Namespace::named("shop")).await.unwrap();
    let running = cluster.run(configmap_sync::operator()).await.unwrap();

    // The server refuses the next ten writes of ConfigMaps.
    let writes = RequestMatcher::any().verb("patch").resource("configmaps");
    let refusal = Answer::status(500, "InternalError");
    cluster.faults().answer(writes, refusal, 10);
    cluster.create(&shared("blue")).await.unwrap();
    asks(&cluster, "shop", true).await;
    shop.until("settings", "be blue", is("blue")).await.unwrap();

    // All watches break, and the server forgets the changes that happened meanwhile.
    cluster.faults().drop_watches(&RequestMatcher::any());
    let green = json!({"spec": {"data": {"colour": "green"}}});
    cluster
        .patch::<SharedConfig>("settings", green)
        .await
        .unwrap();
    cluster.faults().compact();
    shop.until("settings", "be green", is("green"))
        .await
        .unwrap();
    running.stop().await;
}
// ANCHOR_END: faults
