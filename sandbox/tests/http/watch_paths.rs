//! The deprecated paths of watches.

use serde_json::json;

use crate::client::{Client, MAPS};

const WATCH: &str = "/api/v1/watch/namespaces/default/configmaps";

#[tokio::test(start_paused = true)]
async fn a_path_below_watch_is_a_watch_of_one_object_of_a_namespace_or_of_all() {
    let client = Client::new().await;
    client.map("a", "x").await;
    client.map("b", "y").await;
    let seen = async |path: &str| {
        let mut watch = client.watch(&format!("{path}?timeoutSeconds=1")).await;
        assert_eq!(watch.code, 200, "{path}");
        let mut names = Vec::new();
        while let Some(event) = watch.next().await.unwrap() {
            names.push(
                event["object"]["metadata"]["name"]
                    .as_str()
                    .unwrap()
                    .to_owned(),
            );
        }
        names
    };
    assert_eq!(seen(WATCH).await, ["a", "b"]);
    assert_eq!(seen(&format!("{WATCH}/b")).await, ["b"]);
    assert_eq!(seen("/api/v1/watch/configmaps").await, ["a", "b"]);
    assert_eq!(seen("/api/v1/watch/namespaces/default").await, ["default"]);
    let mut watch = client.watch(&format!("{WATCH}/c?watch=0")).await;
    client.map("d", "x").await;
    client.map("c", "x").await;
    let event = watch.next().await.unwrap().unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["metadata"]["name"]),
        (&json!("ADDED"), &json!("c"))
    );
    // What is recorded of it is the same as of any other watch.
    let requests = client.sandbox.requests();
    let last = requests
        .iter()
        .rfind(|request| request.verb == "watch")
        .unwrap();
    assert_eq!(
        (&*last.resource, &*last.namespace, &*last.name),
        ("configmaps", "default", "c")
    );
}

#[tokio::test(start_paused = true)]
async fn a_name_in_the_path_and_another_in_the_selector_are_refused() {
    let client = Client::new().await;
    let other = client
        .get(&format!("{WATCH}/a?fieldSelector=metadata.name%3Db"))
        .await;
    let why = "fieldSelector metadata.name doesn't match requested name";
    assert_eq!(other.failure(), (400, "BadRequest", why));
}

#[tokio::test(start_paused = true)]
async fn a_path_that_ends_with_watch_is_answered_as_by_a_real_server() {
    let client = Client::new().await;
    for path in [
        "/api/v1/watch",
        "/apis/apps/v1/watch/",
        "/api/v1/proxy?a=&b",
    ] {
        let answer = client.get(path).await;
        let escaped = path.replace('&', "&amp;");
        let text = format!(
            "Internal Server Error: \"{escaped}\": failed to create RequestInfo: unable to determine kind and namespace from url, {escaped}\n"
        );
        assert_eq!((answer.code, answer.text), (500, text), "{path}");
    }
    // A kind may have any name in its place.
    assert_eq!(client.get(&format!("{MAPS}/watch")).await.code, 404);
}
