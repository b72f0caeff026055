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

// The embedded files are constants of the build, and the tests below check them: reading them cannot fail at run time.
static RESOURCES: LazyLock<Resources> = LazyLock::new(|| {
    serde_json::from_str(include_str!("data/resources.json")).expect("embedded resources.json")
});

static DEFINITIONS: LazyLock<Definitions> = LazyLock::new(|| {
    let packed: &[u8] = include_bytes!("data/definitions.json.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_string(&mut text)
        .expect("embedded definitions.json.gz");
    serde_json::from_str(&text).expect("embedded definitions")
});

/// The module and version that the embedded data comes from: `k8s.io/kubernetes v1.36.3`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_names_the_release_that_it_comes_from() {
        let version = source().strip_prefix("k8s.io/kubernetes v1.").unwrap();
        assert!(version.split('.').all(|part| part.parse::<u32>().is_ok()));
        assert_eq!(source(), DEFINITIONS.source);
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
    fn the_data_contains_no_descriptions() {
        for name in definition_names() {
            let text = DEFINITIONS.definitions[name].get();
            assert!(!text.contains("\"description\":\""), "{name}");
        }
    }
}
