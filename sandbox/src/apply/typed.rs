use serde_json::Value;

use super::path_element::PathElement;
use crate::go;
use crate::schema::{ListType, MapType, Node, Schema, SchemaType, object_meta};

/// The schema of one place in an object; `None` where there is no schema.
#[derive(Clone, Copy)]
pub(super) struct Typed<'a> {
    node: Option<&'a Node>,
    is_resource: bool,
}

/// How a value is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Atom {
    Scalar,
    List,
    Map,
}

impl<'a> Typed<'a> {
    /// The place of a whole object.
    pub(super) fn root(schema: &'a Schema) -> Self {
        Self {
            node: Some(schema.node()),
            is_resource: true,
        }
    }

    const UNTYPED: Self = Self {
        node: None,
        is_resource: false,
    };

    fn of(schema: &'a Schema) -> Self {
        Self {
            node: Some(schema.node()),
            is_resource: false,
        }
    }

    /// The declared type, if there is one.
    fn declared(self) -> Option<Atom> {
        let node = self.node?;
        if node.int_or_string {
            return Some(Atom::Scalar);
        }
        Some(match node.kind? {
            SchemaType::Object => Atom::Map,
            SchemaType::Array => Atom::List,
            _ => Atom::Scalar,
        })
    }

    /// How to walk this value here. If the schema allows any type, the value's own type decides.
    pub(super) fn atom(self, value: Option<&Value>) -> Atom {
        self.declared().unwrap_or(match value {
            None | Some(Value::Null | Value::Object(_)) => Atom::Map,
            Some(Value::Array(_)) => Atom::List,
            Some(_) => Atom::Scalar,
        })
    }

    /// How this value contradicts the declared type. Returns `None` if it fits.
    pub(super) fn mismatch(self, value: &Value) -> Option<String> {
        let declared = self.declared()?;
        let kind = self.node.and_then(|n| n.kind);
        let fits = match (declared, value) {
            (_, Value::Null) => true,
            (Atom::Map, Value::Object(_)) | (Atom::List, Value::Array(_)) => true,
            (Atom::Scalar, Value::Object(_) | Value::Array(_)) => false,
            (Atom::Scalar, value) => match kind {
                Some(SchemaType::String) => value.is_string(),
                Some(SchemaType::Boolean) => value.is_boolean(),
                Some(SchemaType::Integer | SchemaType::Number) => value.is_number(),
                _ => true,
            },
            _ => false,
        };
        if fits {
            return None;
        }
        let wanted = match (declared, kind) {
            (Atom::Map, _) => "map",
            (Atom::List, _) => "list",
            (Atom::Scalar, Some(SchemaType::String)) => "string",
            (Atom::Scalar, Some(SchemaType::Boolean)) => "boolean",
            (Atom::Scalar, Some(SchemaType::Integer | SchemaType::Number)) => {
                "numeric (int or float)"
            }
            _ => "any scalar",
        };
        let plain = go::Printed(value);
        let found = match wanted {
            "numeric (int or float)" => go::dynamic_type(value).into(),
            "string" => format!("&value.valueUnstructured{{Value:{}}}", go::Source(value)),
            _ => format!("&{{{plain}}}"),
        };
        Some(format!("expected {wanted}, got {found}"))
    }

    /// Whether the schema says nothing about the content of the map.
    pub(super) fn is_open(self) -> bool {
        self.node
            .is_none_or(|n| n.properties.is_empty() && n.entries().is_none() && n.items.is_none())
    }

    pub(super) fn is_atomic_map(self) -> bool {
        self.node
            .is_some_and(|n| n.map_type == Some(MapType::Atomic))
    }

    pub(super) fn is_atomic_list(self) -> bool {
        self.list_type() == ListType::Atomic
    }

    fn list_type(self) -> ListType {
        let given = self.node.and_then(|n| n.list_type);
        given.unwrap_or(ListType::Atomic)
    }

    /// Whether the schema names this field. A field that `additionalProperties` allows is not named.
    pub(super) fn is_named(self, name: &str) -> bool {
        self.is_meta(name) || self.node.is_some_and(|n| n.properties.contains_key(name))
    }

    fn is_meta(self, name: &str) -> bool {
        let is_resource = self.is_resource || self.node.is_some_and(|n| n.embedded_resource);
        is_resource && matches!(name, "apiVersion" | "kind" | "metadata")
    }

    /// Whether this field is allowed here at all.
    pub(super) fn allows(self, name: &str) -> bool {
        self.is_named(name)
            || self
                .node
                .is_none_or(|n| n.kind.is_none() || n.preserve_unknown || n.additional.is_some())
    }

    pub(super) fn field(self, name: &str) -> Self {
        if self.is_meta(name) {
            return match name {
                "metadata" => Self::of(object_meta()),
                _ => Self::UNTYPED,
            };
        }
        match self.node.and_then(|n| n.field(name)) {
            Some(schema) => Self::of(schema),
            None => Self::UNTYPED,
        }
    }

    pub(super) fn item(self) -> Self {
        match self.node.and_then(|n| n.items.as_ref()) {
            Some(schema) => Self::of(schema),
            None => Self::UNTYPED,
        }
    }

    /// The path element that identifies this item of a set or map.
    ///
    /// # Errors
    /// The text of kube-apiserver if the item lacks a key or has a wrong type.
    pub(super) fn identify(self, item: &Value) -> Result<PathElement, String> {
        let keys = match self.node {
            Some(node) if node.list_type == Some(ListType::Map) => &node.list_map_keys,
            Some(node) if node.list_type == Some(ListType::Set) => {
                return match item {
                    Value::Object(_) => {
                        Err("associative list without keys has an element that's a map type".into())
                    }
                    Value::Array(_) => {
                        Err("not supported: associative list with lists as elements".into())
                    }
                    Value::Null => Err(
                        "associative list without keys has an element that's an explicit null"
                            .into(),
                    ),
                    value => Ok(PathElement::Value(value.clone())),
                };
            }
            _ => return Err("invalid indexing of non-associative list".into()),
        };
        let map = match item {
            Value::Object(map) => map,
            Value::Null => {
                return Err("associative list with keys may not have a null element".into());
            }
            _ => return Err("associative list with keys may not have non-map elements".into()),
        };
        let found: Vec<(String, Value)> = keys
            .iter()
            .filter_map(|key| {
                let given = map.get(&**key).cloned();
                let value = given.or_else(|| self.item().field(key).node?.default.clone())?;
                Some((key.to_string(), value))
            })
            .collect();
        if found.is_empty() {
            let names: Vec<String> = keys.iter().map(|k| format!("{k:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                names.join(" ")
            ));
        }
        Ok(PathElement::key(found))
    }

    /// The place one step below.
    pub(super) fn step(self, element: &PathElement) -> Self {
        match element {
            PathElement::Field(name) => self.field(name),
            _ => self.item(),
        }
    }
}
