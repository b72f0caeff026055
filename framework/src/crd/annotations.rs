//! Columns and scale paths. The derive marks fields in the schema, so that names, nesting and
//! flattening are serde's; the marks are taken out again here and become JSON paths.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceColumnDefinition;
use serde_json::{Map, Value};

use super::structural::Problem;

const COLUMN: &str = "x-pilothouse-column";
const SCALE: &str = "x-pilothouse-scale";
const INDEX: &str = "x-pilothouse-index";

/// What the marks of a schema say.
pub(super) struct Annotations {
    /// In the order of the fields, `Age` last.
    pub(super) columns: Vec<CustomResourceColumnDefinition>,
    pub(super) scale: Scale,
}

/// JSON paths of the scale subresource.
#[derive(Default)]
pub(super) struct Scale {
    pub(super) spec: Option<String>,
    pub(super) status: Option<String>,
    pub(super) selector: Option<String>,
}

/// Takes the marks out of the schema of whole objects.
pub(super) fn take(schema: &mut Value) -> Result<Annotations, Problem> {
    let mut walk = Walk {
        columns: Vec::new(),
        scale: Scale::default(),
    };
    walk.visit(schema, &Place::default())?;
    walk.columns.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut columns: Vec<_> = walk.columns.into_iter().map(|(_, column)| column).collect();
    for (at, column) in columns.iter().enumerate() {
        if columns[..at].iter().any(|other| other.name == column.name) {
            return Err(Problem {
                path: column.json_path.trim_start_matches('.').to_owned(),
                text: format!("two columns are named `{}`: rename one", column.name),
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
    })
}

struct Walk {
    columns: Vec<(Vec<u64>, CustomResourceColumnDefinition)>,
    scale: Scale,
}

/// A place in the schema.
#[derive(Clone, Default)]
struct Place {
    /// As in errors: `spec.pages[].title`.
    path: String,
    /// As in JSON paths: `.spec.title`; `None` within lists and maps, where one path is many values.
    json_path: Option<String>,
    /// Positions of the fields on the way, for the order of columns.
    order: Vec<u64>,
}

impl Walk {
    fn visit(&mut self, schema: &mut Value, place: &Place) -> Result<(), Problem> {
        let Value::Object(map) = schema else {
            return Ok(());
        };
        let mut place = place.clone();
        if let Some(index) = map.remove(INDEX) {
            place.order.push(index.as_u64().unwrap_or_default());
        }
        if let Some(column) = map.remove(COLUMN) {
            let column = self::column(&column, map, &place)?;
            self.columns.push((place.order.clone(), column));
        }
        if let Some(part) = map.remove(SCALE) {
            self.scale(part.as_str().unwrap_or_default(), &place)?;
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

    fn scale(&mut self, part: &str, place: &Place) -> Result<(), Problem> {
        let slot = match part {
            "spec" => &mut self.scale.spec,
            "status" => &mut self.scale.status,
            _ => &mut self.scale.selector,
        };
        let path = place.one_value("the scale subresource reads")?;
        match slot.replace(path) {
            None => Ok(()),
            Some(other) => Err(Problem {
                path: place.path.clone(),
                text: format!("`scale = \"{part}\"` stands at `{other}` too: keep one"),
            }),
        }
    }
}

impl Place {
    fn property(&self, name: &str) -> Self {
        let plain = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let step = if plain {
            format!(".{name}")
        } else {
            // kubectl's JSON paths quote no other way.
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
            // Spec before status, whatever their fields' positions.
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

    fn one_value(&self, who: &str) -> Result<String, Problem> {
        self.json_path.clone().ok_or_else(|| Problem {
            path: self.path.clone(),
            text: format!(
                "{who} one value, and within a list or map there are many: set the attribute on a field outside"
            ),
        })
    }
}

fn column(
    mark: &Value,
    schema: &Map<String, Value>,
    place: &Place,
) -> Result<CustomResourceColumnDefinition, Problem> {
    let text = |key: &str| mark.get(key).and_then(Value::as_str).map(str::to_owned);
    let type_ = match text("type") {
        Some(type_) => type_,
        None => type_of(schema).map(str::to_owned).ok_or_else(|| Problem {
            path: place.path.clone(),
            text: "a column shows one value, and this field is none: add a field that sums it up, or name the column's `type`".to_owned(),
        })?,
    };
    Ok(CustomResourceColumnDefinition {
        name: text("name").unwrap_or_default(),
        format: text("format"),
        description: text("description"),
        priority: mark
            .get("priority")
            .and_then(Value::as_i64)
            .and_then(|priority| i32::try_from(priority).ok()),
        json_path: place.one_value("a column shows")?,
        type_,
    })
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
