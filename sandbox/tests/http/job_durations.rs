use std::time::Duration;

use pilothouse_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::client::{Client, MERGE, request};

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

/// The cells of the Job in the table that kubectl prints.
async fn cells(client: &Client) -> Vec<Value> {
    let mut get = request("GET", JOBS, "", "");
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io"
        .parse()
        .unwrap();
    get.headers_mut().insert("accept", table);
    let table = client.send(get).await.object();
    let columns = table["columnDefinitions"].as_array().unwrap();
    let names: Vec<&Value> = columns.iter().map(|column| &column["name"]).collect();
    assert_eq!(
        names[..5],
        ["Name", "Status", "Completions", "Duration", "Age"]
    );
    let cells = table["rows"][0]["cells"].as_array().unwrap();
    cells[1..5].to_vec()
}

#[tokio::test(start_paused = true)]
async fn the_duration_of_a_job_grows_until_the_job_has_finished() {
    let client = Client::of(Sandbox::builder().seed(1).simulator(true).build().unwrap()).await;
    client
        .sandbox
        .pods()
        .of("report")
        .succeed_after(Duration::from_secs(5 * 3600));
    let job = json!({"metadata": {"name": "report"}, "spec": {"suspend": true, "template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}});
    client.post(JOBS, &job).await.object();
    // It has not started.
    assert_eq!(cells(&client).await[2], "");
    let path = format!("{JOBS}/report");
    let resume = json!({"spec": {"suspend": false}});
    client.patch(MERGE, &path, &resume).await.object();
    client
        .until(&path, |job| job.json["status"]["ready"] == 1)
        .await;
    // Half a minute is left to each next unit.
    client
        .sandbox
        .advance_clock(Duration::from_secs(3 * 3600 + 20 * 60 + 30));
    assert_eq!(cells(&client).await, ["Running", "0/1", "3h20m", "3h20m"]);

    client.sandbox.advance_clock(Duration::from_secs(100 * 60));
    let done = |job: &crate::client::Answer| job.json["status"]["completionTime"].is_string();
    client.until(&path, done).await;
    let finished = cells(&client).await;
    assert_eq!(finished[..3], ["Complete", "1/1", "5h"]);

    client.sandbox.advance_clock(Duration::from_secs(24 * 3600));
    assert_eq!(cells(&client).await, ["Complete", "1/1", "5h", "29h"]);
}
