//! Deployments that ask for a Service.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_deployment_is_exposed_with_its_port_and_a_budget() {
    let cluster = Cluster::start().unwrap();
    let running = run(&cluster).await;
    cluster.create(&web(1, "8080")).await.unwrap();
    cluster
        .until("web", "have its port", has_port(8080))
        .await
        .unwrap();
    cluster.settle().await;
    assert!(
        cluster
            .get::<PodDisruptionBudget>("web")
            .await
            .unwrap()
            .is_none()
    );

    let replicas = |replicas| json!({"spec": {"replicas": replicas}});
    cluster
        .patch::<Deployment>("web", replicas(3))
        .await
        .unwrap();
    cluster
        .until("web", "exist", |_: &PodDisruptionBudget| true)
        .await
        .unwrap();
    cluster
        .patch::<Deployment>("web", replicas(1))
        .await
        .unwrap();
    cluster
        .until_gone::<PodDisruptionBudget>("web")
        .await
        .unwrap();

    expose(&cluster, Some("9090")).await;
    cluster
        .until("web", "have its new port", has_port(9090))
        .await
        .unwrap();

    // A wrong port is told once, is not retried, and leaves the Service as it is.
    expose(&cluster, Some("http")).await;
    cluster.settle().await;
    // A server removes an Event after an hour.
    tokio::time::sleep(Duration::from_secs(3000)).await;
    let told = events(&cluster, "ReconcileFailed").await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].series.is_none(), "{told:?}");
    let note = told[0].note.as_deref().unwrap();
    assert!(
        note.contains("is not a port: invalid digit found in string: http"),
        "{note}"
    );
    cluster
        .until("web", "be as before", has_port(9090))
        .await
        .unwrap();

    expose(&cluster, None).await;
    cluster.until_gone::<Service>("web").await.unwrap();
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn another_field_manager_keeps_its_own_port_and_loses_ours() {
    let cluster = Cluster::start().unwrap();
    let running = run(&cluster).await;
    cluster.create(&web(1, "8080")).await.unwrap();
    cluster
        .until("web", "have its port", has_port(8080))
        .await
        .unwrap();

    let apply = |target: i32| {
        let ports = json!([
            {"name": "main", "port": 8080, "protocol": "TCP", "targetPort": target},
            {"name": "metrics", "port": 9100, "protocol": "TCP", "targetPort": 9100},
        ]);
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": ports},
        });
        let (api, params) = (cluster.api::<Service>(), PatchParams::apply("other"));
        async move {
            api.patch("web", &params.force(), &Patch::Apply(service))
                .await
                .unwrap()
        }
    };
    apply(1).await;
    cluster
        .until("web", "have its port again", has_port(8080))
        .await
        .unwrap();
    cluster
        .until("web", "keep the other port", has_port(9100))
        .await
        .unwrap();

    // A manager that never gives up is told, and is answered at most once per second.
    cluster.forget_requests();
    for port in 0..60 {
        apply(2 + port).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    cluster.settle().await;
    assert_eq!(events(&cluster, "WritesRepeat").await.len(), 1);
    let answers = own_writes(&cluster).len();
    assert!((30..40).contains(&answers), "{answers}");
    cluster
        .until("web", "be ours in the end", has_port(8080))
        .await
        .unwrap();
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_service_of_somebody_else_is_left_alone() {
    let cluster = Cluster::start().unwrap();
    let running = run(&cluster).await;
    let mut other = Service::named("web");
    other.spec = serde_json::from_value(json!({"ports": [{"port": 1}]})).unwrap();
    cluster.create(&other).await.unwrap();
    cluster.create(&web(1, "8080")).await.unwrap();
    cluster.settle().await;
    assert!(has_port(1)(&cluster.get("web").await.unwrap().unwrap()));
    assert_eq!(events(&cluster, "ReconcileFailed").await.len(), 1);

    // After the other Service is gone, the Deployment gets its own within five minutes.
    cluster.delete::<Service>("web").await.unwrap();
    tokio::time::sleep(Duration::from_secs(330)).await;
    cluster
        .until("web", "have its port", has_port(8080))
        .await
        .unwrap();
    running.stop().await;
}
