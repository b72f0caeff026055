//! How large requests and objects may be.

use serde_json::{Value, json};

use super::{
    crud::map,
    gadget::{GADGETS, gadget, install},
};
use crate::run::{Answer, Ask, Run};

/// What an answer says, without the object.
fn said(answer: &Answer) -> Value {
    let body = &answer.body;
    json!({"code": answer.code, "reason": body["reason"], "message": body["message"], "details": body["details"],
        "owners": body["metadata"]["managedFields"].as_array().map(Vec::len)})
}

async fn say(run: &mut Run, step: String, ask: Ask) {
    let answer = run.send_unrecorded(ask).await;
    run.record(step, said(&answer));
}

const KIB: usize = 1024;

pub(crate) async fn of_objects(run: &mut Run) {
    install(run).await;
    let maps = run.path("v1/configmaps");
    let gadgets = run.path(GADGETS);
    let text = |length: usize| Value::from("x".repeat(length));
    let noted = |mut object: Value, length: usize| {
        object["metadata"]["annotations"] = json!({"a": text(length - 1)});
        object
    };
    for (step, length) in [("fit", 256 * KIB), ("are too long", 256 * KIB + 1)] {
        say(
            run,
            format!("annotations of a map: {step}"),
            Ask::post(format!("{maps}?dryRun=All"), noted(map("a"), length)),
        )
        .await;
        say(
            run,
            format!("annotations of a gadget: {step}"),
            Ask::post(
                format!("{gadgets}?dryRun=All"),
                noted(gadget("a", json!({})), length),
            ),
        )
        .await;
    }
    for (step, length) in [("fits", 1024 * KIB), ("is too long", 1024 * KIB + 1)] {
        let mut object = map("a");
        object["data"] = json!({"a": text(length)});
        say(
            run,
            format!("data of a map: {step}"),
            Ask::post(format!("{maps}?dryRun=All"), object),
        )
        .await;
        let secret = json!({"metadata": {"name": "a"}, "stringData": {"a": text(length)}});
        say(
            run,
            format!("data of a secret: {step}"),
            Ask::post(run.path("v1/secrets?dryRun=All"), secret),
        )
        .await;
    }
    for (step, length) in [
        ("1.4 MiB", 1434 * KIB),
        ("just below 1.5 MiB", 1536 * KIB - 2 * KIB),
        ("1.5 MiB", 1536 * KIB),
        ("1.9 MiB", 1945 * KIB),
        ("2.5 MiB", 2560 * KIB),
        ("3.1 MiB", 3174 * KIB),
    ] {
        let name = step.replace([' ', '.'], "-").to_lowercase();
        let large = gadget(&name, json!({"free": {"a": text(length)}}));
        say(
            run,
            format!("gadget of {step}"),
            Ask::post(&gadgets, large.clone()),
        )
        .await;
        say(
            run,
            format!("gadget of {step}, dry run"),
            Ask::post(format!("{gadgets}?dryRun=All"), large),
        )
        .await;
        let controlled =
            json!({"metadata": {"name": name}, "revision": 1, "data": {"a": text(length)}});
        say(
            run,
            format!("revision of {step}"),
            Ask::post(run.path("apps/v1/controllerrevisions"), controlled),
        )
        .await;
    }
    run.send_unrecorded(Ask::post(&gadgets, gadget("grown", json!({}))))
        .await;
    let grown = format!("{gadgets}/grown");
    for (step, length) in [("1.4 MiB", 1434 * KIB), ("1.6 MiB", 1640 * KIB)] {
        let patch = json!({"spec": {"free": {"a": text(length)}}});
        say(run, format!("patch to {step}"), Ask::merge(&grown, patch)).await;
        let mut put = gadget("grown", json!({"free": {"a": text(length + KIB)}}));
        put["metadata"]["labels"] = json!({"a": "b"});
        put["metadata"]["resourceVersion"] =
            run.send_unrecorded(Ask::get(&grown)).await.body["metadata"]["resourceVersion"].take();
        say(run, format!("put of {step}"), Ask::put(&grown, put)).await;
    }
    // The owners of very many fields take more room than the object has left.
    let many: serde_json::Map<String, Value> = (0..30_000)
        .map(|number| (format!("key-{number:025}"), json!("v")))
        .collect();
    let owned = gadget("owned", json!({"free": many}));
    say(
        run,
        "owners that do not fit".into(),
        Ask::post(&gadgets, owned),
    )
    .await;
}

pub(crate) async fn of_requests(run: &mut Run) {
    let maps = run.path("v1/configmaps");
    run.send_unrecorded(Ask::post(&maps, map("one"))).await;
    let one = format!("{maps}/one");
    let json_patch = |count: usize| {
        let operation = json!({"op": "add", "path": "/metadata/labels", "value": {"a": "b"}});
        Ask::json(&one, vec![operation; count].into())
    };
    say(run, "10000 operations".into(), json_patch(10_000)).await;
    say(run, "10001 operations".into(), json_patch(10_001)).await;
    let copies = |count: usize| {
        let mut operations =
            vec![json!({"op": "add", "path": "/data", "value": {"a": "x".repeat(512 * KIB)}})];
        operations.extend((0..count).map(
            |number| json!({"op": "copy", "from": "/data/a", "path": format!("/data/b{number}")}),
        ));
        operations.extend(
            (0..count).map(|number| json!({"op": "remove", "path": format!("/data/b{number}")})),
        );
        Ask::json(&one, operations.into())
    };
    say(run, "copies of 2.5 MiB".into(), copies(5)).await;
    say(run, "copies of 3.5 MiB".into(), copies(7)).await;
    for (step, ask) in [
        ("a merge patch", Ask::merge(&one, json!({"data": {"a": "x".repeat(3 * KIB * KIB)}}))),
        ("options of a deletion", Ask::delete(&one).body(json!({"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["x".repeat(3 * KIB * KIB)]}))),
        ("an apply", Ask::apply(format!("{one}?fieldManager=one"), json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "x".repeat(3 * KIB * KIB)}}))),
    ] {
        say(run, format!("too large: {step}"), ask).await;
    }
    let long = |length: usize| format!("{maps}?labelSelector=a%3D{}", "b".repeat(length));
    say(run, "a long selector".into(), Ask::get(long(64))).await;
    say(
        run,
        "a long field manager".into(),
        Ask::merge(format!("{one}?fieldManager={}", "m".repeat(129)), json!({})),
    )
    .await;
    let deep = |levels: usize| {
        [
            r#"{"metadata": {"name": "deep"}, "data": "#,
            &"[".repeat(levels),
            &"]".repeat(levels),
            "}",
        ]
        .concat()
    };
    for levels in [9_000, 10_001] {
        say(
            run,
            format!("{levels} levels"),
            Ask::post(&maps, Value::Null).raw("application/json", deep(levels)),
        )
        .await;
    }
}
