//! Secrets, by their metadata.

use super::*;

#[tokio::test(start_paused = true)]
async fn secrets_are_counted_and_checked_without_their_data() {
    let cluster = Cluster::start().unwrap();
    install_widgets(&cluster).await;
    let address = "127.0.0.1:0".parse().unwrap();
    let operator = operator(Some(flags())).metrics_address(address);
    let running = cluster.run(operator).await.unwrap();
    let count = |team| {
        let labels = [("namespace", "default"), ("team", team)];
        running.metrics().value("platform_secrets", &labels)
    };
    for name in ["one", "two"] {
        cluster.create(&Secret::named(name)).await.unwrap();
        let checked = |secret: &Secret| secret.annotation(CHECKED).is_some();
        cluster.until(name, "be checked", checked).await.unwrap();
    }
    cluster.settle().await;
    assert_eq!((count(""), count("blue")), (Some(2.0), None));

    let change = json!({"metadata": {"labels": {TEAM: "blue"}}});
    cluster.patch::<Secret>("one", change).await.unwrap();
    cluster.settle().await;
    assert_eq!((count(""), count("blue")), (Some(1.0), Some(1.0)));

    let answer = http_get(running.http_address().unwrap(), "/report").await;
    assert!(
        answer.contains("content-type: application/json"),
        "{answer}"
    );
    assert!(
        answer.ends_with(r#"{"default":{"":1,"blue":1}}"#),
        "{answer}"
    );
    let answer = http_get(running.http_address().unwrap(), "/metrics").await;
    assert!(
        answer.contains(r#"platform_secrets{namespace="default",team="blue"} 1"#),
        "{answer}"
    );

    cluster.delete::<Secret>("two").await.unwrap();
    cluster.settle().await;
    assert_eq!((count(""), count("blue")), (Some(0.0), Some(1.0)));
    running.stop().await;
}
