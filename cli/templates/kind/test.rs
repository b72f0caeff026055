#![cfg(feature = "dev")]

use pilothouse::{
    prelude::*,
    testing::{self, Cluster, Offline},
};
use serde_json::json;
use {{library}}::{{{kind}}, {{kind}}Reconciler, {{kind}}Spec};

/// An object with this text.
fn example(text: &str) -> {{kind}} {
    {{kind}} {
        metadata: ObjectMeta {
            name: Some("example".into()),
            ..Default::default()
        },
        spec: {{kind}}Spec { text: text.into() },
        status: None,
    }
}

fn has_text(text: &str) -> impl Fn(&ConfigMap) -> bool + '_ {
    move |map| map.data.as_ref().is_some_and(|data| data["text"] == text)
}

/// What an API server checks before it takes the definition: the schema, and the rules with their cost.
#[test]
fn the_definition_is_accepted() {
    testing::definition::<{{kind}}>().check().unwrap();
}

/// Without a server: what one reconcile writes.
#[tokio::test]
async fn a_reconcile_writes_the_config_map_and_the_status_once() {
    let offline = Offline::new({{kind}}Reconciler);
    offline.seed(example("hello"));
    assert_eq!(offline.reconcile("example").await.unwrap(), Action::wait());
    assert!(has_text("hello")(&offline.get("example").unwrap()));
    let status = offline.get::<{{kind}}>("example").unwrap().status;
    assert_eq!(status.unwrap().size, 5);

    // Another reconcile writes nothing.
    offline.forget_writes();
    assert_eq!(offline.reconcile("example").await.unwrap(), Action::wait());
    assert_eq!(offline.writes(), []);
}

/// With an API server in memory: the whole operator, on a paused clock.
#[tokio::test(start_paused = true)]
async fn the_config_map_follows_its_owner_and_goes_with_it() {
    let cluster = Cluster::start().unwrap();
    let running = cluster.run({{library}}::operator()).await.unwrap();
    cluster.create(&example("hello")).await.unwrap();
    let hello = cluster.until("example", "have the text", has_text("hello"));
    hello.await.unwrap();

    let change = json!({"spec": {"text": "goodbye"}});
    cluster.patch::<{{kind}}>("example", change).await.unwrap();
    let goodbye = cluster.until("example", "have the new text", has_text("goodbye"));
    goodbye.await.unwrap();

    cluster.delete::<{{kind}}>("example").await.unwrap();
    cluster.until_gone::<ConfigMap>("example").await.unwrap();
    running.stop().await;
    cluster.stop().await;
}
