use serde_json::{Map, Value, json};

use super::admission;
use super::fields::{each, fill, object};

/// A CustomResourceDefinition.
pub(super) fn definition(fields: &mut Map<String, Value>) {
    let Some(spec) = object(fields, "spec") else {
        return;
    };
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(false)) {
        spec.remove("preserveUnknownFields");
    }
    each(spec, "versions", |version| {
        if let Some(schema) =
            object(version, "schema").and_then(|part| part.get_mut("openAPIV3Schema"))
        {
            drop_empty_lists(schema);
        }
    });
    fill(spec, "conversion", json!({"strategy": "None"}));
    let conversion = object(spec, "conversion");
    let webhook = conversion.and_then(|conversion| object(conversion, "webhook"));
    let client = webhook.and_then(|webhook| object(webhook, "clientConfig"));
    if let Some(service) = client.and_then(|client| object(client, "service")) {
        admission::service_port(service);
    }
    let storage = spec.get("versions").and_then(Value::as_array);
    let storage = storage
        .into_iter()
        .flatten()
        .find(|version| version["storage"] == true);
    let storage = storage.map(|version| version["name"].clone());
    if let Some(names) = object(spec, "names")
        && let Some(kind) = names.get("kind").and_then(Value::as_str).map(str::to_owned)
    {
        fill(names, "singular", kind.to_lowercase());
        fill(names, "listKind", format!("{kind}List"));
    }
    if let Some(storage) = storage
        && let Some(stored) =
            object(fields, "status").and_then(|status| status.get_mut("storedVersions"))
        && stored.as_array().is_some_and(Vec::is_empty)
    {
        *stored = json!([storage]);
    }
}

/// Drops the empty lists of a schema, which a real server does not write.
fn drop_empty_lists(schema: &mut Value) {
    let Value::Object(fields) = schema else {
        return;
    };
    const LISTS: [&str; 7] = [
        "enum",
        "required",
        "allOf",
        "anyOf",
        "oneOf",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-validations",
    ];
    fields.retain(|name, value| {
        let is_empty = value.as_array().is_some_and(Vec::is_empty);
        !is_empty || !LISTS.contains(&name.as_str())
    });
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(drop_empty_lists);
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(drop_empty_lists);
            }
            ("items" | "additionalProperties" | "not", schema) => drop_empty_lists(schema),
            _ => {}
        }
    }
}
