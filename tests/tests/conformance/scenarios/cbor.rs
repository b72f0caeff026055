//! Bodies and answers in CBOR, of built-in kinds and of a custom one.

use serde_json::{Value, json};

use super::{
    crud::map,
    gadget::{GADGETS, gadget, install},
    patches::workload,
};
use crate::{
    cbor::CBOR,
    run::{Ask, Run},
};

fn samples(run: &Run) -> Vec<(&'static str, String, Value)> {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"a": "AP8=", "b": ""}});
    let spec = json!({"min": 1, "max": 2, "items": [{"name": "a"}]});
    vec![
        ("map", run.path("v1/configmaps"), map("a")),
        ("secret", run.path("v1/secrets"), secret),
        ("deployment", run.path("apps/v1/deployments"), workload("a")),
        ("gadget", run.path(GADGETS), gadget("a", spec)),
    ]
}

pub(crate) async fn objects(run: &mut Run) {
    install(run).await;
    for (kind, path, object) in samples(run) {
        let one = format!("{path}/a");
        let created = Ask::post(&path, object.clone()).in_cbor();
        run.step(format!("{kind}: created"), created.clone()).await;
        run.step(format!("{kind}: again"), created).await;
        let read = run.step(format!("{kind}: JSON"), Ask::get(&one)).await;
        let in_cbor = run
            .step(format!("{kind}: CBOR"), Ask::get(&one).in_cbor())
            .await;
        run.record(
            format!("{kind}: both are the same"),
            (read.body == in_cbor.body).into(),
        );
        let mut changed = read.body.clone();
        changed["metadata"]["annotations"] = json!({"changed": "yes"});
        let put = Ask::put(&one, changed).in_cbor();
        run.step(format!("{kind}: put"), put.clone()).await;
        run.step(format!("{kind}: put again"), put).await;
        let patch = json!({"metadata": {"annotations": {"changed": "no"}}});
        run.step(
            format!("{kind}: patched"),
            Ask::merge(&one, patch).accept(CBOR),
        )
        .await;
        let mut applied = object.clone();
        applied["metadata"]["labels"] = json!({"by": "one"});
        let apply = Ask::apply(format!("{one}?fieldManager=one&force=true"), applied);
        run.step(format!("{kind}: applied"), apply.in_cbor()).await;
        let selected = "fieldSelector=metadata.name%3Da";
        let list = Ask::get(format!("{path}?limit=5&{selected}")).in_cbor();
        run.step(format!("{kind}: list"), list).await;
        let watch = format!("{path}?watch=true&timeoutSeconds=1&{selected}");
        run.step(format!("{kind}: watch"), Ask::get(watch).in_cbor())
            .await;
        let options =
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "x"}});
        let delete = Ask::delete(&one).body(options).in_cbor();
        run.step(format!("{kind}: delete another"), delete).await;
        let options =
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
        let delete = Ask::delete(&one).body(options).in_cbor();
        run.step(format!("{kind}: deleted"), delete).await;
        run.step(format!("{kind}: is gone"), Ask::get(&one).in_cbor())
            .await;
        let mut invalid = object;
        invalid["metadata"]["name"] = json!("A_b");
        run.step(
            format!("{kind}: invalid"),
            Ask::post(&path, invalid).in_cbor(),
        )
        .await;
    }
}

/// The forms of answers that are not whole objects, and bodies that are not what they should be.
pub(crate) async fn forms(run: &mut Run) {
    const TABLE: &str = "as=Table;v=v1;g=meta.k8s.io";
    const PARTIAL: &str = "as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    const PARTIAL_LIST: &str = "as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let path = run.path("v1/configmaps");
    let one = format!("{path}/a");
    run.step("map", Ask::post(&path, map("a"))).await;
    let list = format!("{path}?fieldSelector=metadata.name%3Da");
    let watch = format!("{list}&watch=true&timeoutSeconds=1");
    for (step, path, form) in [
        ("table", &one, TABLE),
        ("table of a list", &list, TABLE),
        ("watched tables", &watch, TABLE),
        ("metadata", &one, PARTIAL),
        ("metadata of a list", &list, PARTIAL_LIST),
        ("metadata of a list as of an object", &list, PARTIAL),
        ("watched metadata", &watch, PARTIAL),
        ("unknown form", &one, "as=Other;v=v1;g=meta.k8s.io"),
        ("unknown parameter", &one, "other=1"),
    ] {
        let accept = format!("{CBOR};{form}");
        run.step(step, Ask::get(path).accept(&accept)).await;
        let accept = format!("{accept},application/json;{form}");
        run.step(format!("{step}, or JSON"), Ask::get(path).accept(accept))
            .await;
    }
    for (step, accept) in [
        ("sequence", "application/cbor-seq"),
        ("JSON first", "application/json,application/cbor"),
        ("JSON rather", "application/cbor;q=0.5,application/json"),
        ("upper case", "Application/CBOR"),
        ("nothing known", "application/other"),
    ] {
        run.step(step, Ask::get(&one).accept(accept)).await;
    }
    let other = Ask::get(&list).accept("application/other");
    run.step("nothing known, of a list", other).await;
    run.step(
        "watched sequence",
        Ask::get(&watch).accept("application/cbor-seq"),
    )
    .await;
    for path in [
        "/version",
        "/api",
        "/apis",
        "/api/v1",
        "/apis/apps",
        "/apis/apps/v1",
        "/none",
        "/api/v1/none",
    ] {
        run.step(format!("document: {path}"), Ask::get(path).in_cbor())
            .await;
    }
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    run.step("review", Ask::post(reviews, review).in_cbor())
        .await;
    let deployments = run.path("apps/v1/deployments");
    run.step(
        "deployment",
        Ask::post(&deployments, workload("a")).in_cbor(),
    )
    .await;
    let scale = format!("{deployments}/a/scale");
    run.step("scale", Ask::get(&scale).in_cbor()).await;
    let scaled = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 2}});
    run.step("scaled", Ask::put(&scale, scaled).in_cbor()).await;
    let text = |length: u8, bytes: &[u8]| [&[0x40 | length], bytes].concat();
    let data = |value: &[u8]| {
        let pair =
            |key: &str, value: &[u8]| [&text(key.len() as u8, key.as_bytes()), value].concat();
        let entry = |key: &str, value: &str| pair(key, &text(value.len() as u8, value.as_bytes()));
        let metadata = [&[0xa1][..], &entry("name", "b")].concat();
        [
            &[0xd9, 0xd9, 0xf7, 0xa4][..],
            &entry("apiVersion", "v1"),
            &entry("kind", "ConfigMap"),
            &pair("metadata", &metadata),
            &pair("data", &[&[0xa1][..], &pair("a", value)].concat()),
        ]
        .concat()
    };
    for (step, body) in [
        ("no CBOR", b"\xff".to_vec()),
        (
            "JSON",
            br#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}"#.to_vec(),
        ),
        ("nothing", Vec::new()),
        ("no tag", data(&text(1, b"x"))[3..].to_vec()),
        (
            "something after it",
            [data(&text(1, b"x")), vec![0x00]].concat(),
        ),
        ("cut", data(&text(1, b"x"))[..40].to_vec()),
        ("text string", data(b"\x61x")),
        ("number", data(b"\x01")),
        ("null", data(b"\xf6")),
        ("undefined", data(b"\xf7")),
        ("simple value", data(b"\xe0")),
        ("half", data(b"\xf9\x3c\x00")),
        ("no number", data(b"\xf9\x7e\x00")),
        ("endless", data(b"\x9f\xff")),
        ("time", data(b"\xc0\x41x")),
        ("time in seconds", data(b"\xc1\x01")),
        ("large number", data(b"\xc2\x41\x01")),
        ("base64", data(b"\xd6\x41\x01")),
        ("base16", data(b"\xd7\x41\x01")),
        ("unknown tag", data(b"\xd8\xc8\x41x")),
        ("not UTF-8", data(&text(1, b"\xff"))),
        ("number as key", data(b"\xa1\x01\x41x")),
        ("key twice", data(b"\xa2\x41x\x41x\x41x\x41x")),
    ] {
        let create = Ask::post(format!("{path}?dryRun=All"), json!({}));
        run.step(format!("body: {step}"), create.raw(CBOR, body))
            .await;
    }
    let patch = crate::cbor::encode(&json!({"data": {"a": "2"}}));
    for media in [
        CBOR,
        "application/merge-patch+cbor",
        "application/apply-patch+cbor",
    ] {
        let ask = Ask::patch(
            format!("{one}?fieldManager=other&dryRun=All"),
            media,
            json!({}),
        );
        run.step(format!("patch: {media}"), ask.raw(media, patch.clone()))
            .await;
    }
}
