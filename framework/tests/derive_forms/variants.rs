//! What one variant demands of a field that several variants have.

use pilothouse::{Schema, crd::to_json, resource::ObjectMeta};
use pilothouse_sandbox::internals::schema::Schema as ServerSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(pilothouse::Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct Rule {
    metadata: ObjectMeta,
    spec: RuleSpec,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct RuleSpec {
    when: Option<When>,
    then: Option<Then>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", content = "of")]
enum When {
    Always,
    Every { minutes: u32 },
    At(Cron),
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Cron {
    cron: String,
    zone: Option<Zone>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Zone {
    name: String,
}

/// The contents of the variants have different parts and levels.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "type", content = "to")]
enum Then {
    Mail(Person),
    Call(Line),
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Person {
    address: String,
    level: Low,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Line {
    number: String,
    level: High,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
enum Low {
    Calm,
    Normal,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
enum High {
    Normal,
    Urgent,
}

#[test]
fn an_api_server_takes_what_the_type_reads_and_nothing_else() {
    use pilothouse::crd::CustomResource;
    let schema = to_json(&Rule::crd().unwrap());
    let schema = &schema["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let server = ServerSchema::from_json(schema).unwrap();
    let (person, line) = (
        json!({"address": "a", "level": "Calm"}),
        json!({"number": "1", "level": "Urgent"}),
    );
    for (spec, is_valid) in [
        (json!({"when": {"kind": "Always"}}), true),
        (
            json!({"when": {"kind": "Every", "of": {"minutes": 5}}}),
            true,
        ),
        (
            json!({"when": {"kind": "At", "of": {"cron": "@daily"}}}),
            true,
        ),
        (
            json!({"when": {"kind": "At", "of": {"cron": "a", "zone": {"name": "b"}}}}),
            true,
        ),
        (
            json!({"when": {"kind": "At", "of": {"cron": "a", "zone": {}}}}),
            false,
        ),
        (json!({"when": {"kind": "Every", "of": {}}}), false),
        (
            json!({"when": {"kind": "Every", "of": {"cron": "@daily"}}}),
            false,
        ),
        (json!({"when": {"kind": "Every"}}), false),
        (json!({"when": {"kind": "At", "of": {"minutes": 5}}}), false),
        (json!({"then": {"type": "Mail", "to": person}}), true),
        (json!({"then": {"type": "Call", "to": line}}), true),
        (json!({"then": {"type": "Mail", "to": line}}), false),
        (json!({"then": {"type": "Call", "to": person}}), false),
        (
            json!({"then": {"type": "Mail", "to": {"address": "a", "level": "Urgent"}}}),
            false,
        ),
        (
            json!({"then": {"type": "Call", "to": {"number": "1", "level": "Normal"}}}),
            true,
        ),
    ] {
        let reads = serde_json::from_value::<RuleSpec>(spec.clone());
        assert_eq!(reads.is_ok(), is_valid, "{spec}: {reads:?}");
        let object =
            json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "spec": spec});
        let errors: Vec<Value> = server
            .validate(&object, None)
            .iter()
            .map(|error| json!(error.to_string()))
            .collect();
        assert_eq!(errors.is_empty(), is_valid, "{spec}: {errors:?}");
    }
}
