use serde_json::Value;

use super::path_element::PathElement;
use super::typed::{Atom, Typed};

/// Checks that an applied configuration has the form that the schema requires.
///
/// # Errors
/// The text of kube-apiserver for the first mismatch.
pub(super) fn check(typed: Typed<'_>, value: &Value) -> Result<(), String> {
    let mut errors = Vec::new();
    walk(typed, value, "", &mut errors);
    match errors.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("errors:\n  {}", many.join("\n  "))),
    }
}

fn say(at: &str, text: &str) -> String {
    if at.is_empty() {
        text.to_owned()
    } else {
        format!("{at}: {text}")
    }
}

fn walk(typed: Typed<'_>, value: &Value, at: &str, errors: &mut Vec<String>) {
    if let Some(text) = typed.mismatch(value) {
        errors.push(say(at, &text));
        return;
    }
    match (typed.atom(Some(value)), value) {
        (Atom::Map, Value::Object(map)) => {
            for (name, value) in map {
                let at = format!("{at}.{name}");
                if typed.allows(name) {
                    walk(typed.field(name), value, &at, errors);
                } else {
                    errors.push(say(&at, "field not declared in schema"));
                }
            }
        }
        (Atom::List, Value::Array(items)) => list(typed, items, at, errors),
        _ => {}
    }
}

fn list(typed: Typed<'_>, items: &[Value], at: &str, errors: &mut Vec<String>) {
    let mut seen: Vec<PathElement> = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let element = if typed.is_atomic_list() {
            PathElement::Index(i as i64)
        } else {
            match typed.identify(item) {
                Ok(element) => element,
                Err(text) => {
                    errors.push(say(at, &format!("element {i}: {text}")));
                    return;
                }
            }
        };
        if seen.contains(&element) {
            errors.push(say(at, &format!("duplicate entries for key {element}")));
        }
        walk(typed.item(), item, &format!("{at}{element}"), errors);
        seen.push(element);
    }
}
