//! Printer columns, scale paths, selectable fields and immutable fields.
//!
//! The derive marks fields in the schema, because only serde knows their names, nesting and flattening. This file removes
//! the marks and turns them into JSON paths.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, SelectableField,
};
use serde_json::{Map, Value, json};

use super::structural::{REWRITTEN, SchemaProblem};
use crate::resource::RulePlace;

const COLUMN: &str = "x-pilothouse-column";
const COLUMNS: &str = "x-pilothouse-columns";
const SCALE: &str = "x-pilothouse-scale";
const SELECTABLE: &str = "x-pilothouse-selectable";
const IMMUTABLE: &str = "x-pilothouse-immutable";
const INDEX: &str = "x-pilothouse-index";
const PLACE: &str = "x-pilothouse-place";
const RULES: &str = "x-kubernetes-validations";
/// The most selectable fields of a version (k8s.io/apiextensions-apiserver, `MaxSelectableFields`).
const MOST_SELECTABLE: usize = 8;

/// The content of a schema's marks.
pub(super) struct Annotations {
    /// The columns in the order of the fields, then those of the kind, `Age` last.
    pub(super) columns: Vec<CustomResourceColumnDefinition>,
    pub(super) scale: Scale,
    pub(super) selectable: Vec<SelectableField>,
    /// Where the rules stand in the source.
    pub(super) places: Vec<RulePlace>,
}

/// JSON paths of the scale subresource.
#[derive(Default)]
pub(super) struct Scale {
    pub(super) spec: Option<String>,
    pub(super) status: Option<String>,
    pub(super) selector: Option<String>,
}

/// Removes the marks from the schema of a whole object, and returns their content.
///
/// # Errors
///
/// Returns a [`SchemaProblem`] if a column, scale path or selectable field has no single value, if two columns have the same
/// name, if two fields are the same part of the scale subresource, if more fields are selectable than an API server allows,
/// or if the server cannot compare an immutable field with its old value.
pub(super) fn extract(schema: &mut Value) -> Result<Annotations, SchemaProblem> {
    let mut walk = Walk {
        columns: Vec::new(),
        scale: Scale::default(),
        selectable: Vec::new(),
        places: Vec::new(),
    };
    let of_kind = schema.as_object_mut().and_then(|root| root.remove(COLUMNS));
    walk.visit(schema, &SchemaPath::default())?;
    let of_kind = of_kind.as_ref().and_then(Value::as_array);
    walk.columns
        .extend(of_kind.into_iter().flatten().map(|mark| {
            let type_ = text(mark, "type").unwrap_or_else(|| "string".to_owned());
            let json_path = text(mark, "jsonPath").unwrap_or_default();
            let place = order(mark, vec![OF_KIND]);
            (place, column(mark, type_, json_path))
        }));
    walk.columns.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut columns: Vec<_> = walk.columns.into_iter().map(|(_, column)| column).collect();
    for (at, column) in columns.iter().enumerate() {
        if columns[..at].iter().any(|other| other.name == column.name) {
            return Err(SchemaProblem {
                path: column.json_path.trim_start_matches('.').to_owned(),
                text: format!("two columns have the name `{}`: rename one", column.name),
            });
        }
    }
    columns.push(CustomResourceColumnDefinition {
        name: "Age".to_owned(),
        type_: "date".to_owned(),
        json_path: ".metadata.creationTimestamp".to_owned(),
        ..CustomResourceColumnDefinition::default()
    });
    if let Some(field) = walk.selectable.get(MOST_SELECTABLE) {
        return Err(SchemaProblem {
            path: field.json_path.trim_start_matches('.').to_owned(),
            text: format!(
                "an API server allows at most {MOST_SELECTABLE} selectable fields: remove `selectable` from the others"
            ),
        });
    }
    Ok(Annotations {
        columns,
        scale: walk.scale,
        selectable: walk.selectable,
        places: walk.places,
    })
}

/// The place of a column among all: first what its attribute says, then the positions of the fields on the way to it.
type Order = (i64, Vec<u64>);

/// Columns of a kind stand after those of its fields.
const OF_KIND: u64 = 2;

fn order(mark: &Value, fields: Vec<u64>) -> Order {
    let order = mark.get("order").and_then(Value::as_i64);
    (order.unwrap_or_default(), fields)
}

struct Walk {
    columns: Vec<(Order, CustomResourceColumnDefinition)>,
    scale: Scale,
    selectable: Vec<SelectableField>,
    places: Vec<RulePlace>,
}

/// The way to a place in the schema.
#[derive(Clone, Default)]
struct SchemaPath {
    /// The path for errors: `spec.pages[].title`.
    path: String,
    /// The JSON path: `.spec.title`. It is `None` in lists and maps, where one path has many values.
    json_path: Option<String>,
    /// Positions of the fields on the path, for the order of columns.
    order: Vec<u64>,
    /// Whether the place is in a list whose items the server does not compare with old ones.
    is_uncorrelated: bool,
}

impl Walk {
    fn visit(&mut self, schema: &mut Value, place: &SchemaPath) -> Result<(), SchemaProblem> {
        let Value::Object(map) = schema else {
            return Ok(());
        };
        map.remove(REWRITTEN);
        let mut place = place.clone();
        if let Some(index) = map.remove(INDEX) {
            place.order.push(index.as_u64().unwrap_or_default());
        }
        if let Some(column) = map.remove(COLUMN) {
            let type_ = column_type(&column, map, &place)?;
            let json_path = place.one_value("a column shows")?;
            let order = order(&column, place.order.clone());
            self.columns
                .push((order, self::column(&column, type_, json_path)));
        }
        if map.remove(SELECTABLE).is_some() {
            self.selectable.push(place.selectable(map)?);
        }
        immutable_fields(map, &place)?;
        if let Some(part) = map.remove(SCALE) {
            self.scale(part.as_str().unwrap_or_default(), &place)?;
        }
        if map.get(RULES) == Some(&Value::Array(Vec::new())) {
            map.remove(RULES);
        }
        if let Some(Value::Array(rules)) = map.get_mut(RULES) {
            for (rule, content) in rules.iter_mut().enumerate() {
                let content = content.as_object_mut();
                if let Some(Value::String(source)) = content.and_then(|rule| rule.remove(PLACE)) {
                    let path = place.path.clone();
                    self.places.push(RulePlace { path, rule, source });
                }
            }
        }
        if let Some(Value::Object(properties)) = map.get_mut("properties") {
            for (name, property) in properties {
                self.visit(property, &place.property(name))?;
            }
        }
        // The server finds the old value of an item only by the keys of a list of type map.
        let has_keys = map.get("x-kubernetes-list-type").and_then(Value::as_str) == Some("map");
        for (key, suffix, has_old_value) in [
            ("items", "[]", has_keys),
            ("additionalProperties", "{}", true),
        ] {
            if let Some(inner) = map.get_mut(key) {
                self.visit(inner, &place.many(suffix, has_old_value))?;
            }
        }
        Ok(())
    }

    fn scale(&mut self, part: &str, place: &SchemaPath) -> Result<(), SchemaProblem> {
        let slot = match part {
            "spec" => &mut self.scale.spec,
            "status" => &mut self.scale.status,
            _ => &mut self.scale.selector,
        };
        let path = place.one_value("the scale subresource reads")?;
        match slot.replace(path) {
            None => Ok(()),
            Some(other) => Err(SchemaProblem {
                path: place.path.clone(),
                text: format!("`scale = \"{part}\"` is on `{other}` too: remove one"),
            }),
        }
    }
}

impl SchemaPath {
    fn property(&self, name: &str) -> Self {
        let plain = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let step = if plain {
            format!(".{name}")
        } else {
            // kubectl's JSON paths have no other form of quotes.
            format!("['{}']", name.replace('.', "\\."))
        };
        let dot = if self.path.is_empty() { "" } else { "." };
        Self {
            path: format!("{}{dot}{name}", self.path),
            json_path: if self.path.is_empty() {
                Some(step)
            } else {
                self.json_path.as_ref().map(|path| format!("{path}{step}"))
            },
            // Columns of the spec come before those of the status.
            is_uncorrelated: self.is_uncorrelated,
            order: if self.path.is_empty() {
                vec![u64::from(name == "status")]
            } else {
                self.order.clone()
            },
        }
    }

    fn many(&self, suffix: &str, has_old_value: bool) -> Self {
        Self {
            is_uncorrelated: self.is_uncorrelated || !has_old_value,
            path: format!("{}{suffix}", self.path),
            json_path: None,
            order: self.order.clone(),
        }
    }

    /// The field as one by which lists can be selected.
    fn selectable(&self, schema: &Map<String, Value>) -> Result<SelectableField, SchemaProblem> {
        let json_path = self.one_value("a field selector compares")?;
        let problem = |text: &str| SchemaProblem {
            path: self.path.clone(),
            text: text.to_owned(),
        };
        let type_ = schema.get("type").and_then(Value::as_str);
        if !matches!(type_, Some("string" | "integer" | "boolean")) {
            return Err(problem(
                "a field selector compares a text, an integer or a boolean: set `selectable` on a field of such a type",
            ));
        }
        if json_path.contains('[') {
            return Err(problem(
                "a field selector cannot name this field: use letters, digits and `_` in its name",
            ));
        }
        Ok(SelectableField { json_path })
    }

    fn one_value(&self, reader: &str) -> Result<String, SchemaProblem> {
        self.json_path.clone().ok_or_else(|| SchemaProblem {
            path: self.path.clone(),
            text: format!(
                "{reader} one value, and a list or map has many: set the attribute on a field outside of it"
            ),
        })
    }
}

/// Adds the rules for the immutable fields of an object. The rule on a field compares it with its old value, if there is one.
/// The rule on the object refuses that an optional field is removed, because it could come back with another value.
fn immutable_fields(map: &mut Map<String, Value>, place: &SchemaPath) -> Result<(), SchemaProblem> {
    let required: Vec<String> = match map.get("required") {
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    };
    let mut removals = Vec::new();
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        for (name, property) in properties {
            let Value::Object(property) = property else {
                continue;
            };
            if property.remove(IMMUTABLE).is_none() {
                continue;
            }
            if place.is_uncorrelated {
                return Err(SchemaProblem {
                    path: place.property(name).path,
                    text: "the API server does not know the old value of an item of this list: add `list_type = \"map\"` with the keys of its items to the list, or remove `immutable`".to_owned(),
                });
            }
            let rule = json!({"rule": "self == oldSelf", "message": "the value cannot be changed"});
            add_rule(property, rule);
            if !required.contains(name) && !property.contains_key("default") {
                let field = cel_name(name);
                removals.push(json!({
                    "rule": format!("!has(oldSelf.{field}) || has(self.{field})"),
                    "message": format!("{name} cannot be removed"),
                    "reason": "FieldValueRequired",
                }));
            }
        }
    }
    for rule in removals {
        add_rule(map, rule);
    }
    Ok(())
}

fn add_rule(schema: &mut Map<String, Value>, rule: Value) {
    let rules = schema.entry(RULES).or_insert_with(|| json!([]));
    // The list has the key `rule`: server-side apply refuses one that occurs twice.
    if let Value::Array(rules) = rules
        && !rules.iter().any(|known| known["rule"] == rule["rule"])
    {
        rules.push(rule);
    }
}

/// The name of a property in CEL (Kubernetes documentation, "Validation rules": escaping).
fn cel_name(name: &str) -> String {
    const RESERVED: [&str; 21] = [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ];
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}

/// The type of a field's column: as the attribute says, or else that of the field.
fn column_type(
    mark: &Value,
    schema: &Map<String, Value>,
    place: &SchemaPath,
) -> Result<String, SchemaProblem> {
    let known = text(mark, "type").or_else(|| type_of(schema).map(str::to_owned));
    known.ok_or_else(|| SchemaProblem {
        path: place.path.clone(),
        text: "a column shows one value, and this field is an object or a list: add a field that sums it up, or set the column's `type`".to_owned(),
    })
}

fn column(mark: &Value, type_: String, json_path: String) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition {
        name: text(mark, "name").unwrap_or_default(),
        format: text(mark, "format"),
        description: text(mark, "description"),
        priority: mark
            .get("priority")
            .and_then(Value::as_i64)
            .and_then(|priority| i32::try_from(priority).ok()),
        json_path,
        type_,
    }
}

fn text(mark: &Value, key: &str) -> Option<String> {
    mark.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn type_of(schema: &Map<String, Value>) -> Option<&'static str> {
    if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        return Some("string");
    }
    let is_time = schema.get("format").and_then(Value::as_str) == Some("date-time");
    match schema.get("type")?.as_str()? {
        "integer" => Some("integer"),
        "number" => Some("number"),
        "boolean" => Some("boolean"),
        "string" if is_time => Some("date"),
        "string" => Some("string"),
        _ => None,
    }
}
