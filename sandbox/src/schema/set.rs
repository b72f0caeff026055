use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use super::node::{Node, Schema};
use super::parse;

/// Schemas that refer to one another by name, such as those of the built-in kinds.
///
/// A new set only stores the JSON. A definition is read when it is first used. A reference is `{"$ref": "…/name"}` (the
/// part after the last `/` counts): alone, or beside other keywords, which then override the definition's, or as the
/// only entry of an `allOf`.
///
/// A definition without a type, and an `object` without fields, keeps everything: in these places the API has arbitrary
/// JSON. Defaults are applied as in the JSON, so a reduced form should contain only real ones.
///
/// A schema from a set keeps the whole set alive, and so do the set's own definitions after their first use. So sets
/// should live as long as the process.
#[derive(Clone, Debug)]
pub(crate) struct SchemaSet {
    definitions: Arc<Definitions>,
}

/// The definition `from` has a reference to `to`, which the set does not define.
#[derive(Debug, thiserror::Error)]
#[error("the definition {from:?} refers to {to:?}, which is not defined")]
pub(crate) struct DanglingReference {
    from: String,
    to: String,
}

#[derive(Debug)]
pub(super) struct Definitions {
    table: HashMap<Box<str>, Definition>,
}

#[derive(Debug)]
struct Definition {
    json: Value,
    node: OnceLock<Node>,
}

impl SchemaSet {
    /// A set from a table of names and schemas.
    ///
    /// # Errors
    /// [`DanglingReference`] if a reference leads to no entry.
    pub(crate) fn new(definitions: Map<String, Value>) -> Result<Self, DanglingReference> {
        for (from, json) in &definitions {
            if let Some(to) = dangling(json, &definitions) {
                let from = from.clone();
                return Err(DanglingReference { from, to });
            }
        }
        let table = definitions
            .into_iter()
            .map(|(name, json)| {
                let node = OnceLock::new();
                (name.into_boxed_str(), Definition { json, node })
            })
            .collect();
        Ok(Self {
            definitions: Arc::new(Definitions { table }),
        })
    }

    /// The schema of this name.
    pub(crate) fn get(&self, name: &str) -> Option<Schema> {
        self.definitions.table.contains_key(name).then(|| {
            Schema::named(Reference::new(
                name.into(),
                self.definitions.clone(),
                Map::new(),
            ))
        })
    }
}

/// The name that a `$ref` refers to.
pub(super) fn reference_name(json: &Map<String, Value>) -> Option<&str> {
    let target = match (json.get("$ref"), json.get("allOf")) {
        (Some(Value::String(target)), _) => target,
        (None, Some(Value::Array(all))) if all.len() == 1 && !json.contains_key("type") => {
            all.first()?.get("$ref")?.as_str()?
        }
        _ => return None,
    };
    target.rsplit('/').next()
}

fn dangling(json: &Value, definitions: &Map<String, Value>) -> Option<String> {
    match json {
        Value::Object(map) => match reference_name(map) {
            Some(name) if !definitions.contains_key(name) => Some(name.to_owned()),
            _ => map.values().find_map(|v| dangling(v, definitions)),
        },
        Value::Array(items) => items.iter().find_map(|v| dangling(v, definitions)),
        _ => None,
    }
}

/// A reference to a schema, with the keywords beside it.
pub(super) struct Reference {
    name: Box<str>,
    definitions: Arc<Definitions>,
    beside: Map<String, Value>,
    node: OnceLock<Node>,
}

impl Reference {
    pub(super) fn new(
        name: Box<str>,
        definitions: Arc<Definitions>,
        beside: Map<String, Value>,
    ) -> Self {
        Self {
            name,
            definitions,
            beside,
            node: OnceLock::new(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn to_json(&self) -> Value {
        let mut json = self.beside.clone();
        json.insert("$ref".into(), self.name.to_string().into());
        Value::Object(json)
    }

    pub(super) fn node(&self) -> &Node {
        if self.beside.is_empty() {
            return self.target();
        }
        self.node.get_or_init(|| {
            let mut node = self.target().clone();
            parse::overlay(&mut node, &self.beside, Some(&self.definitions));
            node
        })
    }

    fn target(&self) -> &Node {
        static NOTHING: OnceLock<Node> = OnceLock::new();
        match self.definitions.table.get(&*self.name) {
            Some(definition) => definition
                .node
                .get_or_init(|| parse::node(&definition.json, Some(&self.definitions))),
            // Unreachable: `SchemaSet::new` checked every reference.
            None => NOTHING.get_or_init(Node::default),
        }
    }
}
