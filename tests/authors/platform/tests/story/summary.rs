//! Objects of the kind that the flag names.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_installed_late_is_summarized() {
    let cluster = Cluster::start().unwrap();
    let running = operator(Some(flags()))
        .start(cluster.client().clone())
        .await
        .unwrap();
    // The other controllers work without the kind.
    cluster.create(&web(1, "8080")).await.unwrap();
    cluster
        .until("web", "have its port", has_port(8080))
        .await
        .unwrap();
    let waiting = format!("{:?}", running.ready().report(&Query::default()));
    assert!(waiting.contains("widgets.example.com"), "{waiting}");

    install_widgets(&cluster).await;
    running.synced().await;
    let api = widget_api(&cluster);
    let blue = widget("a", json!({"size": 3, "colour": "blue"}));
    api.create(&PostParams::default(), &blue).await.unwrap();
    let a = until_condition(&cluster, "a", "Summarized", "True").await;
    assert_eq!(a.metadata.finalizers, Some(vec![FINALIZER.into()]));
    until_condition(&cluster, "a", "Ready", "True").await;
    let summary = |text: &'static str| {
        move |map: &ConfigMap| {
            map.data
                .as_ref()
                .is_some_and(|data| data["summary"] == text)
        }
    };
    let whole = summary("/spec/size: 3\n/spec/colour: blue\n");
    cluster.until("a-summary", "be whole", whole).await.unwrap();

    let change = Patch::Merge(json!({"spec": {"colour": null}}));
    api.patch("a", &PatchParams::default(), &change)
        .await
        .unwrap();
    cluster
        .until("a-summary", "have the size", summary("/spec/size: 3\n"))
        .await
        .unwrap();
    let a = until_condition(&cluster, "a", "Summarized", "False").await;
    assert!(
        a.data["status"].to_string().contains("no /spec/colour"),
        "{:?}",
        a.data
    );

    api.delete("a", &DeleteParams::default()).await.unwrap();
    cluster.until_gone::<ConfigMap>("a-summary").await.unwrap();
    assert!(api.get_opt("a").await.unwrap().is_none());
    cluster.settle().await;
    assert_eq!(events(&cluster, "Removed").await.len(), 1);
    running.stop().await;
}
