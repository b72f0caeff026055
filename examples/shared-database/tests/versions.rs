//! Clients of both versions see the same database.
#![cfg(feature = "dev")]

use pilothouse::{
    k8s::api::core::v1::Namespace,
    prelude::*,
    testing::{self, Cluster},
};
use serde_json::json;
use shared_database::{Engine, SharedDatabase, v1beta1};

// ANCHOR: round-trips
#[test]
fn no_conversion_loses_anything() {
    testing::round_trips::<SharedDatabase>()
        .not_in("v1beta1", ["spec.engine", "spec.port"])
        .check()
        .unwrap();
}
// ANCHOR_END: round-trips

// ANCHOR: both
#[tokio::test(start_paused = true)]
async fn a_database_of_the_older_version_is_served_and_keeps_what_only_the_other_one_says() {
    let cluster = Cluster::start().unwrap();
    let shop = cluster.in_namespace("shop");
    cluster.create(&Namespace::named("shop")).await.unwrap();
    let mut credentials = Secret::named("credentials");
    let values = [("user", "orders"), ("password", "first")];
    credentials.string_data = Some(values.map(|(key, value)| (key.into(), value.into())).into());
    cluster.create(&credentials).await.unwrap();
    let running = cluster.run(shared_database::operator()).await.unwrap();

    let older = v1beta1::SharedDatabase {
        metadata: ObjectMeta {
            name: Some("orders".into()),
            ..Default::default()
        },
        spec: v1beta1::SharedDatabaseSpec {
            host: "orders.example.com".into(),
            secret: "default/credentials".into(),
            namespaces: vec!["shop".into()],
        },
        status: None,
    };
    cluster.create(&older).await.unwrap();
    shop.until::<Service>("orders", "exist", |_| true)
        .await
        .unwrap();
    // The mutation saw the object in the stored version, and its default was not lost on the way.
    let stored = cluster.get::<SharedDatabase>("orders").await.unwrap();
    assert_eq!(stored.unwrap().spec.port, Some(5432));

    let other = json!({"spec": {"engine": "MySQL", "port": 3307}});
    cluster
        .patch::<SharedDatabase>("orders", other)
        .await
        .unwrap();
    let moved = json!({"spec": {"host": "mysql.example.com"}});
    cluster
        .patch::<v1beta1::SharedDatabase>("orders", moved)
        .await
        .unwrap();
    let stored = cluster.get::<SharedDatabase>("orders").await.unwrap();
    let SharedDatabase { spec, .. } = stored.unwrap();
    assert_eq!(
        (&*spec.host, spec.engine, spec.port),
        ("mysql.example.com", Engine::MySQL, Some(3307))
    );
    let is_moved = |service: &Service| {
        let spec = service.spec.as_ref();
        let host = spec.and_then(|spec| spec.external_name.as_deref());
        host == Some("mysql.example.com")
    };
    shop.until("orders", "lead to the new host", is_moved)
        .await
        .unwrap();
    running.stop().await;
}
// ANCHOR_END: both
