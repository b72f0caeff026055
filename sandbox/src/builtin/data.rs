use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// One entry of `data/resources.json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) verbs: Vec<String>,
    /// A hash of the form in which a real server stores the objects. A kind that is not stored has none.
    pub(crate) storage_version_hash: Option<String>,
    /// In the order of discovery.
    pub(crate) subresources: Vec<Subresource>,
    /// The name of its definition.
    pub(crate) definition: String,
}

/// A subresource of a built-in kind, with the group, version and kind of its objects.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Subresource {
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) verbs: Vec<String>,
}

#[derive(Deserialize)]
struct Resources {
    source: String,
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Definitions {
    #[cfg_attr(not(test), expect(dead_code, reason = "says where the data is from"))]
    source: String,
    /// Kept as text: a process needs only a few of them as values.
    definitions: BTreeMap<String, Box<RawValue>>,
}

/// What Kubernetes says about its types, fields and parameters.
#[derive(Deserialize)]
struct Descriptions {
    #[cfg_attr(not(test), expect(dead_code, reason = "says where the data is from"))]
    source: String,
    /// The texts about each definition: the name of a field leads to the text about the field, and the empty name to that about the definition.
    definitions: BTreeMap<String, BTreeMap<String, String>>,
    /// The values that a field may have, for each definition and each field that is limited to some values. `[]` after the name of a field means the
    /// items of a list, and `{}` the values of a map.
    enums: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    /// The texts about the parameters of requests. A name that begins with `patch/` has the text for patches, if it is another one.
    parameters: BTreeMap<String, String>,
}

/// What Kubernetes says about the columns of tables.
#[derive(Deserialize)]
struct Columns {
    #[cfg_attr(not(test), expect(dead_code, reason = "says where the data is from"))]
    source: String,
    /// By the first part of the group and the kind, such as `apps/Deployment`; then by the column. The empty kind is for columns of all kinds.
    columns: BTreeMap<String, BTreeMap<String, String>>,
}

/// The roles and bindings that a new cluster has.
#[derive(Deserialize)]
struct Roles {
    #[cfg_attr(not(test), expect(dead_code, reason = "says where the data is from"))]
    source: String,
    objects: Vec<Value>,
}

// The embedded files are constants of the build, and the tests below check them: reading them cannot fail at run time.
static RESOURCES: LazyLock<Resources> = LazyLock::new(|| {
    serde_json::from_str(include_str!("data/resources.json")).expect("embedded resources.json")
});

static DEFINITIONS: LazyLock<Definitions> = LazyLock::new(|| {
    serde_json::from_str(&unpacked(PACKED_DEFINITIONS)).expect("embedded definitions")
});

// Only the documents of OpenAPI need it.
static DESCRIPTIONS: LazyLock<Descriptions> = LazyLock::new(|| {
    serde_json::from_str(&unpacked(PACKED_DESCRIPTIONS)).expect("embedded descriptions")
});

static COLUMNS: LazyLock<Columns> = LazyLock::new(|| {
    let packed = include_bytes!("data/columns.json.gz");
    serde_json::from_str(&unpacked(packed)).expect("embedded columns")
});

fn read_roles() -> Roles {
    let packed = include_bytes!("data/roles.json.gz");
    serde_json::from_str(&unpacked(packed)).expect("embedded roles")
}

/// The roles and bindings that a new cluster has.
pub(crate) fn roles() -> Vec<Value> {
    read_roles().objects
}

const PACKED_DEFINITIONS: &[u8] = include_bytes!("data/definitions.json.gz");
const PACKED_DESCRIPTIONS: &[u8] = include_bytes!("data/descriptions.json.gz");

fn unpacked(packed: &[u8]) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_string(&mut text)
        .expect("embedded data in gzip");
    text
}

/// Changes with the embedded definitions and descriptions: the checksums at the end of their files.
pub(crate) fn checksum() -> String {
    let packed = [PACKED_DEFINITIONS, PACKED_DESCRIPTIONS].iter();
    let ends = packed.filter_map(|packed| packed.last_chunk::<8>());
    format!("{:?}", ends.collect::<Vec<_>>())
}

/// The module and version that the embedded data comes from: `k8s.io/kubernetes v1.37.2`.
pub(crate) fn source() -> &'static str {
    &RESOURCES.source
}

pub(crate) fn resources() -> &'static [Resource] {
    &RESOURCES.resources
}

/// The names of all definitions.
pub(crate) fn definition_names() -> impl Iterator<Item = &'static str> {
    DEFINITIONS.definitions.keys().map(String::as_str)
}

/// A definition by its full name. Its references are bare names of other definitions.
pub(crate) fn definition(name: &str) -> Option<Value> {
    let text = DEFINITIONS.definitions.get(name)?;
    serde_json::from_str(text.get()).ok()
}

/// Adds to the schema of a definition what Kubernetes says about it and about its fields: descriptions, and the values of fields that take only these.
pub(crate) fn describe(name: &str, schema: &mut Value) {
    for (field, values) in DESCRIPTIONS.enums.get(name).into_iter().flatten() {
        let (field, inner) = match (field.strip_suffix("[]"), field.strip_suffix("{}")) {
            (Some(field), _) => (field, "/items"),
            (_, Some(field)) => (field, "/additionalProperties"),
            (None, None) => (field.as_str(), ""),
        };
        let place = schema.pointer_mut(&format!("/properties/{field}{inner}"));
        if let Some(Value::Object(place)) = place {
            place.insert("enum".into(), values.clone().into());
        }
    }
    let Some(texts) = DESCRIPTIONS.definitions.get(name) else {
        return;
    };
    for (field, text) in texts {
        let described = match field.as_str() {
            "" => Some(&mut *schema),
            field => schema
                .get_mut("properties")
                .and_then(|properties| properties.get_mut(field)),
        };
        if let Some(Value::Object(described)) = described {
            described.insert("description".into(), text.as_str().into());
        }
    }
}

/// The description of a field of a definition; `""` for the definition itself.
pub(crate) fn description(name: &str, field: &str) -> Option<&'static str> {
    let text = DESCRIPTIONS.definitions.get(name)?.get(field)?;
    Some(text)
}

/// The description of a parameter in the query or path of a request.
pub(crate) fn parameter_description(method: &str, name: &str) -> Option<&'static str> {
    let all = &DESCRIPTIONS.parameters;
    let text = all
        .get(&format!("{method}/{name}"))
        .or_else(|| all.get(name))?;
    Some(text)
}

/// Returns the description of a column in the tables of a built-in kind, or an empty text. An empty kind means the kinds that
/// have only a name and an age.
pub(crate) fn column_description(group: &str, kind: &str, column: &str) -> &'static str {
    // The kinds of some groups are those of another group inside a real server, and so are their columns.
    let package = match (group, kind) {
        ("" | "events.k8s.io", kind) if !kind.is_empty() => "core",
        (group, _) => group.split('.').next().unwrap_or_default(),
    };
    let of = |kind: &str| COLUMNS.columns.get(kind)?.get(column);
    let own = of(&format!("{package}/{kind}"));
    own.or_else(|| of("")).map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_names_the_release_that_it_comes_from() {
        let version = source().strip_prefix("k8s.io/kubernetes v1.").unwrap();
        assert!(version.split('.').all(|part| part.parse::<u32>().is_ok()));
        assert_eq!(source(), DEFINITIONS.source);
        assert_eq!(source(), DESCRIPTIONS.source);
        assert_eq!(source(), COLUMNS.source);
        assert_eq!(source(), read_roles().source);
    }

    #[test]
    fn every_kind_and_every_reference_has_a_definition() {
        fn references(value: &Value, into: &mut Vec<String>) {
            match value {
                Value::Object(fields) => {
                    if let Some(Value::String(name)) = fields.get("$ref") {
                        into.push(name.clone());
                    }
                    fields.values().for_each(|value| references(value, into));
                }
                Value::Array(items) => items.iter().for_each(|value| references(value, into)),
                _ => {}
            }
        }
        let mut wanted: Vec<String> = resources().iter().map(|r| r.definition.clone()).collect();
        for name in definition_names() {
            references(&definition(name).unwrap(), &mut wanted);
        }
        for name in wanted {
            assert!(definition(&name).is_some(), "{name}");
        }
    }

    #[test]
    fn every_kind_has_a_description_and_so_have_its_fields() {
        for resource in resources() {
            let mut schema = definition(&resource.definition).unwrap();
            describe(&resource.definition, &mut schema);
            let mut fields = schema["properties"].as_object().unwrap().clone();
            // Kubernetes says nothing about it in a few kinds.
            fields.remove("metadata");
            fields.insert("".into(), schema);
            for (field, described) in fields {
                let text = described["description"].as_str().unwrap_or_default();
                assert!(text.len() > 10, "{} {field}", resource.definition);
            }
        }
    }

    #[test]
    fn the_types_contain_no_descriptions() {
        for name in definition_names() {
            let text = DEFINITIONS.definitions[name].get();
            assert!(!text.contains("\"description\":\""), "{name}");
        }
    }
}
