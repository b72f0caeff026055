//! The types of a version.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::{
    definition::Version,
    schema::{
        flag, is_condition, is_label_selector, is_quantity, keeps_unknown, key, properties, text,
        texts,
    },
    words::{camel_case, distinct, field_name, singular},
};

/// A type deeper than this becomes any value. An API server refuses such a definition long before.
const DEEPEST: usize = 64;

/// The type of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    /// Any value; the text says why, if the schema does not ask for it.
    Any(Option<&'static str>),
    /// An object with any fields.
    AnyObject,
    Boolean,
    Int32,
    Int64,
    Number,
    Text,
    Time,
    IntOrString,
    /// A quantity: a number, or a text such as `500m`.
    Quantity,
    Condition,
    LabelSelector,
    /// The metadata of an embedded object.
    ObjectMeta,
    List(Box<Slot>),
    Map(Box<Slot>),
    /// One of [`Types::items`].
    Item(usize),
}

/// The type of the values in a list or in a map.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slot {
    pub(super) ty: Type,
    pub(super) nullable: bool,
}

/// A struct or an enum.
#[derive(Debug)]
pub(super) struct Item<'a> {
    /// The names of the fields that lead to it from the object, those of lists in the singular.
    pub(super) path: Vec<String>,
    pub(super) place: Place,
    pub(super) schema: &'a Value,
    pub(super) body: Body<'a>,
    /// How many fields have it as their type.
    pub(super) uses: usize,
    /// Whether it is the type of the items of a list or of the values of a map.
    pub(super) is_slot: bool,
}

/// Where a type stands in the object.
#[derive(Debug)]
pub(super) struct Place {
    /// The names of the fields that lead to it.
    pub(super) fields: Vec<String>,
    /// Whether several values may stand there: the items of a list, or the values of a map.
    pub(super) has_several: bool,
}

#[derive(Debug)]
pub(super) enum Body<'a> {
    Struct {
        fields: Vec<Field<'a>>,
        /// The name of the field with all fields that the schema does not name, if there may be some.
        others: Option<String>,
    },
    /// The values.
    Enum(Vec<&'a str>),
}

#[derive(Debug)]
pub(super) struct Field<'a> {
    /// The name in Rust.
    pub(super) ident: String,
    /// The name in JSON.
    pub(super) name: &'a str,
    pub(super) ty: Type,
    /// Whether each object has it.
    pub(super) required: bool,
    /// Whether null is different from a missing field.
    pub(super) nullable: bool,
    pub(super) schema: &'a Value,
}

/// All types of a version.
#[derive(Debug, Default)]
pub(super) struct Types<'a> {
    pub(super) items: Vec<Item<'a>>,
    /// `spec`, `status` and the other fields of the object.
    pub(super) root: Vec<Field<'a>>,
    known: HashMap<String, usize>,
    /// Whether the next type is the one of a list's items or of a map's values.
    in_slot: bool,
    /// The names of the fields that lead to the next type. The path has those of lists in the singular.
    fields: Vec<String>,
}

impl<'a> Types<'a> {
    pub(super) fn of(version: &'a Version) -> Self {
        let mut types = Self::default();
        let required = texts(&version.schema, "required");
        let fields = properties(&version.schema).into_iter().flatten();
        let fields: Vec<_> = fields
            .filter(|(name, _)| !["apiVersion", "kind", "metadata"].contains(&name.as_str()))
            .collect();
        let mut taken: BTreeSet<String> = ["metadata", "spec", "status"].map(str::to_owned).into();
        for (name, schema) in fields {
            let ident = match name.as_str() {
                "spec" | "status" => name.clone(),
                other => distinct(field_name(other), "_", |name| taken.contains(name)),
            };
            taken.insert(ident.clone());
            let mut path = vec![name.clone()];
            types.fields.clone_from(&path);
            let mut ty = types.of_schema(schema, &mut path);
            // The types of spec and status have names of their own.
            if let ("spec" | "status", Type::Item(item)) = (name.as_str(), &ty)
                && types.items[*item].path != path
            {
                ty = types.add(schema, &mut path);
            }
            types.root.push(Field {
                ident,
                name,
                ty,
                required: required.contains(&name.as_str()) && name != "status",
                nullable: false,
                schema,
            });
        }
        // A schema may leave out all fields, and keep them.
        for name in ["spec", "status"] {
            let is_known = types.root.iter().any(|field| field.name == name);
            if !is_known && keeps_unknown(&version.schema) {
                types.root.push(Field {
                    ident: name.into(),
                    name,
                    ty: Type::Any(None),
                    required: false,
                    nullable: false,
                    schema: &Value::Null,
                });
            }
        }
        types.make_status_optional();
        types
    }

    /// The item of a field of the object.
    pub(super) fn item_of(&self, name: &str) -> Option<usize> {
        let field = self.root.iter().find(|field| field.name == name)?;
        match field.ty {
            Type::Item(item) => Some(item),
            _ => None,
        }
    }

    /// A controller writes a status step by step.
    fn make_status_optional(&mut self) {
        let Some(status) = self.item_of("status") else {
            return;
        };
        if let Body::Struct { fields, .. } = &mut self.items[status].body {
            for field in fields {
                field.required = false;
            }
        }
    }

    fn of_schema(&mut self, schema: &'a Value, path: &mut Vec<String>) -> Type {
        if path.len() > DEEPEST {
            return Type::Any(Some("the schema has more than 64 levels"));
        }
        if !schema["$ref"].is_null() {
            return Type::Any(Some("the schema refers to another one"));
        }
        if flag(schema, "x-kubernetes-int-or-string") {
            return match is_quantity(schema) {
                true => Type::Quantity,
                false => Type::IntOrString,
            };
        }
        match &schema["type"] {
            Value::String(name) => self.of_type(name, schema, path),
            Value::Null if properties(schema).is_some() => self.of_type("object", schema, path),
            Value::Null if keeps_unknown(schema) => Type::Any(None),
            Value::Null => Type::Any(Some("the schema has no type")),
            _ => Type::Any(Some("the schema has several types")),
        }
    }

    fn of_type(&mut self, name: &str, schema: &'a Value, path: &mut Vec<String>) -> Type {
        match name {
            "boolean" => Type::Boolean,
            "integer" if text(schema, "format") == "int32" => Type::Int32,
            "integer" => Type::Int64,
            "number" => Type::Number,
            "string" if is_enum(schema) => self.shared(schema, path),
            "string" if text(schema, "format") == "date-time" => Type::Time,
            "string" => Type::Text,
            "array" if schema["items"].is_object() => {
                Type::List(Box::new(self.slot(&schema["items"], path)))
            }
            "array" => Type::List(Box::new(Slot {
                ty: Type::Any(Some("the schema does not describe the items")),
                nullable: true,
            })),
            "object" => self.of_object(schema, path),
            _ => Type::Any(Some("the schema has an unknown type")),
        }
    }

    fn of_object(&mut self, schema: &'a Value, path: &mut Vec<String>) -> Type {
        let more = &schema["additionalProperties"];
        let has_fields = properties(schema).is_some();
        if has_fields && more.is_object() {
            return Type::Any(Some("the schema has both fields and keys of any name"));
        }
        if is_condition(schema) {
            return Type::Condition;
        }
        if is_label_selector(schema) {
            return Type::LabelSelector;
        }
        match more {
            _ if has_fields => self.shared(schema, path),
            Value::Object(_) => Type::Map(Box::new(self.slot(more, path))),
            Value::Bool(true) => Type::AnyObject,
            _ if keeps_unknown(schema) || flag(schema, "x-kubernetes-embedded-resource") => {
                Type::AnyObject
            }
            _ => self.shared(schema, path),
        }
    }

    fn slot(&mut self, schema: &'a Value, path: &mut Vec<String>) -> Slot {
        let last = path.pop().unwrap_or_default();
        path.push(singular(&last));
        self.in_slot = true;
        let ty = self.of_schema(schema, path);
        self.in_slot = false;
        path.pop();
        path.push(last);
        Slot {
            nullable: is_nullable(schema),
            ty,
        }
    }

    /// The item of a schema that may occur several times.
    fn shared(&mut self, schema: &'a Value, path: &mut Vec<String>) -> Type {
        let key = key(schema);
        if let Some(known) = self.known.get(&key).copied() {
            let item = &mut self.items[known];
            item.uses += 1;
            // The shortest way gives the name.
            if path.len() < item.path.len() && path.len() > 1 {
                item.path.clone_from(path);
                item.place = Place {
                    fields: self.fields.clone(),
                    has_several: self.in_slot,
                };
            }
            return Type::Item(known);
        }
        let ty = self.add(schema, path);
        if let Type::Item(item) = ty
            && path.len() > 1
        {
            self.known.insert(key, item);
        }
        ty
    }

    fn add(&mut self, schema: &'a Value, path: &mut Vec<String>) -> Type {
        let at = self.items.len();
        let body = match schema["type"] == "string" {
            true => Body::Enum(enum_values(schema)),
            false => Body::Struct {
                fields: Vec::new(),
                others: None,
            },
        };
        self.items.push(Item {
            path: path.clone(),
            place: Place {
                fields: self.fields.clone(),
                has_several: self.in_slot,
            },
            schema,
            body,
            uses: 1,
            is_slot: std::mem::take(&mut self.in_slot),
        });
        if schema["type"] != "string" {
            let body = self.body(schema, path);
            self.items[at].body = body;
        }
        Type::Item(at)
    }

    fn body(&mut self, schema: &'a Value, path: &mut Vec<String>) -> Body<'a> {
        let required = texts(schema, "required");
        let is_embedded = flag(schema, "x-kubernetes-embedded-resource");
        let mut taken = BTreeSet::new();
        let mut fields = Vec::new();
        let all = properties(schema).into_iter().flatten();
        // A name that serde makes itself comes before one that differs from it.
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|(name, _)| camel_case(&field_name(name)) != **name);
        for (name, field) in all {
            let ident = distinct(field_name(name), "_", |one| taken.contains(one));
            taken.insert(ident.clone());
            path.push(name.clone());
            self.fields.push(name.clone());
            let ty = match is_embedded && name == "metadata" && properties(field).is_none() {
                true => Type::ObjectMeta,
                false => self.of_schema(field, path),
            };
            path.pop();
            self.fields.pop();
            fields.push(Field {
                ident,
                name,
                ty,
                required: required.contains(&name.as_str()),
                nullable: is_nullable(field),
                schema: field,
            });
        }
        let order: Vec<&String> = properties(schema)
            .into_iter()
            .flatten()
            .map(|(name, _)| name)
            .collect();
        fields.sort_by_key(|field| order.iter().position(|name| *name == field.name));
        let keeps = keeps_unknown(schema) || schema["additionalProperties"] == true;
        let others = keeps.then(|| distinct("others".into(), "_", |one| taken.contains(one)));
        Body::Struct { fields, others }
    }
}

/// Whether null may stand in the place of a value.
fn is_nullable(schema: &Value) -> bool {
    let values = schema["enum"].as_array();
    flag(schema, "nullable") || values.is_some_and(|values| values.contains(&Value::Null))
}

fn enum_values(schema: &Value) -> Vec<&str> {
    let mut values = texts(schema, "enum");
    let mut seen = BTreeSet::new();
    values.retain(|value| seen.insert(*value));
    values
}

/// Whether all values of the enum are texts. A null among them only says that the field may be null.
fn is_enum(schema: &Value) -> bool {
    let values = schema["enum"].as_array().map_or(&[][..], Vec::as_slice);
    let mut values = values.iter().filter(|value| !value.is_null()).peekable();
    values.peek().is_some() && values.all(Value::is_string)
}
