use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::FieldError;
use super::check::Checks;
use super::path::FieldPath;
use super::rules::Rule;
use super::set::Reference;

/// The schema of a kind, or of one part of its objects.
///
/// Cloning is cheap: all clones share one tree. Equality is not offered; compare [`Schema::to_json`].
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
    /// Reads the `openAPIV3Schema` of a CRD.
    ///
    /// Errors are those the API server gives when such a CRD is created: a schema that is not structural, defaults that
    /// do not validate, CEL rules that do not compile. Field names are relative to the schema (`properties[spec].type`);
    /// [`Schema::from_json_at`] puts a path before them.
    pub fn from_json(json: &Value) -> Result<Self, Vec<FieldError>> {
        Self::from_json_at(json, "")
    }

    /// Like [`Schema::from_json`], with the path under which the schema stands, as in
    /// `spec.versions[0].schema.openAPIV3Schema`.
    pub fn from_json_at(json: &Value, path: &str) -> Result<Self, Vec<FieldError>> {
        super::structural::read(json, &FieldPath::Base(path))
    }

    /// Reads the schema of a built-in kind, which is known to be right: nothing is checked, and `metadata` may be spelled
    /// out.
    pub fn trusted(json: &Value) -> Self {
        Self::here(super::parse::node(json, None)).with_source(Arc::new(json.clone()))
    }

    /// A schema that knows nothing and keeps everything: what an object without a schema has.
    pub fn anything() -> Self {
        Self::here(Node {
            preserve_unknown: true,
            ..Node::default()
        })
    }

    /// The JSON this schema was read from.
    ///
    /// A part of a schema, and a schema out of a [`SchemaSet`](super::SchemaSet), answers `{}` or its reference.
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

    /// Drops every field the schema does not know, and says which (`spec.foo`, `spec.items[0].bar`), sorted.
    ///
    /// The value is taken for a whole object: `apiVersion`, `kind` and `metadata` are always known, and `metadata` is
    /// pruned as an ObjectMeta.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        super::prune::prune(self, object)
    }

    /// Whether [`apply_defaults`](Self::apply_defaults) has nothing to fill in.
    pub fn has_all_defaults(&self, object: &Value) -> bool {
        super::defaults::is_filled(self.node(), object)
    }

    /// Fills in defaults, and drops nulls where null is not allowed, as the API server does after pruning.
    pub fn apply_defaults(&self, object: &mut Value) {
        super::defaults::apply(self, object);
    }

    /// Checks an object; `old` is the object it replaces, for transition rules.
    ///
    /// Values are checked first. CEL rules are evaluated if the values are such that rules can rely on them; if not, an
    /// error says that there are rules which were not checked.
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        self.validate_with(object, old, Vec::new(), false)
    }

    /// Like [`validate`](Self::validate), with what is wrong with the values in other ways; `hindered` tells that more is wrong,
    /// which rules cannot rely on.
    pub(crate) fn validate_with(
        &self,
        object: &Value,
        old: Option<&Value>,
        others: Vec<FieldError>,
        hindered: bool,
    ) -> Vec<FieldError> {
        let mut errors = Vec::new();
        super::validate::validate(self, object, &FieldPath::Root, &mut errors);
        errors.extend(others);
        super::embedded::validate(self, object, &FieldPath::Root, &mut errors);
        super::list_type::validate(self, object, &FieldPath::Root, &mut errors);
        let hindered = hindered || errors.iter().any(|error| error.kind.hinders_rules());
        if !hindered {
            super::cel::validate(self, object, old, &mut errors);
        } else if self.has_rules() {
            let detail = "some validation rules were not checked because the object was invalid; \
                          correct the existing errors to complete validation";
            errors.push(FieldError::invalid("<nil>", Value::Null, detail));
        }
        errors
    }

    /// What keeps an object in the object from being decoded, as a `metadata` with a number for a name.
    pub(crate) fn undecodable(&self, object: &Value) -> Option<FieldError> {
        super::embedded::undecodable(self, object, &FieldPath::Root)
    }

    /// Whether there are CEL rules anywhere in it. A named schema has none.
    fn has_rules(&self) -> bool {
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
    /// The schema of a field, whether it is named or any.
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
