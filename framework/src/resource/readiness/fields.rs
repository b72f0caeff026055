use serde_json::Value;

/// Reads an object as JSON. A field of a wrong type counts as missing.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a Value);

/// A condition of an object.
#[derive(Clone, Copy)]
pub(super) struct Condition<'a>(&'a Value);

impl<'a> Fields<'a> {
    /// The value at a JSON pointer, such as `/spec/replicas`.
    pub(super) fn at(self, pointer: &str) -> Option<&'a Value> {
        self.0.pointer(pointer).filter(|value| !value.is_null())
    }

    pub(super) fn text(self, pointer: &str) -> &'a str {
        let text = self.at(pointer).and_then(Value::as_str);
        text.unwrap_or_default()
    }

    pub(super) fn number(self, pointer: &str) -> Option<i64> {
        self.at(pointer)?.as_i64()
    }

    /// The number at `pointer`, or 0 if the field is missing.
    pub(super) fn count(self, pointer: &str) -> i64 {
        self.number(pointer).unwrap_or_default()
    }

    pub(super) fn items(self, pointer: &str) -> &'a [Value] {
        let items = self.at(pointer).and_then(Value::as_array);
        items.map(Vec::as_slice).unwrap_or_default()
    }

    /// The conditions of the status, without those of an older generation.
    pub(super) fn conditions(self) -> impl Iterator<Item = Condition<'a>> {
        let generation = self.number("/metadata/generation");
        let all = self.items("/status/conditions").iter().map(Condition);
        all.filter(move |one| {
            let observed = Fields(one.0).number("/observedGeneration");
            observed.is_none() || generation.is_none() || observed == generation
        })
    }

    pub(super) fn condition(self, kind: &str) -> Option<Condition<'a>> {
        self.conditions().find(|one| one.kind() == kind)
    }
}

impl<'a> Condition<'a> {
    pub(super) fn kind(self) -> &'a str {
        Fields(self.0).text("/type")
    }

    pub(super) fn is_true(self) -> bool {
        Fields(self.0).text("/status") == "True"
    }

    pub(super) fn is_false(self) -> bool {
        Fields(self.0).text("/status") == "False"
    }

    pub(super) fn reason(self) -> &'a str {
        Fields(self.0).text("/reason")
    }

    /// Why the condition has its status.
    pub(super) fn explain(self) -> String {
        let (kind, status) = (self.kind(), Fields(self.0).text("/status"));
        match (self.reason(), Fields(self.0).text("/message")) {
            ("", "") => format!("the condition {kind} is {status}"),
            (text, "") | ("", text) => text.to_owned(),
            (reason, message) => format!("{reason}: {message}"),
        }
    }
}
