//! Objects of a text, and the tools that make such texts.

use std::{collections::BTreeMap, env, io::Write, path::PathBuf, process::Output};

use pilothouse::resource::{DynamicObject, Scheme};
use serde_json::Value;

/// Objects by what names them.
pub(crate) type Objects = BTreeMap<String, Value>;

/// The objects of a text. Two of the same name are an error.
pub(crate) fn objects(text: &str) -> Objects {
    let scheme = Scheme::new().with_other_kinds();
    let all = scheme.decode(text).into_iter();
    let mut objects = Objects::new();
    for manifest in all {
        let manifest = manifest.unwrap();
        let object = manifest.downcast::<DynamicObject>().unwrap();
        let mut value = serde_json::to_value(object).unwrap();
        // A chart has the namespaces in the order of its values.
        let selector = "/spec/matchResources/namespaceSelector/matchExpressions/0/values";
        if let Some(Value::Array(names)) = value.pointer_mut(selector) {
            names.sort_by_key(Value::to_string);
        }
        let metadata = &value["metadata"];
        let name = format!(
            "{} {} {}",
            value["kind"], metadata["namespace"], metadata["name"]
        );
        assert!(
            objects.insert(name.clone(), value).is_none(),
            "{name} twice in\n{text}"
        );
    }
    objects
}

/// Compares all objects.
pub(crate) fn assert_same(what: &str, found: &Objects, expected: &Objects) {
    let names = |objects: &Objects| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(expected), "{what}");
    for (name, object) in expected {
        assert_eq!(&found[name], object, "{what}: {name}");
    }
}

/// The output of a program that must succeed.
pub(crate) fn succeeded(name: &str, output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {text}{error}");
    text
}

/// A program of a variable. Without it the test is skipped, and says so.
pub(crate) fn tool(variable: &str) -> Option<PathBuf> {
    let value = env::var_os(variable).filter(|value| !value.is_empty());
    let first = value.and_then(|value| env::split_paths(&value).next());
    if first.is_none() {
        // Not `println!`, because the harness hides the output of a passing test.
        let text = format!("skipped: {variable} names no program\n");
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
    first
}
