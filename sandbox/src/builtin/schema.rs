use serde_json::{Map, Value, json};

use super::definition;

/// The schema of a definition with every reference replaced by what it refers to.
///
/// A definition that contains itself (JSONSchemaProps) is an open object where it comes back: its fields are kept
/// unchecked there. Types that have their own form on the wire (quantities, int-or-string, arbitrary JSON) are
/// written with the `x-kubernetes-` extensions that structural schemas have for them.
///
/// A name without a definition gives an open object.
pub fn schema_json(name: &str) -> Value {
    expand(name, &mut Vec::new())
}

fn open() -> Value {
    json!({"x-kubernetes-preserve-unknown-fields": true})
}

fn open_object() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

fn expand(name: &str, within: &mut Vec<String>) -> Value {
    let short = name.rsplit('.').next().unwrap_or(name);
    match short {
        "IntOrString" => return json!({"x-kubernetes-int-or-string": true}),
        // A number is accepted too, and becomes a string with the defaults.
        "Quantity"
        | "JSON"
        | "JSONSchemaPropsOrArray"
        | "JSONSchemaPropsOrBool"
        | "JSONSchemaPropsOrStringArray" => return open(),
        "FieldsV1" | "RawExtension" => return open_object(),
        _ => {}
    }
    if within.iter().any(|outer| outer == name) {
        return open_object();
    }
    let Some(definition) = definition(name) else {
        return open_object();
    };
    within.push(name.to_owned());
    let expanded = inline(definition, within);
    within.pop();
    expanded
}

fn inline(schema: Value, within: &mut Vec<String>) -> Value {
    let Value::Object(fields) = schema else {
        return schema;
    };
    let mut out = Map::new();
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("$ref", Value::String(name)) => {
                if let Value::Object(target) = expand(&name, within) {
                    for (key, value) in target {
                        out.entry(key).or_insert(value);
                    }
                }
            }
            ("properties", Value::Object(properties)) => {
                let inlined: Map<String, Value> = properties
                    .into_iter()
                    .map(|(name, property)| (name, inline(property, within)))
                    .collect();
                out.insert(key, Value::Object(inlined));
            }
            ("items" | "additionalProperties", value) => {
                out.insert(key, inline(value, within));
            }
            ("x-kubernetes-group-version-kind" | "x-kubernetes-unions", _) => {}
            (_, value) => {
                out.insert(key, value);
            }
        }
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_replaced_at_every_depth() {
        let pod = schema_json("io.k8s.api.core.v1.Pod");
        let ports =
            &pod["properties"]["spec"]["properties"]["containers"]["items"]["properties"]["ports"];
        assert_eq!(ports["x-kubernetes-list-type"], "map");
        assert_eq!(
            ports["items"]["properties"]["containerPort"]["format"],
            "int32"
        );
        assert!(!pod.to_string().contains("$ref"));
    }

    #[test]
    fn a_recursive_definition_ends_in_an_open_object() {
        let crd = schema_json(
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
        );
        let versions = &crd["properties"]["spec"]["properties"]["versions"]["items"]["properties"];
        let schema = &versions["schema"]["properties"]["openAPIV3Schema"];
        assert_eq!(schema["properties"]["type"]["type"], "string");
        assert_eq!(schema["properties"]["not"], open_object());
    }
}
