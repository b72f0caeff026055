//! The operator with a cluster in memory, on a paused clock.
#![cfg(feature = "dev")]

mod database;

use pilothouse::{
    k8s::{
        ByteString,
        api::core::v1::{Namespace, ServicePort, ServiceSpec},
    },
    prelude::*,
    resource::{Conditions, controller_of},
    testing::{Cluster, Sandbox},
};
use serde_json::json;
use shared_database::SharedDatabase;

use self::database::database;

fn credentials(password: &str) -> Secret {
    let values = [("user", "orders"), ("password", password)];
    let bytes = |value: &str| ByteString(value.as_bytes().to_vec());
    Secret {
        data: Some(values.map(|(key, value)| (key.into(), bytes(value))).into()),
        ..Secret::named("credentials")
    }
}

fn has_password(password: &str) -> impl Fn(&Secret) -> bool + '_ {
    move |secret| {
        let data = secret.data.as_ref();
        data.is_some_and(|data| data["password"].0 == password.as_bytes())
    }
}

fn serves(served: i32, missing: &[&str]) -> impl Fn(&SharedDatabase) -> bool {
    move |database| {
        let status = database.status.as_ref();
        status.is_some_and(|status| status.served == served && status.missing == missing)
    }
}

// ANCHOR: story
#[tokio::test(start_paused = true)]
async fn each_namespace_that_uses_the_database_has_its_name_and_its_credentials() {
    let cluster = Cluster::start().unwrap();
    let [shop, office] = ["shop", "office"].map(|name| cluster.in_namespace(name));
    cluster.create(&Namespace::named("shop")).await.unwrap();
    let running = cluster.run(shared_database::operator()).await.unwrap();

    // Nothing is written before the credentials exist.
    cluster
        .create(&database(&["shop", "office"]))
        .await
        .unwrap();
    let waits = |database: &SharedDatabase| {
        let status = database.status.as_ref();
        let ready = status.and_then(|status| status.conditions.of_type("Ready"));
        ready.is_some_and(|ready| ready.reason == "ReconcileWaiting")
    };
    cluster.until("orders", "wait", waits).await.unwrap();
    assert!(shop.get::<Service>("orders").await.unwrap().is_none());
    cluster.create(&credentials("first")).await.unwrap();
    shop.until("orders", "have the password", has_password("first"))
        .await
        .unwrap();
    cluster
        .until("orders", "miss one", serves(1, &["office"]))
        .await
        .unwrap();

    // A namespace that comes later is served, and a Service that somebody made there is taken over.
    cluster.create(&Namespace::named("office")).await.unwrap();
    cluster
        .until("orders", "serve both", serves(2, &[]))
        .await
        .unwrap();
    let service = office.get::<Service>("orders").await.unwrap().unwrap();
    let host = service
        .spec
        .as_ref()
        .and_then(|spec| spec.external_name.as_deref());
    assert_eq!(host, Some("orders.example.com"));

    // New credentials reach all namespaces.
    let changed = json!({"stringData": {"password": "second"}});
    cluster
        .patch::<Secret>("credentials", changed)
        .await
        .unwrap();
    for namespace in [&shop, &office] {
        namespace
            .until("orders", "have the new one", has_password("second"))
            .await
            .unwrap();
    }

    // A namespace that is removed from the list loses its Service and its Secret.
    let fewer = json!({"spec": {"namespaces": ["office"]}});
    cluster
        .patch::<SharedDatabase>("orders", fewer)
        .await
        .unwrap();
    shop.until_gone::<Secret>("orders").await.unwrap();
    shop.until_gone::<Service>("orders").await.unwrap();
    assert!(office.get::<Secret>("orders").await.unwrap().is_some());

    // Kubernetes deletes what belongs to a deleted owner.
    cluster.delete::<SharedDatabase>("orders").await.unwrap();
    office.until_gone::<Secret>("orders").await.unwrap();
    office.until_gone::<Service>("orders").await.unwrap();
    assert!(
        cluster
            .get::<Secret>("credentials")
            .await
            .unwrap()
            .is_some()
    );
    assert_eq!(running.unused_access().to_string(), "");
    running.stop().await;
}
// ANCHOR_END: story

// ANCHOR: adoption
#[tokio::test(start_paused = true)]
async fn a_service_made_by_hand_is_taken_over_and_a_secret_is_not() {
    let cluster = Cluster::start().unwrap();
    cluster.create(&Namespace::named("shop")).await.unwrap();
    let shop = cluster.in_namespace("shop");
    let port = ServicePort {
        port: 5432,
        ..Default::default()
    };
    let by_hand = Service {
        spec: Some(ServiceSpec {
            type_: Some("ExternalName".into()),
            external_name: Some("old.example.com".into()),
            ports: Some(vec![port]),
            ..Default::default()
        }),
        ..Service::named("orders")
    };
    shop.create(&by_hand).await.unwrap();
    let mut other = credentials("of something else");
    other.metadata.name = Some("orders".into());
    shop.create(&other).await.unwrap();
    cluster.create(&credentials("first")).await.unwrap();
    let running = cluster.run(shared_database::operator()).await.unwrap();
    let owner = cluster.create(&database(&["shop"])).await.unwrap();

    let is_ours = |service: &Service| {
        controller_of(&service.metadata)
            .is_some_and(|controller| Some(&*controller.uid) == owner.uid())
    };
    shop.until("orders", "have an owner", is_ours)
        .await
        .unwrap();
    let refused = |database: &SharedDatabase| {
        let status = database.status.as_ref();
        status.is_some_and(|status| status.conditions.is_false("Ready"))
    };
    let database = cluster
        .until("orders", "be refused", refused)
        .await
        .unwrap();
    let conditions = database.status.unwrap().conditions;
    let message = &conditions.of_type("Ready").unwrap().message;
    assert!(message.contains("Secret shop/orders"), "{message}");
    let kept = shop.get::<Secret>("orders").await.unwrap().unwrap();
    assert!(has_password("of something else")(&kept));

    // When it is gone, the next try serves the namespace.
    shop.delete::<Secret>("orders").await.unwrap();
    shop.until("orders", "have the password", has_password("first"))
        .await
        .unwrap();
    running.stop().await;
}
// ANCHOR_END: adoption

// ANCHOR: roles
#[tokio::test(start_paused = true)]
async fn the_printed_roles_are_enough() {
    let cluster = Cluster::with(Sandbox::builder().seed(1).rbac(true)).unwrap();
    let roles = shared_database::operator().roles("operators").unwrap();
    let running = cluster
        .run_with_roles(shared_database::operator(), &roles)
        .await
        .unwrap();
    for namespace in ["shop", "office"] {
        cluster.create(&Namespace::named(namespace)).await.unwrap();
    }
    cluster.create(&credentials("first")).await.unwrap();
    cluster
        .create(&database(&["shop", "office"]))
        .await
        .unwrap();
    cluster
        .until("orders", "serve both", serves(2, &[]))
        .await
        .unwrap();
    let fewer = json!({"spec": {"namespaces": ["office"]}});
    cluster
        .patch::<SharedDatabase>("orders", fewer)
        .await
        .unwrap();
    cluster
        .in_namespace("shop")
        .until_gone::<Secret>("orders")
        .await
        .unwrap();
    assert!(cluster.requests().iter().all(|one| one.status != 403));
    running.stop().await;
}
// ANCHOR_END: roles
