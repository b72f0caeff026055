use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use regex::Regex;
use serde_json::{Number, Value};

use super::rule::Rule;
use super::set::Reference;

/// The schema of a kind, or of one part of its objects.
///
/// Cloning is cheap: all clones share one tree. There is no equality; compare [`Schema::to_json`].
#[derive(Clone)]
pub struct Schema {
    target: Target,
    source: Option<Arc<Value>>,
}

#[derive(Clone)]
enum Target {
    Here(Arc<Node>),
    Named(Arc<Reference>),
}

impl Schema {
    /// A schema without any knowledge, which keeps everything: the schema of an object without one.
    pub fn anything() -> Self {
        Self::here(Node {
            preserve_unknown: true,
            ..Node::default()
        })
    }

    /// The JSON that this schema was read from.
    ///
    /// A part of a schema returns `{}`, and a schema from a [`SchemaSet`](super::SchemaSet) returns its reference.
    pub fn to_json(&self) -> Value {
        match (&self.source, &self.target) {
            (Some(source), _) => Value::clone(source),
            (None, Target::Named(reference)) => reference.to_json(),
            (None, Target::Here(_)) => Value::Object(Default::default()),
        }
    }

    pub(super) fn here(node: Node) -> Self {
        Self {
            target: Target::Here(Arc::new(node)),
            source: None,
        }
    }

    pub(super) fn named(reference: Reference) -> Self {
        Self {
            target: Target::Named(Arc::new(reference)),
            source: None,
        }
    }

    pub(super) fn with_source(mut self, source: Arc<Value>) -> Self {
        self.source = Some(source);
        self
    }

    pub(crate) fn node(&self) -> &Node {
        match &self.target {
            Target::Here(node) => node,
            Target::Named(reference) => reference.node(),
        }
    }

    /// Whether there are CEL rules anywhere in it. A named schema has none.
    pub(super) fn has_rules(&self) -> bool {
        let Target::Here(node) = &self.target else {
            return false;
        };
        !node.rules.is_empty()
            || node.items.as_ref().is_some_and(Schema::has_rules)
            || node.entries().is_some_and(Schema::has_rules)
            || node.properties.iter().any(|(_, schema)| schema.has_rules())
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            // A named schema may contain itself.
            Target::Named(reference) => write!(f, "Schema({})", reference.name()),
            Target::Here(node) => f.debug_tuple("Schema").field(node).finish(),
        }
    }
}

/// The JSON type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemaType {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl SchemaType {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }
}

/// How a list is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListType {
    Atomic,
    Set,
    Map,
}

/// How a map is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapType {
    Atomic,
    Granular,
}

/// How strategic merge patch treats a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PatchStrategy {
    pub(crate) merge: bool,
    pub(crate) replace: bool,
    pub(crate) retain_keys: bool,
}

/// `additionalProperties`.
#[derive(Clone, Debug)]
pub(crate) enum Additional {
    /// `true`: anything.
    Any,
    /// `false`: nothing.
    None,
    /// Values of one schema.
    Of(Schema),
}

/// One node of a schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) kind: Option<SchemaType>,
    pub(crate) properties: BTreeMap<Box<str>, Schema>,
    pub(crate) additional: Option<Additional>,
    pub(crate) items: Option<Schema>,
    pub(crate) nullable: bool,
    pub(crate) default: Option<Value>,
    pub(crate) preserve_unknown: bool,
    pub(crate) int_or_string: bool,
    pub(crate) embedded_resource: bool,
    pub(crate) list_type: Option<ListType>,
    pub(crate) list_map_keys: Vec<Box<str>>,
    pub(crate) map_type: Option<MapType>,
    pub(crate) merge_key: Option<Box<str>>,
    pub(crate) strategy: PatchStrategy,
    pub(crate) checks: Option<Box<Checks>>,
    pub(crate) rules: Vec<Rule>,
}

impl Node {
    /// The schema of a field: of the named property, or of all additional properties.
    pub(crate) fn field(&self, name: &str) -> Option<&Schema> {
        match (self.properties.get(name), &self.additional) {
            (Some(schema), _) => Some(schema),
            (None, Some(Additional::Of(schema))) => Some(schema),
            _ => None,
        }
    }

    /// The schema of the entries of a map.
    pub(crate) fn entries(&self) -> Option<&Schema> {
        match &self.additional {
            Some(Additional::Of(schema)) => Some(schema),
            _ => None,
        }
    }
}

/// The value validations of one node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    pub(crate) required: Vec<Box<str>>,
    pub(crate) allowed: Vec<Value>,
    pub(crate) format: Option<Box<str>>,
    pub(crate) maximum: Option<Number>,
    pub(crate) exclusive_maximum: bool,
    pub(crate) minimum: Option<Number>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) multiple_of: Option<Number>,
    pub(crate) max_length: Option<u64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) pattern: Option<(Box<str>, Regex)>,
    pub(crate) max_items: Option<u64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) unique_items: bool,
    pub(crate) max_properties: Option<u64>,
    pub(crate) min_properties: Option<u64>,
    pub(crate) all_of: Vec<Schema>,
    pub(crate) any_of: Vec<Schema>,
    pub(crate) one_of: Vec<Schema>,
    pub(crate) not: Option<Schema>,
}
