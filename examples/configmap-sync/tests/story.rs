//! The operator on a cluster in memory, on a clock that the test holds.
#![cfg(feature = "dev")]

use configmap_sync::{ASKS_FOR, SharedConfig, SharedConfigSpec};
use pilothouse::{
    controller::OWNER_UID_LABEL, k8s::api::core::v1::Namespace, prelude::*, testing::Cluster,
};
use serde_json::json;

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

/// Makes `namespace` ask for the settings, or not.
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

#[tokio::test(start_paused = true)]
async fn copies_are_where_they_are_asked_for_and_go_before_their_source() {
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

    // A change reaches all copies; one that somebody deletes comes back.
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
    // It asks to be allowed nothing that it does not use.
    assert_eq!(running.unused_access().to_string(), "");
    running.stop().await;
}
