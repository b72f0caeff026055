//! Validation of values by the schema of a custom kind.

use serde_json::{Value, json};

use super::gadget::{GADGETS, gadget, install};
use crate::run::{Ask, Run};

pub(crate) async fn of_values(run: &mut Run) {
    install(run).await;
    let path = format!("{}?dryRun=All", run.path(GADGETS));
    for (step, spec) in [
        ("minimal", json!({})),
        ("null where not allowed", json!({"mode": null})),
        ("null with default", json!({"replicas": null})),
        (
            "null where allowed",
            json!({"nullable": null, "nullableDefault": null}),
        ),
        ("null for an enum", json!({"level": null})),
        ("null for an enum with null", json!({"levelOrNull": null})),
        (
            "null in a list of an enum",
            json!({"levels": ["low", null]}),
        ),
        (
            "null in a list of an enum with null",
            json!({"levelsOrNull": [null]}),
        ),
        ("null in a map of an enum", json!({"levelOf": {"a": null}})),
        ("enum", json!({"mode": "medium"})),
        ("enum of another type", json!({"mode": 1})),
        ("below minimum", json!({"replicas": -1})),
        ("above maximum", json!({"replicas": 101})),
        ("text for a number", json!({"replicas": "three"})),
        ("fraction for an integer", json!({"replicas": 1.5})),
        ("whole fraction for an integer", json!({"replicas": 2.0})),
        ("beyond 32 bits", json!({"replicas": 3_000_000_000_i64})),
        ("exclusive minimum", json!({"share": 0})),
        ("multiple", json!({"share": 0.3})),
        ("exclusive maximum", json!({"below": 10})),
        ("too short", json!({"name": "a"})),
        ("too long", json!({"name": "abcdefg"})),
        ("pattern", json!({"name": "A1"})),
        (
            "several at once",
            json!({"name": "A", "replicas": 200, "mode": "x"}),
        ),
        ("int or string: int", json!({"port": 80})),
        ("int or string: string", json!({"port": "http"})),
        ("int or string: boolean", json!({"port": true})),
        ("date-time", json!({"when": "yesterday"})),
        ("date", json!({"day": "2026-13-01"})),
        ("email", json!({"mail": "nobody"})),
        ("ipv4", json!({"address": "1.2.3"})),
        ("ipv6", json!({"address6": "1.2.3.4"})),
        ("cidr", json!({"net": "10.0.0.0"})),
        ("uri", json!({"link": "no uri"})),
        ("hostname", json!({"host": "-x-"})),
        ("uuid", json!({"id": "abc"})),
        ("duration", json!({"for": "1x"})),
        ("byte", json!({"bytes": "***"})),
        (
            "good formats",
            json!({"when": "2026-01-02T03:04:05Z", "day": "2026-01-02", "mail": "a@b.c", "address": "1.2.3.4", "address6": "::1", "net": "10.0.0.0/8", "link": "http://a/b", "host": "a.b", "for": "1h", "bytes": "YQ=="}),
        ),
        ("duplicate in a set", json!({"tags": ["a", "b", "a"]})),
        ("too many", json!({"tags": ["a", "b", "c", "d"]})),
        ("too few", json!({"atomicList": []})),
        (
            "duplicate key",
            json!({"items": [{"name": "a"}, {"name": "a"}]}),
        ),
        ("required in a list", json!({"items": [{"value": "x"}]})),
        ("null in a list", json!({"items": [null]})),
        (
            "default in a list",
            json!({"items": [{"name": "a"}, {"name": "b", "value": "w"}]}),
        ),
        ("list is an object", json!({"items": {"name": "a"}})),
        (
            "too many properties",
            json!({"labels": {"a": "1", "b": "2", "c": "3"}}),
        ),
        ("too few properties", json!({"sized": {}})),
        ("type of a property", json!({"labels": {"a": 1}})),
        ("null property", json!({"labels": {"a": null}})),
        ("object is text", json!({"labels": "x"})),
        ("oneOf: none", json!({"choice": {}})),
        ("oneOf: both", json!({"choice": {"a": "1", "b": "2"}})),
        ("anyOf: none", json!({"any": {}})),
        ("not", json!({"not": "bad"})),
        (
            "embedded without kind",
            json!({"embedded": {"metadata": {"name": "a"}}}),
        ),
        (
            "embedded with a bad name",
            json!({"embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 5}}}),
        ),
        (
            "embedded",
            json!({"embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "unknown": 1}, "other": 1}}),
        ),
        (
            "embedded metadata",
            json!({"embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": 1}}}}),
        ),
        ("free", json!({"free": {"a": {"b": [1, "x", null]}}})),
        ("nested defaults", json!({"deep": {"inner": {}}})),
        ("rule over two fields", json!({"min": 3, "max": 2})),
        ("rule with reason and path", json!({"flag": true})),
        ("rule that forbids", json!({"mode": "slow", "replicas": 11})),
        ("quantity", json!({"quota": "1Zi5"})),
        ("rules of a list", json!({"words": ["x"]})),
        ("rule without message", json!({"words": ["wb", "wa"]})),
        ("too long for a rule", json!({"words": ["wbbbbbbbbbbbbbb"]})),
        (
            "schema and rule errors",
            json!({"replicas": 300, "min": 3, "max": 2}),
        ),
    ] {
        run.step(step, Ask::post(&path, gadget("a", spec))).await;
    }
    let mut object = gadget("a", json!({}));
    object["spec"] = Value::Null;
    run.step("no spec", Ask::post(&path, object.clone())).await;
    object["spec"] = json!({});
    run.step("no mode", Ask::post(&path, object.clone())).await;
    object["spec"] = "text".into();
    run.step("spec is text", Ask::post(&path, object)).await;
}

pub(crate) async fn of_unknown_fields(run: &mut Run) {
    install(run).await;
    let path = run.path(GADGETS);
    let deployments = run.path("apps/v1/deployments");
    let mut object = gadget(
        "a",
        json!({"unknown": 1, "items": [{"name": "a", "odd": 2}], "free": {"x": 1}}),
    );
    object["other"] = json!({"a": 1});
    object["metadata"]["strange"] = "x".into();
    let mut workload = super::patches::workload("a");
    workload["spec"]["unknown"] = 1.into();
    workload["spec"]["template"]["spec"]["containers"][0]["imagePulPolicy"] = "Always".into();
    for validation in ["Strict", "Warn", "Ignore", "Loud"] {
        let query = format!("?dryRun=All&fieldValidation={validation}");
        run.step(
            format!("gadget, {validation}"),
            Ask::post(format!("{path}{query}"), object.clone()),
        )
        .await;
        run.step(
            format!("deployment, {validation}"),
            Ask::post(format!("{deployments}{query}"), workload.clone()),
        )
        .await;
    }
    run.step(
        "by default",
        Ask::post(format!("{path}?dryRun=All"), object.clone()),
    )
    .await;
    for (name, path, mut object) in [
        ("of a gadget", &path, object.clone()),
        (
            "of a ConfigMap",
            &run.path("v1/configmaps"),
            json!({"metadata": {"name": "a"}}),
        ),
    ] {
        for number in 0..150 {
            object[format!("unknown{number:03}")] = 1.into();
        }
        let ask = Ask::post(format!("{path}?dryRun=All&fieldValidation=Strict"), object);
        run.step(format!("150 unknown fields {name}"), ask).await;
    }
    // The warning about the kind comes first. Many long ones are cut.
    let endpoints = run.path("v1/endpoints?dryRun=All");
    for (name, count, length) in [("one", 1, 3), ("many", 30, 300), ("short", 40, 90)] {
        let mut object = json!({"metadata": {"name": "a"}});
        for number in 0..count {
            object[format!("{number:02}{}", "\u{e9}".repeat(length))] = 1.into();
        }
        let step = format!("{name} unknown fields of a deprecated kind");
        run.step(step, Ask::post(&endpoints, object)).await;
    }
    run.step(
        "dry run of nonsense",
        Ask::post(format!("{path}?dryRun=Some"), object.clone()),
    )
    .await;
    let twice = r#"{"apiVersion":"conformance.pilothouse.dev/v1","kind":"Gadget","metadata":{"name":"a"},"spec":{"mode":"fast","mode":"slow"}}"#;
    for validation in ["Strict", "Warn"] {
        let to = format!("{path}?dryRun=All&fieldValidation={validation}");
        let ask = Ask::post(to, json!({})).raw("application/json", twice);
        run.step(format!("a field twice, {validation}"), ask).await;
    }
    run.step(
        "no JSON",
        Ask::post(&path, json!({})).raw("application/json", "{\"a\":"),
    )
    .await;
    run.step(
        "another media type",
        Ask::post(&path, json!({})).raw("text/plain", "hello"),
    )
    .await;
    let yaml = "apiVersion: conformance.pilothouse.dev/v1\nkind: Gadget\nmetadata:\n  name: yaml\nspec:\n  mode: fast\n";
    run.step(
        "YAML",
        Ask::post(&path, json!({})).raw("application/yaml", yaml),
    )
    .await;
    run.step("another answer", Ask::get(&path).accept("text/plain"))
        .await;
    run.send_unrecorded(Ask::post(&path, gadget("b", json!({}))))
        .await;
    let to = format!("{path}/b?fieldValidation=Strict");
    run.step(
        "merge patch, Strict",
        Ask::merge(&to, json!({"spec": {"unknown": 1}})),
    )
    .await;
    run.step(
        "JSON patch, Strict",
        Ask::json(
            &to,
            json!([{"op": "add", "path": "/spec/unknown", "value": 1}]),
        ),
    )
    .await;
    let applied = gadget("b", json!({"unknown": 1}));
    run.step(
        "apply, Strict",
        Ask::apply(format!("{to}&fieldManager=m&force=true"), applied),
    )
    .await;
}

pub(crate) async fn of_transitions(run: &mut Run) {
    install(run).await;
    let path = run.path(GADGETS);
    let object = gadget("a", json!({"name": "abc", "counter": 5}));
    run.step("create", Ask::post(&path, object)).await;
    let one = format!("{path}/a");
    for (step, spec) in [
        ("immutable", json!({"name": "abd"})),
        ("decreasing", json!({"counter": 4})),
        ("both", json!({"name": "abd", "counter": 4})),
        ("increasing", json!({"counter": 6})),
        ("removed", json!({"name": null})),
        ("set again", json!({"name": "xyz"})),
    ] {
        run.step(step, Ask::merge(&one, json!({"spec": spec})))
            .await;
    }
}
