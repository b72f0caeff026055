//! The states of the components of a control plane.

use pilothouse_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::client::{Client, request};

const PATH: &str = "/api/v1/componentstatuses";

fn health(list: &Value) -> Vec<(String, String)> {
    let items = list["items"].as_array().unwrap().iter();
    let of = |item: &Value| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (
            text(&item["metadata"]["name"]),
            text(&item["conditions"][0]["status"]),
        )
    };
    items.map(of).collect()
}

fn expected(of_others: &str) -> [(String, String); 3] {
    let names = ["controller-manager", "etcd-0", "scheduler"];
    names.map(|name| {
        let status = if name == "etcd-0" { "True" } else { of_others };
        (name.to_owned(), status.to_owned())
    })
}

#[tokio::test(start_paused = true)]
async fn the_simulator_stands_for_the_components_that_run_workloads() {
    let alone = Client::new().await;
    let list = alone.get(PATH).await.object();
    assert_eq!(list["kind"], "ComponentStatusList");
    assert_eq!(health(&list), expected("False"));
    let sandbox = Sandbox::builder().seed(1).simulator(true).build().unwrap();
    let simulated = Client::of(sandbox).await;
    assert_eq!(
        health(&simulated.get(PATH).await.object()),
        expected("True")
    );
}

#[tokio::test(start_paused = true)]
async fn one_component_is_read_by_its_name_and_shown_as_a_table() {
    let client = Client::new().await;
    let one = client.get(&format!("{PATH}/etcd-0")).await.object();
    let condition = json!({"type": "Healthy", "status": "True", "message": "ok"});
    assert_eq!(one["conditions"], json!([condition]));
    let mut table = request("GET", &format!("{PATH}/scheduler"), "", "");
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    table
        .headers_mut()
        .insert("accept", accept.parse().unwrap());
    let table = client.send(table).await.object();
    let refused = "Get \"https://127.0.0.1:10259/healthz\": dial tcp 127.0.0.1:10259: connect: connection refused";
    assert_eq!(
        table["rows"][0]["cells"],
        json!(["scheduler", "Unhealthy", refused, ""])
    );
    let none = client.get(&format!("{PATH}/none")).await;
    let why = "componentstatus \"none\" not found";
    assert_eq!(none.failure(), (404, "NotFound", why));
}

#[tokio::test(start_paused = true)]
async fn selectors_select_components_and_changes_are_refused() {
    let client = Client::new().await;
    let named = client
        .get(&format!("{PATH}?fieldSelector=metadata.name%3Detcd-0"))
        .await;
    assert_eq!(health(&named.object()), [("etcd-0".into(), "True".into())]);
    let labelled = client.get(&format!("{PATH}?labelSelector=a%3Db")).await;
    assert!(health(&labelled.object()).is_empty());
    assert_eq!(client.post(PATH, &json!({})).await.code, 405);
    assert_eq!(client.delete(&format!("{PATH}/etcd-0")).await.code, 405);
}
