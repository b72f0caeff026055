use serde_json::Value;

use crate::client::{Answer, Client, MAPS, version};

fn names(answer: &Answer) -> Vec<&str> {
    let items = answer.json["items"].as_array().unwrap().iter();
    items
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

fn token(answer: &Answer) -> &str {
    answer.json["metadata"]["continue"]
        .as_str()
        .unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn all_pages_of_a_list_have_one_resource_version() {
    let client = Client::new().await;
    for name in ["a", "b", "c", "d", "e"] {
        client.map(name, "web").await;
    }
    let first = client.get(&format!("{MAPS}?limit=2")).await;
    assert_eq!(names(&first), ["a", "b"]);
    assert_eq!(first.json["metadata"]["remainingItemCount"], 3);
    client.delete(&format!("{MAPS}/c")).await;
    client.map("bb", "web").await;
    let second = client
        .get(&format!("{MAPS}?limit=2&continue={}", token(&first)))
        .await;
    assert_eq!(names(&second), ["c", "d"]);
    assert_eq!(version(&second.json), version(&first.json));
    let third = client
        .get(&format!("{MAPS}?limit=2&continue={}", token(&second)))
        .await;
    assert_eq!((names(&third), token(&third)), (vec!["e"], ""));
    assert_eq!(third.json["metadata"].get("remainingItemCount"), None);
}

#[tokio::test(start_paused = true)]
async fn a_page_after_compaction_is_expired_and_contains_a_token_to_continue() {
    let client = Client::new().await;
    for name in ["a", "b", "c"] {
        client.map(name, "web").await;
    }
    let first = client.get(&format!("{MAPS}?limit=1")).await;
    client.delete(&format!("{MAPS}/b")).await;
    client.sandbox.faults().compact();
    let expired = client
        .get(&format!("{MAPS}?limit=1&continue={}", token(&first)))
        .await;
    let (code, reason, message) = expired.failure();
    assert_eq!((code, reason), (410, "Expired"));
    assert!(message.starts_with(
        "The provided continue parameter is too old to display a consistent list result."
    ));
    let rest = client
        .get(&format!("{MAPS}?continue={}", token(&expired)))
        .await;
    assert_eq!(names(&rest), ["c"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_honours_its_resource_version_match() {
    let client = Client::new().await;
    let first = version(&client.map("a", "web").await).to_owned();
    let second = version(&client.map("b", "web").await).to_owned();
    for (query, expected, at) in [
        (String::new(), vec!["a", "b"], &second),
        ("resourceVersion=0".into(), vec!["a", "b"], &second),
        ("resourceVersion=0&limit=1".into(), vec!["a", "b"], &second),
        (format!("resourceVersion={first}"), vec!["a", "b"], &second),
        (
            format!("resourceVersion={first}&resourceVersionMatch=NotOlderThan"),
            vec!["a", "b"],
            &second,
        ),
        (
            format!("resourceVersion={first}&resourceVersionMatch=Exact"),
            vec!["a"],
            &first,
        ),
        (
            format!("resourceVersion={first}&limit=5"),
            vec!["a"],
            &first,
        ),
    ] {
        let list = client.get(&format!("{MAPS}?{query}")).await;
        assert_eq!(
            (names(&list), version(&list.json)),
            (expected, &**at),
            "{query}"
        );
    }
    client.sandbox.faults().compact();
    let old = client
        .get(&format!(
            "{MAPS}?resourceVersion={first}&resourceVersionMatch=Exact"
        ))
        .await;
    assert_eq!(
        old.failure(),
        (
            410,
            "Expired",
            "The resourceVersion for the provided list is too old."
        )
    );
}

#[tokio::test(start_paused = true)]
async fn contradictory_list_parameters_are_refused() {
    let client = Client::new().await;
    let list = "ListOptions.meta.k8s.io \"\" is invalid: ";
    for (query, code, message) in [
        (
            "resourceVersionMatch=Exact",
            422,
            format!(
                "{list}resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
            ),
        ),
        (
            "resourceVersionMatch=Exact&resourceVersion=0",
            422,
            format!(
                "{list}resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""
            ),
        ),
        (
            "resourceVersionMatch=Near&resourceVersion=1",
            422,
            format!(
                "{list}resourceVersionMatch: Unsupported value: \"Near\": supported values: \"Exact\", \"NotOlderThan\", \"\""
            ),
        ),
        (
            "sendInitialEvents=true",
            422,
            format!("{list}sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"),
        ),
        (
            "watch=1&sendInitialEvents=true",
            422,
            format!(
                "{list}resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            ),
        ),
        (
            "watch=1&resourceVersionMatch=NotOlderThan",
            422,
            format!(
                "{list}resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            ),
        ),
    ] {
        let answer = client.get(&format!("{MAPS}?{query}")).await;
        assert_eq!(
            (answer.code, answer.failure().2),
            (code, &*message),
            "{query}"
        );
    }
    for query in [
        "continue=x",
        "limit=x",
        "labelSelector=a%20b",
        "fieldSelector=spec.x%3D1",
        "timeoutSeconds=x&watch=1",
    ] {
        let answer = client.get(&format!("{MAPS}?{query}")).await;
        assert_eq!(answer.code, 400, "{query}: {}", answer.text);
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_waits_three_seconds_for_a_future_resource_version() {
    let client = Client::new().await;
    let now = version(&client.map("a", "web").await).to_owned();
    let started = tokio::time::Instant::now();
    let message = format!("Timeout: Too large resource version: 999, current: {now}");
    for path in [
        format!("{MAPS}?resourceVersion=999"),
        format!("{MAPS}/a?resourceVersion=999"),
    ] {
        let answer = client.get(&path).await;
        assert_eq!(answer.failure(), (504, "Timeout", &*message), "{path}");
        assert_eq!(
            answer.json["details"]["causes"][0]["reason"],
            "ResourceVersionTooLarge"
        );
        assert_eq!(answer.headers["retry-after"], "1");
    }
    let initial = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let watch = client
        .get(&format!("{MAPS}?{initial}&resourceVersion=999"))
        .await;
    assert_eq!((watch.code, &watch.json["type"]), (200, &"ERROR".into()));
    assert_eq!(watch.json["object"]["code"], 504);
    assert_eq!(watch.json["object"]["message"], message);
    assert_eq!(started.elapsed().as_secs(), 9);
    let next = (now.parse::<u64>().unwrap() + 1).to_string();
    let path = format!("{MAPS}?resourceVersion={next}");
    let (list, _) = tokio::join!(client.get(&path), client.map("b", "web"));
    assert_eq!(names(&list), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn lists_can_be_selected_and_be_tables_or_metadata() {
    let client = Client::new().await;
    client.map("a", "web").await;
    client.map("b", "db").await;
    let selected = client
        .get(&format!("{MAPS}?labelSelector=app%20in%20(db)"))
        .await;
    assert_eq!(names(&selected), ["b"]);
    let selected = client
        .get("/api/v1/configmaps?fieldSelector=metadata.name%3Da,metadata.namespace%3Ddefault")
        .await;
    assert_eq!(names(&selected), ["a"]);
    assert_eq!(
        (
            &selected.json["kind"],
            selected.json["items"][0].get("kind")
        ),
        (&Value::from("ConfigMapList"), None)
    );
    for (accept, kind) in [
        ("application/json;as=Table;v=v1;g=meta.k8s.io", "Table"),
        (
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            "PartialObjectMetadataList",
        ),
    ] {
        let mut request = crate::client::request("GET", MAPS, "", "");
        request
            .headers_mut()
            .insert("accept", accept.parse().unwrap());
        let answer = client.send(request).await;
        assert_eq!(answer.json["kind"], kind);
        let first = match kind {
            "Table" => &answer.json["rows"][0]["object"],
            _ => &answer.json["items"][0],
        };
        assert_eq!(first["kind"], "PartialObjectMetadata");
        assert_eq!(
            (&first["metadata"]["name"], first.get("data")),
            (&Value::from("a"), None)
        );
    }
}
