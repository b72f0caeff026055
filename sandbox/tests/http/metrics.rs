use serde_json::json;

use crate::client::{APPLY, Client, MAPS};

#[tokio::test(start_paused = true)]
async fn metrics_have_the_names_and_labels_of_a_real_server() {
    let client = Client::new().await;
    client.map("a", "one").await;
    client.get(&format!("{MAPS}/none")).await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let path = format!("{MAPS}/a?fieldManager=test&dryRun=All");
    client.patch(APPLY, &path, &map).await.object();
    // What is not served adds no labels.
    client.get("/apis/none.example.com/v1/things").await;
    client.get(&format!("{MAPS}/a/none")).await;
    let watch = client.watch(&format!("{MAPS}?watch=1")).await;
    let page = client.get("/metrics").await;
    assert_eq!(
        page.headers["content-type"],
        "text/plain; version=0.0.4; charset=utf-8"
    );
    let resource = r#"group="",resource="configmaps",scope="resource",subresource="""#;
    for line in [
        format!(
            r#"apiserver_request_total{{code="201",component="apiserver",dry_run="",{resource},verb="POST",version="v1"}} 1"#
        ),
        format!(
            r#"apiserver_request_total{{code="404",component="apiserver",dry_run="",{resource},verb="GET",version="v1"}} 1"#
        ),
        format!(
            r#"apiserver_request_total{{code="200",component="apiserver",dry_run="All",{resource},verb="APPLY",version="v1"}} 1"#
        ),
        format!(
            r#"apiserver_request_duration_seconds_bucket{{component="apiserver",dry_run="",{resource},verb="GET",version="v1",le="+Inf"}} 1"#
        ),
        r#"apiserver_longrunning_requests{component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="WATCH",version="v1"} 1"#.into(),
        r#"apiserver_current_inflight_requests{request_kind="readOnly"} 1"#.into(),
        r#"apiserver_storage_objects{resource="configmaps"} 1"#.into(),
    ] {
        assert!(page.text.lines().any(|one| one == line), "{line}\n{}", page.text);
    }
    assert!(!page.text.contains("none"), "{}", page.text);
    if cfg!(target_os = "linux") {
        let resident = page
            .text
            .lines()
            .find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
        assert!(resident.unwrap().parse::<f64>().unwrap() > 1e6);
    }
    drop(watch);
}
