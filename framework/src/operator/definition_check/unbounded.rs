use serde_json::Value;

use super::place::{Place, Step};

/// The most fields that are named.
const MOST_NAMED: usize = 5;

/// What to add so that a rule at this place costs less: the attributes that bound the lists, maps and texts which the rule may read. `object`
/// is the schema of a whole object.
pub(super) fn missing_bounds(object: &Value, place: &Place<'_>, expression: &str) -> String {
    let mut search = Search {
        words: words(expression),
        found: Vec::new(),
    };
    // The rule runs for each item of a list or a map around it.
    let (mut schema, mut path) = (object, String::new());
    for step in &place.steps {
        if !matches!(step, Step::Property(_)) {
            search.count(schema, &path);
        }
        path = step.after(&path);
        schema = step.inner(schema);
    }
    search.visit(schema, &path);
    let mut found = search.found;
    if found.len() > MOST_NAMED {
        found.truncate(MOST_NAMED);
        found.push("and so on".into());
    }
    found.join(", ")
}

struct Search<'a> {
    words: Vec<&'a str>,
    found: Vec<String>,
}

impl Search<'_> {
    fn visit(&mut self, schema: &Value, path: &str) {
        match schema["type"].as_str() {
            Some("string") => {
                let has_length = ["date", "date-time", "duration"]
                    .iter()
                    .any(|format| schema["format"] == *format);
                if !has_length && schema["enum"].is_null() {
                    self.add(schema, "maxLength", "max_length", path);
                }
            }
            Some("array") => {
                self.count(schema, path);
                self.visit(&schema["items"], &Step::Items.after(path));
            }
            Some("object") if schema["additionalProperties"].is_object() => {
                self.count(schema, path);
                self.visit(&schema["additionalProperties"], &Step::Values.after(path));
            }
            Some("object") => {
                let fields = schema["properties"].as_object();
                let is_read = |name: &&String| self.words.contains(&name.as_str());
                // A rule that names no field may compare the whole objects.
                let names_fields = fields.into_iter().flatten().any(|(name, _)| is_read(&name));
                let fields: Vec<_> = fields
                    .into_iter()
                    .flatten()
                    .filter(|(name, _)| !names_fields || is_read(name))
                    .collect();
                for (name, field) in fields {
                    self.visit(field, &Step::Property(name).after(path));
                }
            }
            _ => {}
        }
    }

    /// Demands a bound for the number of items.
    fn count(&mut self, schema: &Value, path: &str) {
        match schema["type"].as_str() {
            Some("array") => self.add(schema, "maxItems", "max_items", path),
            _ => self.add(schema, "maxProperties", "max_properties", path),
        }
    }

    fn add(&mut self, schema: &Value, keyword: &str, attribute: &str, path: &str) {
        if schema[keyword].is_null() {
            self.found.push(format!("`{attribute}` to {path}"));
        }
    }
}

/// The names in a CEL expression, and the words of its texts.
fn words(expression: &str) -> Vec<&str> {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    expression.split(|letter| !is_name(letter)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn missing(field: &str, expression: &str) -> String {
        let text = json!({"type": "string"});
        let object = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "pages": {"type": "array", "items": {"type": "object", "properties": {
                "title": text,
                "language": {"type": "string", "maxLength": 5},
                "since": {"type": "string", "format": "date-time"},
                "mode": {"type": "string", "enum": ["a"]},
                "tags": {"type": "object", "additionalProperties": text},
            }}},
            "links": {"type": "array", "items": text, "maxItems": 9},
            "replicas": {"type": "integer"},
        }}}});
        let field =
            format!("spec.validation.openAPIV3Schema{field}.x-kubernetes-validations[0].rule");
        missing_bounds(&object, &Place::of(&field).unwrap(), expression)
    }

    #[test]
    fn the_bounds_that_a_costly_rule_lacks_are_named() {
        let spec = ".properties[spec]";
        let pages = ".properties[spec].properties[pages]";
        for (field, expression, expected) in [
            (
                spec,
                "self.links.all(one, one != '')",
                "`max_length` to spec.links[]",
            ),
            (
                spec,
                "self.pages.all(page, page.title != page.language)",
                "`max_items` to spec.pages, `max_length` to spec.pages[].title",
            ),
            (
                pages,
                "self == oldSelf",
                "`max_items` to spec.pages, `max_properties` to spec.pages[].tags, `max_length` to spec.pages[].tags{}, \
                 `max_length` to spec.pages[].title",
            ),
            (
                &format!("{pages}.items"),
                "self.mode != string(self.since)",
                "`max_items` to spec.pages",
            ),
            (spec, "self.replicas > 0", ""),
        ] {
            assert_eq!(missing(field, expression), expected, "{expression}");
        }
    }
}
