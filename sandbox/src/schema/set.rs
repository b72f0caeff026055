use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use super::node::{Node, Schema};
use super::parse;

/// Schemas that refer to one another by name, such as those of the built-in kinds.
///
/// Making a set only stores the JSON; a definition is read when it is first used. References are
/// `{"$ref": "…/name"}` (the part after the last `/` counts), alone, beside other keywords that then overrule the
/// definition's, or as the only entry of an `allOf`.
///
/// A definition without a type, and an `object` without fields, keeps everything: these are the places where the API
/// holds free JSON. Defaults are applied as they stand in the JSON, so a reduced form should hold only true ones.
///
/// Schemas taken from a set keep the whole set alive, as the set's own definitions do once they were used: make sets
/// that live as long as the process.
#[derive(Clone, Debug)]
pub struct SchemaSet {
    definitions: Arc<Definitions>,
}

/// A set of definitions cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaSetError {
    /// The table of definitions is not a JSON object.
    #[error("definitions must be an object from name to schema")]
    NotAnObject,
    /// A reference leads nowhere.
    #[error("definition {from:?} refers to {to:?}, which is not defined")]
    Dangling {
        /// The definition that holds the reference.
        from: String,
        /// The name that is missing.
        to: String,
    },
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
    /// Takes a table from name to schema. Every reference in it must lead to an entry.
    pub fn new(definitions: Map<String, Value>) -> Result<Self, SchemaSetError> {
        for (from, json) in &definitions {
            if let Some(to) = dangling(json, &definitions) {
                let from = from.clone();
                return Err(SchemaSetError::Dangling { from, to });
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

    /// Like [`SchemaSet::new`], from a JSON object.
    pub fn from_json(definitions: Value) -> Result<Self, SchemaSetError> {
        match definitions {
            Value::Object(map) => Self::new(map),
            _ => Err(SchemaSetError::NotAnObject),
        }
    }

    /// The schema of that name.
    pub fn get(&self, name: &str) -> Option<Schema> {
        self.definitions.table.contains_key(name).then(|| {
            Schema::named(Reference::new(
                name.into(),
                self.definitions.clone(),
                Map::new(),
            ))
        })
    }

    /// The JSON of the definition of that name.
    pub fn json(&self, name: &str) -> Option<&Value> {
        self.definitions.table.get(name).map(|d| &d.json)
    }

    /// The names of all definitions, in no order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.definitions.table.keys().map(|name| &**name)
    }
}

/// The name a `$ref` leads to.
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

/// A schema that stands elsewhere, with the keywords that stand beside the reference.
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
