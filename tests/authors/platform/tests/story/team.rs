//! Namespaces of teams.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_namespace_of_a_team_has_its_objects_until_the_label_goes() {
    let cluster = Cluster::start().unwrap();
    cluster.create(&Namespace::named("shop")).await.unwrap();
    let running = run(&cluster).await;
    let shop = cluster.in_namespace("shop");

    // Without a source, the rest is there.
    label(&cluster, "shop", Some("blue")).await;
    shop.until("team-info", "be blue", of_team("blue"))
        .await
        .unwrap();
    shop.until("team", "exist", |_: &ServiceAccount| true)
        .await
        .unwrap();
    cluster.settle().await;
    let copy = shop.get::<Secret>("team-secret").await.unwrap();
    assert!(copy.is_none());
    assert_eq!(events(&cluster, "SourceMissing").await.len(), 1);

    cluster.create(&source("one")).await.unwrap();
    shop.until("team-secret", "be a copy", is("one"))
        .await
        .unwrap();
    let change = json!({"data": {"password": "dHdv"}});
    cluster.patch::<Secret>(SOURCE, change).await.unwrap();
    shop.until("team-secret", "follow its source", is("two"))
        .await
        .unwrap();

    label(&cluster, "shop", Some("green")).await;
    shop.until("team-info", "be green", of_team("green"))
        .await
        .unwrap();
    let is_green = |binding: &RoleBinding| {
        binding
            .subjects
            .iter()
            .flatten()
            .any(|subject| subject.name == "green")
    };
    shop.until("team", "be green", is_green).await.unwrap();

    // What somebody changes is repaired.
    let change = json!({"data": {"team": "red"}});
    shop.patch::<ConfigMap>("team-info", change).await.unwrap();
    shop.until("team-info", "be green again", of_team("green"))
        .await
        .unwrap();
    let change = json!({"metadata": {"labels": {SHARED: null}}});
    shop.patch::<Secret>("team-secret", change).await.unwrap();
    let labelled = |secret: &Secret| secret.label(SHARED).is_some();
    shop.until("team-secret", "be labelled again", labelled)
        .await
        .unwrap();
    shop.delete::<RoleBinding>("team").await.unwrap();
    shop.until("team", "be there again", is_green)
        .await
        .unwrap();

    label(&cluster, "shop", None).await;
    shop.until_gone::<ConfigMap>("team-info").await.unwrap();
    shop.until_gone::<Secret>("team-secret").await.unwrap();
    shop.until_gone::<ServiceAccount>("team").await.unwrap();
    shop.until_gone::<RoleBinding>("team").await.unwrap();
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_terminating_gets_nothing() {
    let cluster = Cluster::start().unwrap();
    cluster.create(&source("one")).await.unwrap();
    let mut held = Namespace::named("held");
    held.metadata.finalizers = Some(vec!["example.com/held".into()]);
    cluster.create(&held).await.unwrap();
    let running = run(&cluster).await;
    cluster.delete::<Namespace>("held").await.unwrap();
    cluster.settle().await;
    cluster.forget_requests();

    label(&cluster, "held", Some("blue")).await;
    cluster.settle().await;
    assert_eq!(own_writes(&cluster), []);

    // A namespace that is deleted with its objects leads to no failure.
    cluster.create(&Namespace::named("shop")).await.unwrap();
    label(&cluster, "shop", Some("blue")).await;
    let shop = cluster.in_namespace("shop");
    shop.until("team-secret", "be a copy", is("one"))
        .await
        .unwrap();
    cluster.delete::<Namespace>("shop").await.unwrap();
    cluster.until_gone::<Namespace>("shop").await.unwrap();
    cluster.settle().await;
    assert_eq!(events(&cluster, "ReconcileFailed").await, []);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_not_ours_is_not_overwritten() {
    let cluster = Cluster::start().unwrap();
    let shop = cluster.in_namespace("shop");
    cluster.create(&Namespace::named("shop")).await.unwrap();
    cluster.create(&source("one")).await.unwrap();
    let mut other = Secret::named("team-secret");
    other.data = Some([("password".into(), ByteString(b"other".into()))].into());
    shop.create(&other).await.unwrap();
    let running = run(&cluster).await;

    label(&cluster, "shop", Some("blue")).await;
    cluster.settle().await;
    let now = shop.get::<Secret>("team-secret").await.unwrap().unwrap();
    assert!(is("other")(&now), "{now:?}");
    assert_eq!(events(&cluster, "ReconcileFailed").await.len(), 1);
    running.stop().await;
}
