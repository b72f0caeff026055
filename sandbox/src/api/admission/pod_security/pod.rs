use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

/// What the checks read of a Pod or of a template.
pub(super) struct Pod<'a> {
    annotations: &'a Value,
    pub(super) spec: &'a Value,
}

impl<'a> Pod<'a> {
    pub(super) fn new(annotations: &'a Value, spec: &'a Value) -> Self {
        Self { annotations, spec }
    }

    pub(super) fn annotations(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let all = self.annotations.as_object().into_iter().flatten();
        all.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
    }

    /// All containers, in the order in which they are judged.
    pub(super) fn containers(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        let spec = self.spec;
        ["initContainers", "containers", "ephemeralContainers"]
            .into_iter()
            .flat_map(|field| spec[field].as_array().into_iter().flatten())
    }

    /// The names of the containers that are wrong.
    pub(super) fn wrong(&self, mut is_wrong: impl FnMut(&'a Value) -> bool) -> Vec<&'a str> {
        let found = self.containers().filter(|container| is_wrong(container));
        found
            .map(|container| container["name"].as_str().unwrap_or_default())
            .collect()
    }

    pub(super) fn is_windows(&self) -> bool {
        self.spec["os"]["name"] == "windows"
    }

    /// Whether the users of the Pod are not those of the host.
    pub(super) fn has_own_users(&self) -> bool {
        self.spec["hostUsers"] == false
    }
}

/// What is wrong with a Pod.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) reason: String,
    detail: String,
}

impl Violation {
    pub(super) fn new(reason: impl Into<String>, detail: String) -> Self {
        Self {
            reason: reason.into(),
            detail,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.reason, self.detail)
    }
}

/// Names in quotes, with commas between them.
pub(super) fn quoted<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let names = names
        .into_iter()
        .map(|name| format!("\"{}\"", name.as_ref()));
    names.collect::<Vec<_>>().join(", ")
}

/// A word, or its plural if there are several.
pub(super) fn plural(word: &str, count: usize) -> String {
    match count {
        1 => word.to_owned(),
        _ => format!("{word}s"),
    }
}

/// `container "a"`, or `containers "a", "b"`.
pub(super) fn named(containers: &[&str]) -> String {
    let word = plural("container", containers.len());
    format!("{word} {}", quoted(containers))
}

/// Which parts of a Pod set a field: the Pod itself, some of its containers, or both. `None` if no part does.
pub(super) fn setters(by_pod: bool, containers: &[&str]) -> Option<String> {
    let pod = by_pod.then(|| "pod".to_owned());
    let containers = (!containers.is_empty()).then(|| named(containers));
    let all: Vec<String> = pod.into_iter().chain(containers).collect();
    (!all.is_empty()).then(|| all.join(" and "))
}

/// Values without duplicates, in order.
pub(super) type Values = BTreeSet<String>;
