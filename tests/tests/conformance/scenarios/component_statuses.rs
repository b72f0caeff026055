//! The states of the components of a control plane.

use http::Method;
use serde_json::{Value, json};

use crate::run::{Ask, PROTOBUF, Run};

const PATH: &str = "/api/v1/componentstatuses";

pub(crate) async fn of_components(run: &mut Run) {
    let list = [
        ("list", PATH.to_owned()),
        (
            "list: selected by name",
            format!("{PATH}?fieldSelector=metadata.name%3Detcd-0"),
        ),
        (
            "list: selected by field",
            format!("{PATH}?fieldSelector=spec.a%3Db"),
        ),
        (
            "list: selected by label",
            format!("{PATH}?labelSelector=a%3Db"),
        ),
        (
            "list: without a label",
            format!("{PATH}?labelSelector=%21a"),
        ),
        ("list: limited", format!("{PATH}?limit=1")),
        ("list: from a version", format!("{PATH}?resourceVersion=5")),
        ("list: bad selector", format!("{PATH}?labelSelector=%3D")),
    ];
    for (step, path) in list {
        sorted(run, step, Ask::get(path)).await;
    }
    sorted(run, "list: as a table", Ask::get(PATH).table()).await;
    sorted(run, "list: in protobuf", Ask::get(PATH).accept(PROTOBUF)).await;
    for name in [
        "etcd-0",
        "etcd-1",
        "scheduler",
        "controller-manager",
        "none",
    ] {
        let path = format!("{PATH}/{name}");
        run.step(name, Ask::get(&path)).await;
        run.step(format!("{name}: as a table"), Ask::get(&path).table())
            .await;
    }
    let one = format!("{PATH}/etcd-0");
    let object =
        json!({"apiVersion": "v1", "kind": "ComponentStatus", "metadata": {"name": "etcd-0"}});
    let asked = [
        ("watch", Ask::get(format!("{PATH}?watch=1"))),
        (
            "watch: one",
            Ask::get(format!(
                "{PATH}?watch=1&fieldSelector=metadata.name%3Detcd-0"
            )),
        ),
        (
            "in a namespace",
            Ask::get("/api/v1/namespaces/default/componentstatuses"),
        ),
        ("subresource", Ask::get(format!("{one}/status"))),
        ("change: create", Ask::post(PATH, object.clone())),
        ("change: update", Ask::put(&one, object.clone())),
        ("change: patch", Ask::merge(&one, object)),
        ("change: delete", Ask::delete(&one)),
        ("change: delete all", Ask::delete(PATH)),
        ("options", Ask::new(Method::OPTIONS, PATH)),
    ];
    for (step, ask) in asked {
        run.step(step, ask).await;
    }
    run.step("as nobody", Ask::get(&one).with_user("nobody"))
        .await;
    for line in [
        "get componentstatuses etcd-0",
        "get cs etcd-0 none",
        "get cs etcd-0 -o yaml",
        "describe cs etcd-0",
    ] {
        run.kubectl(line, line, "").await;
    }
}

/// Records an answer whose order is that in which the components answered.
async fn sorted(run: &mut Run, step: &str, ask: Ask) {
    let mut answer = run.send_unrecorded(ask).await;
    for list in ["items", "rows"] {
        if let Some(list) = answer.body[list].as_array_mut() {
            list.sort_by_key(|one| {
                let metadata = &one["metadata"]["name"];
                json!([metadata, one["cells"]]).to_string()
            });
        }
    }
    let shown: Value = json!([
        answer.code,
        answer.warnings,
        answer.content_type,
        answer.body
    ]);
    run.record(step, shown);
}
