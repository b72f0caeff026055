//! Printer columns and scale paths.
//!
//! The derive marks fields in the schema, because only serde knows their names, nesting and flattening. This file removes
//! the marks and turns them into JSON paths.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceColumnDefinition;
use serde_json::{Map, Value};

use super::structural::SchemaProblem;
use crate::resource::RulePlace;

const COLUMN: &str = "x-pilothouse-column";
const COLUMNS: &str = "x-pilothouse-columns";
const SCALE: &str = "x-pilothouse-scale";
const INDEX: &str = "x-pilothouse-index";
const PLACE: &str = "x-pilothouse-place";
const RULES: &str = "x-kubernetes-validations";

/// The content of a schema's marks.
pub(super) struct Annotations {
    /// The columns in the order of the fields, then those of the kind, `Age` last.
    pub(super) columns: Vec<CustomResourceColumnDefinition>,
    pub(super) scale: Scale,
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
/// Returns a [`SchemaProblem`] if a column or scale path has no single value, if two columns have the same name, or if two
/// fields are the same part of the scale subresource.
pub(super) fn extract(schema: &mut Value) -> Result<Annotations, SchemaProblem> {
    let mut walk = Walk {
        columns: Vec::new(),
        scale: Scale::default(),
        places: Vec::new(),
    };
    let of_kind = schema.as_object_mut().and_then(|root| root.remove(COLUMNS));
    walk.visit(schema, &SchemaPath::default())?;
    walk.columns.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut columns: Vec<_> = walk.columns.into_iter().map(|(_, column)| column).collect();
    let of_kind = of_kind.as_ref().and_then(Value::as_array);
    columns.extend(of_kind.into_iter().flatten().map(|mark| {
        let type_ = text(mark, "type").unwrap_or_else(|| "string".to_owned());
        let json_path = text(mark, "jsonPath").unwrap_or_default();
        column(mark, type_, json_path)
    }));
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
    Ok(Annotations {
        columns,
        scale: walk.scale,
        places: walk.places,
    })
}

struct Walk {
    columns: Vec<(Vec<u64>, CustomResourceColumnDefinition)>,
    scale: Scale,
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
}

impl Walk {
    fn visit(&mut self, schema: &mut Value, place: &SchemaPath) -> Result<(), SchemaProblem> {
        let Value::Object(map) = schema else {
            return Ok(());
        };
        let mut place = place.clone();
        if let Some(index) = map.remove(INDEX) {
            place.order.push(index.as_u64().unwrap_or_default());
        }
        if let Some(column) = map.remove(COLUMN) {
            let type_ = column_type(&column, map, &place)?;
            let json_path = place.one_value("a column shows")?;
            let column = self::column(&column, type_, json_path);
            self.columns.push((place.order.clone(), column));
        }
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
        for (key, suffix) in [("items", "[]"), ("additionalProperties", "{}")] {
            if let Some(inner) = map.get_mut(key) {
                self.visit(inner, &place.many(suffix))?;
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
            order: if self.path.is_empty() {
                vec![u64::from(name == "status")]
            } else {
                self.order.clone()
            },
        }
    }

    fn many(&self, suffix: &str) -> Self {
        Self {
            path: format!("{}{suffix}", self.path),
            json_path: None,
            order: self.order.clone(),
        }
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
