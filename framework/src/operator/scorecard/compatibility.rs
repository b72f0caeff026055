use serde_json::{Map, Value};

use super::Finding;

const KEEP: &str = "keep what is served, and add a version for the change";
const STORED: &str =
    "objects that are stored already may not fit: allow what was allowed, or add a version";

/// What objects and clients of the committed definitions lose with the present ones. Both are definitions as JSON.
pub(in crate::operator) fn breaks(committed: &[Value], present: &[Value]) -> Vec<Finding> {
    let mut found = Vec::new();
    for old in committed {
        let name = text(&old["metadata"]["name"]);
        let is_same = |new: &&Value| new["metadata"]["name"] == old["metadata"]["name"];
        let Some(new) = present.iter().find(is_same) else {
            found.push(Finding::new(name, "the definition is gone", KEEP));
            continue;
        };
        for (pointer, what) in [
            ("/spec/scope", "the scope"),
            ("/spec/names/kind", "the kind"),
        ] {
            if old.pointer(pointer) != new.pointer(pointer) {
                found.push(Finding::new(
                    name,
                    format!("{what} has changed"),
                    "it cannot change: choose another name for the kind",
                ));
            }
        }
        for version in list(&old["spec"]["versions"]) {
            if version["served"] != true {
                continue;
            }
            let place = format!("{name} {}", text(&version["name"]));
            let mut versions = list(&new["spec"]["versions"]).iter();
            let now = versions.find(|now| now["name"] == version["name"] && now["served"] == true);
            let Some(now) = now else {
                found.push(Finding::new(place, "the version is not served", KEEP));
                continue;
            };
            let schema = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
            compare(&place, "", &schema(version), &schema(now), &mut found);
        }
    }
    found
}

/// Limits, and whether a larger value is stricter.
const LIMITS: [(&str, bool); 8] = [
    ("minimum", true),
    ("maximum", false),
    ("minLength", true),
    ("maxLength", false),
    ("minItems", true),
    ("maxItems", false),
    ("minProperties", true),
    ("maxProperties", false),
];

fn compare(definition: &str, path: &str, old: &Value, new: &Value, found: &mut Vec<Finding>) {
    let place = || format!("{definition} {}", if path.is_empty() { "." } else { path });
    if old["type"] != new["type"] && !new["x-kubernetes-preserve-unknown-fields"].eq(&true) {
        let (old, new) = (text(&old["type"]), text(&new["type"]));
        let problem = format!("the type was {old:?} and is {new:?}");
        found.push(Finding::new(place(), problem, KEEP));
        return;
    }
    for (limit, larger_is_stricter) in LIMITS {
        let (before, now) = (old[limit].as_f64(), new[limit].as_f64());
        let is_stricter = now.is_some_and(|now| {
            before.is_none_or(|before| match larger_is_stricter {
                true => now > before,
                false => now < before,
            })
        });
        if is_stricter {
            let problem = format!("`{limit}` is stricter than before: {}", new[limit]);
            found.push(Finding::new(place(), problem, STORED));
        }
    }
    if new["pattern"] != old["pattern"] && !new["pattern"].is_null() {
        found.push(Finding::new(place(), "the pattern is another one", STORED));
    }
    if !new["enum"].is_null() {
        let allowed = |value: &&Value| !list(&new["enum"]).contains(value);
        let lost = list(&old["enum"]).iter().find(allowed);
        if lost.is_some() || old["enum"].is_null() {
            let lost = lost.map_or_else(String::new, |value| format!(", and {value} is gone"));
            let problem = format!("only some values are allowed{lost}");
            found.push(Finding::new(place(), problem, STORED));
        }
    }
    for field in list(&new["required"]) {
        let is_given = !new["properties"][text(field)]["default"].is_null();
        if !list(&old["required"]).contains(field) && !is_given {
            let problem = format!("the field `{}` is required now", text(field));
            let fix = "give it a default, or make it optional";
            found.push(Finding::new(place(), problem, fix));
        }
    }
    for (field, old) in object(&old["properties"]) {
        let inner = format!("{path}.{field}");
        match object(&new["properties"]).find(|(name, _)| *name == field) {
            Some((_, new)) => compare(definition, &inner, old, new, found),
            None if new["x-kubernetes-preserve-unknown-fields"] == true => {}
            None => found.push(Finding::new(
                format!("{definition} {inner}"),
                "the field is gone, and the API server drops its values",
                KEEP,
            )),
        }
    }
    for (inner, suffix) in [("items", "[]"), ("additionalProperties", ".*")] {
        if old[inner].is_object() && new[inner].is_object() {
            let path = format!("{path}{suffix}");
            compare(definition, &path, &old[inner], &new[inner], found);
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(spec: Value) -> Value {
        json!({"metadata": {"name": "sites.a.dev"}, "spec": {"scope": "Namespaced", "names": {"kind": "Site"}, "versions": [
            {"name": "v1", "served": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}]}})
    }

    /// Places and problems, for a change of the schema of `spec`.
    fn problems(old: Value, new: Value) -> Vec<String> {
        let found = breaks(&[definition(old)], &[definition(new)]);
        let shown = |one: Finding| format!("{}: {}", one.place, one.problem);
        found.into_iter().map(shown).collect()
    }

    #[test]
    fn what_stored_objects_or_clients_lose_is_found_with_its_path() {
        let list = |inner: Value| json!({"type": "object", "properties": {"all": {"type": "array", "items": inner}}});
        for (old, new, expected) in [
            (
                json!({"type": "string"}),
                json!({"type": "integer"}),
                "the type was \"string\" and is \"integer\"",
            ),
            (
                json!({"type": "integer"}),
                json!({"type": "integer", "minimum": 1}),
                "`minimum` is stricter than before: 1",
            ),
            (
                json!({"type": "integer", "minimum": 1}),
                json!({"type": "integer", "minimum": 2}),
                "`minimum` is stricter than before: 2",
            ),
            (
                json!({"type": "integer", "maximum": 9}),
                json!({"type": "integer", "maximum": 8}),
                "`maximum` is stricter than before: 8",
            ),
            (
                json!({"type": "string"}),
                json!({"type": "string", "pattern": "a"}),
                "the pattern is another one",
            ),
            (
                json!({"type": "string"}),
                json!({"type": "string", "enum": ["a"]}),
                "only some values are allowed",
            ),
            (
                json!({"type": "string", "enum": ["a", "b"]}),
                json!({"type": "string", "enum": ["a"]}),
                "only some values are allowed, and \"b\" is gone",
            ),
            (
                json!({"type": "object"}),
                json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}),
                "the field `a` is required now",
            ),
        ] {
            let place = "sites.a.dev v1 .spec.all[]";
            assert_eq!(
                problems(list(old), list(new)),
                [format!("{place}: {expected}")]
            );
        }
        let two = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let gone = "sites.a.dev v1 .spec.a: the field is gone, and the API server drops its values";
        assert_eq!(problems(two, json!({"type": "object"})), [gone]);
    }

    #[test]
    fn what_only_allows_more_is_not_found() {
        for (old, new) in [
            (
                json!({"type": "integer", "minimum": 1}),
                json!({"type": "integer"}),
            ),
            (
                json!({"type": "integer", "minimum": 2, "maximum": 3}),
                json!({"type": "integer", "minimum": 1, "maximum": 4}),
            ),
            (
                json!({"type": "string", "enum": ["a"]}),
                json!({"type": "string", "enum": ["b", "a"]}),
            ),
            (
                json!({"type": "object", "required": ["a"]}),
                json!({"type": "object"}),
            ),
            (
                json!({"type": "object"}),
                json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "default": "x"}}}),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "string"}}}),
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            ),
        ] {
            assert_eq!(problems(old, new), [""; 0]);
        }
    }

    #[test]
    fn a_definition_or_a_version_that_is_gone_is_found() {
        let old = definition(json!({}));
        let mut new = old.clone();
        assert_eq!(
            breaks(std::slice::from_ref(&old), &[])[0].problem,
            "the definition is gone"
        );
        new["spec"]["versions"][0]["served"] = false.into();
        let found = breaks(std::slice::from_ref(&old), std::slice::from_ref(&new));
        assert_eq!(found[0].problem, "the version is not served");
        new["spec"]["scope"] = "Cluster".into();
        assert_eq!(breaks(&[old], &[new])[0].problem, "the scope has changed");
    }
}
