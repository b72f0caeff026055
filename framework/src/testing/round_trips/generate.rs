use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::pattern;

const WORDS: [&str; 6] = ["a", "web", "blue-1", "x0", "long-name-of-a-thing", "7"];

/// A value that fits a structural schema. `None` if this cannot make one.
///
/// CEL rules are not evaluated, and `not` and `allOf` are not read.
pub(super) fn value(schema: &Value, random: &mut Rng) -> Option<Value> {
    if let Some(values) = schema["enum"].as_array()
        && !values.is_empty()
    {
        return Some(values[random.usize(..values.len())].clone());
    }
    // An API server refuses null in place of a value of an enum, whatever the schema says.
    if schema["nullable"] == true && random.u8(..4) == 0 {
        return Some(Value::Null);
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return Some(match random.bool() {
            true => json!(random.i32(1..100)),
            false => json!(string(schema, random)?),
        });
    }
    match schema["type"].as_str() {
        Some("object") => object(schema, random),
        Some("array") => list(schema, random),
        Some("string") => string(schema, random).map(Value::String),
        Some("boolean") => Some(random.bool().into()),
        Some("integer") => {
            let (least, most) = bounds(schema, random);
            let step = schema["multipleOf"].as_i64().unwrap_or(1).max(1);
            Some((random.i64(least..=most.max(least)) / step * step).into())
        }
        Some("number") => {
            let (least, most) = bounds(schema, random);
            // With two digits, so that each number has one form.
            let hundredths =
                random.i64(least.saturating_mul(100)..=most.max(least).saturating_mul(100));
            #[expect(clippy::cast_precision_loss, reason = "any number near it will do")]
            let number = hundredths as f64 / 100.0;
            Some(json!(number))
        }
        // Any value. A type with this schema may read some values only.
        _ if !schema["example"].is_null() => Some(schema["example"].clone()),
        _ => Some(json!({"any": WORDS[random.usize(..WORDS.len())]})),
    }
}

fn object(schema: &Value, random: &mut Rng) -> Option<Value> {
    let mut object = Map::new();
    let (branch, excluded) = branch(schema, random);
    let is_required = |name: &String| {
        let lists = [&schema["required"], &branch["required"]];
        lists
            .into_iter()
            .filter_map(Value::as_array)
            .flatten()
            .any(|one| one == name)
    };
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if excluded.contains(name) || (!is_required(name) && random.u8(..10) < 4) {
            continue;
        }
        let property = narrowed(property, &branch["properties"][name]);
        match value(&property, random) {
            Some(value) => {
                object.insert(name.clone(), value);
            }
            None if is_required(name) => return None,
            None => {}
        }
    }
    if schema["additionalProperties"].is_object() {
        let least = size(schema, "minProperties", 0);
        let most = size(schema, "maxProperties", least + 3)
            .min(least + 3)
            .min(WORDS.len());
        for word in WORDS.iter().take(random.usize(least.min(most)..=most)) {
            object.insert(
                (*word).to_owned(),
                value(&schema["additionalProperties"], random)?,
            );
        }
    }
    Some(object.into())
}

/// The schema of a field, with what a form of an enum demands of it.
fn narrowed(property: &Value, form: &Value) -> Value {
    let mut property = property.clone();
    if form["enum"].is_array() {
        property["enum"] = form["enum"].clone();
    }
    if let Some(more) = form["required"].as_array() {
        let mut required = property["required"].as_array().cloned().unwrap_or_default();
        required.extend(more.iter().cloned());
        property["required"] = required.into();
    }
    for (name, form) in form["properties"].as_object().into_iter().flatten() {
        property["properties"][name] = narrowed(&property["properties"][name], form);
    }
    property
}

/// One of the forms of an enum, and the fields of all other forms.
fn branch(schema: &Value, random: &mut Rng) -> (Value, Vec<String>) {
    let forms = ["oneOf", "anyOf"]
        .into_iter()
        .find_map(|key| schema[key].as_array());
    let forms: &[Value] = forms.map_or(&[], Vec::as_slice);
    if forms.is_empty() {
        return (Value::Null, Vec::new());
    }
    let chosen = &forms[random.usize(..forms.len())];
    let names = |form: &Value| -> Vec<String> {
        let required = form["required"].as_array().into_iter().flatten();
        required
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let own = names(chosen);
    let others = forms
        .iter()
        .flat_map(names)
        .filter(|name| !own.contains(name));
    (chosen.clone(), others.collect())
}

fn list(schema: &Value, random: &mut Rng) -> Option<Value> {
    let least = size(schema, "minItems", 0);
    let most = size(schema, "maxItems", least + 3).min(least + 3);
    let count = random.usize(least..=most.max(least));
    let keys: Vec<&str> = match schema["x-kubernetes-list-map-keys"].as_array() {
        Some(keys) => keys.iter().filter_map(Value::as_str).collect(),
        None => Vec::new(),
    };
    let is_set = schema["x-kubernetes-list-type"] == "set" || schema["uniqueItems"] == true;
    let mut items: Vec<Value> = Vec::new();
    // A set of few values may have fewer items.
    for _ in 0..count * 4 {
        if items.len() == count {
            break;
        }
        let item = value(&schema["items"], random)?;
        let is_same = |other: &&Value| match keys.is_empty() {
            true => is_set && **other == item,
            false => keys.iter().all(|key| other[key] == item[key]),
        };
        if !items.iter().any(|other| is_same(&other)) {
            items.push(item);
        }
    }
    (items.len() >= least).then(|| items.into())
}

fn string(schema: &Value, random: &mut Rng) -> Option<String> {
    if let Some(example) = schema["example"].as_str()
        && schema["pattern"].is_string()
        && random.u8(..4) == 0
    {
        return Some(example.to_owned());
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        return match pattern::text(pattern, random) {
            Some(text) => Some(text),
            None => schema["example"].as_str().map(str::to_owned),
        };
    }
    // Texts of several forms, such as the addresses of both versions.
    if let Some(forms) = schema["anyOf"].as_array().filter(|forms| !forms.is_empty()) {
        return string(&forms[random.usize(..forms.len())], random);
    }
    let number = random.u8(1..100);
    Some(match schema["format"].as_str() {
        Some("date-time") => format!("2026-01-01T00:00:{:02}Z", number % 60),
        Some("date") => format!("2026-01-{:02}", number % 28 + 1),
        Some("duration") => format!("{number}s"),
        Some("ipv4") => format!("192.0.2.{number}"),
        Some("ipv6") => format!("2001:db8::{number}"),
        Some("uri") => format!("https://example.com/{number}"),
        Some("uuid") => format!("00000000-0000-4000-8000-0000000000{number:02}"),
        Some("byte") => "YWJj".into(),
        Some(_) => return schema["example"].as_str().map(str::to_owned),
        None => {
            let least = size(schema, "minLength", 0);
            let most = size(schema, "maxLength", least + 20).max(least);
            let mut text: String = WORDS[random.usize(..WORDS.len())]
                .chars()
                .take(most)
                .collect();
            while text.len() < least {
                text.push('y');
            }
            text
        }
    })
}

fn size(schema: &Value, key: &str, default: usize) -> usize {
    let given = schema[key]
        .as_u64()
        .and_then(|size| usize::try_from(size).ok());
    given.unwrap_or(default)
}

/// The least and the largest number, near 0 if the schema has no bounds.
fn bounds(schema: &Value, random: &mut Rng) -> (i64, i64) {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a bound outside of i64 is as good as one at its end"
    )]
    let bound = |key: &str| schema[key].as_f64().map(|bound| bound as i64);
    let span = [3, 100, 10_000][random.usize(..3)];
    let (least, most) = match (bound("minimum"), bound("maximum")) {
        (None, None) => (-span, span),
        (Some(least), None) => (least, least.saturating_add(span)),
        (None, Some(most)) => (most.saturating_sub(span), most),
        (Some(least), Some(most)) => (least, most),
    };
    let least = least.saturating_add(i64::from(schema["exclusiveMinimum"] == true));
    let most = most.saturating_sub(i64::from(schema["exclusiveMaximum"] == true));
    // A number that another version cannot hold is more likely at an end.
    match random.u8(..16) {
        0 => (least, least),
        1 => (most, most),
        _ => (least, most),
    }
}
