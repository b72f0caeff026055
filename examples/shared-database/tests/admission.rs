//! What the API server asks before it stores a SharedDatabase.
#![cfg(feature = "dev")]

mod database;

use pilothouse::{
    k8s::api::core::v1::Namespace,
    prelude::*,
    testing::{Cluster, OfflineAdmission},
    webhook::Warnings,
};
use serde_json::json;
use shared_database::{Engine, PRIVATE, PrivateNamespaces, SharedDatabase, UsualPort};

use self::database::database;

fn namespace(name: &str, private: &str) -> Namespace {
    let mut namespace = Namespace::named(name);
    namespace.metadata.labels = Some([(PRIVATE.to_owned(), private.to_owned())].into());
    namespace
}

// ANCHOR: defaults
#[tokio::test]
async fn a_database_without_a_port_gets_the_usual_one_of_its_engine() {
    let admission = OfflineAdmission::new().mutates(UsualPort);
    for (engine, port, expected) in [
        (Engine::PostgreSQL, None, 5432),
        (Engine::MySQL, None, 3306),
        (Engine::MySQL, Some(3307), 3307),
    ] {
        let mut database = database(&[]);
        (database.spec.engine, database.spec.port) = (engine, port);
        let (stored, _) = admission.create(&database).await.unwrap();
        assert_eq!(stored.spec.port, Some(expected));
    }
}
// ANCHOR_END: defaults

// ANCHOR: validation
#[tokio::test]
async fn a_database_does_not_get_into_a_private_namespace() {
    let admission = || OfflineAdmission::new().validates(PrivateNamespaces);
    let both = || {
        admission()
            .cached(&namespace("shop", "false"))
            .cached(&namespace("office", "true"))
    };
    let denied = both().create(&database(&["shop", "office"])).await;
    let denied = denied.unwrap_err();
    assert_eq!(denied.code(), 422);
    let text = denied.to_string();
    assert!(
        text.starts_with("spec.namespaces[1]: the namespace office has the label"),
        "{text}"
    );
    let (_, warnings) = both().create(&database(&["shop"])).await.unwrap();
    assert_eq!(warnings, Warnings::none());

    // It was there before the namespace became private.
    let old = database(&["office"]);
    let new = database(&["office", "shop"]);
    assert!(both().update(&old, &new).await.is_ok());
    assert!(both().update(&database(&[]), &new).await.is_err());

    // A namespace may come later.
    let (_, warnings) = admission().create(&old).await.unwrap();
    let expected = "spec.namespaces[0]: there is no namespace office yet";
    assert_eq!(warnings.iter().collect::<Vec<_>>(), [expected]);
}
// ANCHOR_END: validation

// ANCHOR: running
#[tokio::test(start_paused = true)]
async fn the_api_server_asks_the_running_operator() {
    let cluster = Cluster::start().unwrap();
    for (name, private) in [("shop", "false"), ("office", "true")] {
        cluster.create(&namespace(name, private)).await.unwrap();
    }
    let running = cluster.run(shared_database::operator()).await.unwrap();
    let stored = cluster.create(&database(&["shop"])).await.unwrap();
    assert_eq!(stored.spec.port, Some(5432));
    let more = json!({"spec": {"namespaces": ["shop", "office"]}});
    let refused = cluster.patch::<SharedDatabase>("orders", more).await;
    let text = refused.unwrap_err().to_string();
    assert!(
        text.contains("\"validate.shareddatabases.demo.pilothouse.dev\" denied the request")
            && text.contains("spec.namespaces[1]"),
        "{text}"
    );
    running.stop().await;
}
// ANCHOR_END: running

#[tokio::test(start_paused = true)]
async fn nothing_is_admitted_while_no_replica_runs() {
    let cluster = Cluster::start().unwrap();
    let running = cluster.run(shared_database::operator()).await.unwrap();
    cluster.create(&database(&["shop"])).await.unwrap();
    running.stop().await;
    let less = json!({"spec": {"namespaces": []}});
    let refused = cluster.patch::<SharedDatabase>("orders", less).await;
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("its operator has stopped"), "{text}");
    let running = cluster.run(shared_database::operator()).await.unwrap();
    let less = json!({"spec": {"namespaces": []}});
    let changed = cluster.patch::<SharedDatabase>("orders", less).await;
    assert!(changed.unwrap().spec.namespaces.is_empty());
    running.stop().await;
}
