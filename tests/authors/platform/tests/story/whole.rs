//! All controllers together: restarts, faults, and the access that they declare.

use super::*;

/// One object for each controller, all of them done.
async fn everything(cluster: &Cluster) {
    cluster.create(&source("one")).await.unwrap();
    cluster.create(&Namespace::named("shop")).await.unwrap();
    label(cluster, "shop", Some("blue")).await;
    cluster.create(&web(3, "8080")).await.unwrap();
    let blue = widget("a", json!({"size": 3, "colour": "blue"}));
    widget_api(cluster)
        .create(&PostParams::default(), &blue)
        .await
        .unwrap();
    let shop = cluster.in_namespace("shop");
    shop.until("team-secret", "be a copy", is("one"))
        .await
        .unwrap();
    cluster
        .until("web", "exist", |_: &PodDisruptionBudget| true)
        .await
        .unwrap();
    until_condition(cluster, "a", "Ready", "True").await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_writes_nothing() {
    let cluster = Cluster::start().unwrap();
    let running = run(&cluster).await;
    everything(&cluster).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    running.stop().await;

    cluster.forget_requests();
    let running = run(&cluster).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(cluster.writes(), []);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_changes_without_the_operator_is_done_at_its_next_start() {
    let cluster = Cluster::start().unwrap();
    let running = run(&cluster).await;
    everything(&cluster).await;
    running.stop().await;

    label(&cluster, "shop", None).await;
    expose(&cluster, None).await;
    widget_api(&cluster)
        .delete("a", &DeleteParams::default())
        .await
        .unwrap();
    cluster.settle().await;
    assert!(
        cluster
            .get::<ConfigMap>("a-summary")
            .await
            .unwrap()
            .is_some()
    );

    let running = run(&cluster).await;
    let shop = cluster.in_namespace("shop");
    shop.until_gone::<Secret>("team-secret").await.unwrap();
    shop.until_gone::<RoleBinding>("team").await.unwrap();
    cluster.until_gone::<Service>("web").await.unwrap();
    cluster
        .until_gone::<PodDisruptionBudget>("web")
        .await
        .unwrap();
    cluster.until_gone::<ConfigMap>("a-summary").await.unwrap();
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn every_access_is_declared_and_used() {
    let cluster = Cluster::start().unwrap();
    let running = run(&cluster).await;
    everything(&cluster).await;
    label(&cluster, "shop", None).await;
    let shop = cluster.in_namespace("shop");
    shop.until_gone::<Secret>("team-secret").await.unwrap();
    shop.until_gone::<ServiceAccount>("team").await.unwrap();
    shop.until_gone::<RoleBinding>("team").await.unwrap();
    shop.until_gone::<ConfigMap>("team-info").await.unwrap();
    cluster
        .patch::<Deployment>("web", json!({"spec": {"replicas": 1}}))
        .await
        .unwrap();
    cluster
        .until_gone::<PodDisruptionBudget>("web")
        .await
        .unwrap();
    expose(&cluster, None).await;
    cluster.until_gone::<Service>("web").await.unwrap();

    // No request has the verb `bind`: the server demands it in the course of another one.
    let bind = r#"clusterroles.rbac.authorization.k8s.io "edit": bind"#;
    assert_eq!(running.unused_access().to_string(), bind);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn everything_is_done_after_errors_and_broken_watches() {
    let cluster = Cluster::start().unwrap();
    let running = run(&cluster).await;
    let broken = || Answer::status(500, "InternalError");
    for resource in [
        "configmaps",
        "secrets",
        "services",
        "rolebindings",
        "serviceaccounts",
        "widgets",
    ] {
        let writes = RequestMatcher::any().verb("patch").resource(resource);
        cluster.faults().answer(writes, broken(), 3);
    }
    let writes = RequestMatcher::any()
        .verb("patch")
        .resource("poddisruptionbudgets");
    cluster.faults().lose_responses(writes, 2);
    everything(&cluster).await;

    cluster.faults().drop_watches(&RequestMatcher::any());
    cluster
        .patch::<Secret>(SOURCE, json!({"data": {"password": "dHdv"}}))
        .await
        .unwrap();
    expose(&cluster, Some("9090")).await;
    let change = Patch::Merge(json!({"spec": {"colour": null}}));
    widget_api(&cluster)
        .patch("a", &PatchParams::default(), &change)
        .await
        .unwrap();
    cluster.faults().compact();
    let shop = cluster.in_namespace("shop");
    shop.until("team-secret", "follow its source", is("two"))
        .await
        .unwrap();
    cluster
        .until("web", "have its new port", has_port(9090))
        .await
        .unwrap();
    until_condition(&cluster, "a", "Summarized", "False").await;
    running.stop().await;
}
