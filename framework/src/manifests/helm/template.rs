use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::resource::to_yaml;

/// Stands for the namespace of the release while the objects are made.
pub(super) const RELEASE: &str = "pilothouse-namespace-of-release";
/// Stands for each namespace in which the operator works.
pub(super) const EACH: &str = "pilothouse-each-namespace";

/// A part of an object, or the whole object.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// The same in all variants.
    Plain(Value),
    Map(BTreeMap<String, Entry>),
    List(Vec<Node>),
    /// The value of the first condition that holds, and what holds otherwise.
    Choice(Vec<(String, Value)>, Value),
    /// An expression of the template language.
    Expression(String),
    /// A value of the chart that takes the place of this key if it is not empty.
    Field(String),
    /// Items of a list as lines of the template.
    Items(Vec<String>),
}

/// A value in a map that may have a condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    condition: Option<String>,
    node: Node,
}

/// A variant of an object, with the condition under which it counts.
pub(super) type Variant<'a> = (&'a str, &'a Value);

impl Node {
    /// Merges an object with its variants.
    pub(super) fn merge(base: &Value, variants: &[Variant<'_>]) -> Self {
        if variants.iter().all(|(_, variant)| *variant == base) {
            return Self::Plain(base.clone());
        }
        let maps: Option<Vec<_>> = variants
            .iter()
            .map(|(condition, variant)| Some((*condition, variant.as_object()?)))
            .collect();
        let (Value::Object(old), Some(maps)) = (base, maps) else {
            let differing = variants.iter().filter(|(_, variant)| *variant != base);
            let choices = differing
                .map(|(condition, variant)| ((*condition).to_owned(), (*variant).clone()))
                .collect();
            return Self::Choice(choices, base.clone());
        };
        let added = maps.iter().flat_map(|(_, map)| map.keys());
        let keys: BTreeSet<&String> = old.keys().chain(added).collect();
        let entries = keys.into_iter().map(|key| {
            let with = maps
                .iter()
                .filter_map(|(condition, map)| Some((*condition, map.get(key)?)));
            let with: Vec<Variant<'_>> = with.collect();
            let entry = match old.get(key) {
                Some(value) => {
                    let without = maps.iter().filter(|(_, map)| !map.contains_key(key));
                    let without: Vec<&str> = without.map(|(condition, _)| *condition).collect();
                    Entry {
                        condition: none_of(&without),
                        node: Self::merge(value, &with),
                    }
                }
                None => Entry {
                    condition: any_of(&with.iter().map(|(one, _)| *one).collect::<Vec<_>>()),
                    node: with
                        .split_first()
                        .map_or(Self::Plain(Value::Null), |((_, first), rest)| {
                            Self::merge(first, rest)
                        }),
                },
            };
            (key.clone(), entry)
        });
        Self::Map(entries.collect())
    }

    /// The value of a key, which is added if it is missing.
    pub(super) fn child(&mut self, key: &str) -> &mut Self {
        let entries = match std::mem::replace(self, Self::Plain(Value::Null)) {
            Self::Map(entries) => entries,
            Self::Plain(Value::Object(map)) => {
                let pairs = map.into_iter();
                pairs
                    .map(|(key, value)| (key, Entry::always(value)))
                    .collect()
            }
            _ => BTreeMap::new(),
        };
        *self = Self::Map(entries);
        match self {
            Self::Map(entries) => {
                let entry = entries.entry(key.to_owned());
                &mut entry.or_insert(Entry::always(Value::Null)).node
            }
            other => other,
        }
    }

    /// Sets the condition of a key.
    pub(super) fn only_if(&mut self, key: &str, condition: &str) {
        self.child(key);
        if let Self::Map(entries) = self
            && let Some(entry) = entries.get_mut(key)
        {
            entry.condition = Some(condition.to_owned());
        }
    }

    /// The items of a list. An empty slice if this is no list.
    pub(super) fn items(&mut self) -> &mut [Self] {
        if let Self::Plain(Value::Array(items)) = self {
            *self = Self::List(items.drain(..).map(Self::Plain).collect());
        }
        match self {
            Self::List(items) => items,
            _ => &mut [],
        }
    }

    /// The text of an object.
    pub(super) fn text(&self) -> Result<String, serde_json::Error> {
        let mut text = String::new();
        self.write(0, &mut text)?;
        Ok(with_namespaces(&text))
    }

    /// Writes a map or a list, with the lines that belong to it.
    fn write(&self, indent: usize, text: &mut String) -> Result<(), serde_json::Error> {
        match self {
            Self::Map(entries) => {
                for (key, entry) in entries {
                    if let Some(condition) = &entry.condition {
                        *text += &format!("{{{{- if {condition} }}}}\n");
                    }
                    entry.node.write_entry(key, indent, text)?;
                    if entry.condition.is_some() {
                        *text += "{{- end }}\n";
                    }
                }
            }
            Self::List(items) => {
                for item in items {
                    match item {
                        Self::Plain(value) => {
                            *text += &indented(&to_yaml([json!([value])])?, indent)
                        }
                        // The first key of a map may have a condition, so the dash has a line of its own.
                        _ => {
                            *text += &format!("{}-\n", " ".repeat(indent));
                            item.write(indent + 2, text)?;
                        }
                    }
                }
            }
            Self::Plain(value) => *text += &indented(&to_yaml([value])?, indent),
            // These have a key.
            Self::Choice(..) | Self::Expression(_) | Self::Field(_) | Self::Items(_) => {}
        }
        Ok(())
    }

    fn write_entry(
        &self,
        key: &str,
        indent: usize,
        text: &mut String,
    ) -> Result<(), serde_json::Error> {
        let margin = " ".repeat(indent);
        let line = |value: &Value| -> Result<String, serde_json::Error> {
            Ok(indented(&to_yaml([json!({key: value})])?, indent))
        };
        match self {
            Self::Plain(value) => *text += &line(value)?,
            Self::Map(_) => {
                *text += &format!("{margin}{key}:\n");
                self.write(indent + 2, text)?;
            }
            Self::List(_) => {
                *text += &format!("{margin}{key}:\n");
                self.write(indent, text)?;
            }
            Self::Choice(choices, otherwise) => {
                for (number, (condition, value)) in choices.iter().enumerate() {
                    let word = if number == 0 { "if" } else { "else if" };
                    *text += &format!("{{{{- {word} {condition} }}}}\n{}", line(value)?);
                }
                *text += &format!("{{{{- else }}}}\n{}{{{{- end }}}}\n", line(otherwise)?);
            }
            Self::Expression(expression) => {
                *text += &format!("{margin}{key}: {{{{ {expression} }}}}\n");
            }
            Self::Field(value) => {
                *text += &format!(
                    "{{{{- with $.Values.{value} }}}}\n{margin}{key}: {{{{- toYaml . | nindent {} }}}}\n{{{{- end }}}}\n",
                    indent + 2
                );
            }
            Self::Items(lines) => {
                *text += &format!("{margin}{key}:\n");
                for line in lines {
                    let margin = if line.starts_with("{{-") { "" } else { &margin };
                    *text += &format!("{margin}{line}\n");
                }
            }
        }
        Ok(())
    }
}

impl Entry {
    fn always(value: Value) -> Self {
        Self {
            condition: None,
            node: Node::Plain(value),
        }
    }
}

/// A condition that holds if none of these holds. `None` if there are none.
pub(super) fn none_of(conditions: &[&str]) -> Option<String> {
    any_of(conditions).map(|any| format!("not ({any})"))
}

/// A condition that holds if one of these holds. `None` if there are none.
pub(super) fn any_of(conditions: &[&str]) -> Option<String> {
    match conditions {
        [] => None,
        [one] => Some((*one).to_owned()),
        several => {
            let several: Vec<_> = several.iter().map(|one| format!("({one})")).collect();
            Some(format!("or {}", several.join(" ")))
        }
    }
}

/// A text that a template prints unchanged.
pub(super) fn escaped(text: &str) -> String {
    text.replace("{{", "{{ \"{{\" }}")
}

fn indented(text: &str, indent: usize) -> String {
    let margin = " ".repeat(indent);
    let lines = escaped(text);
    let lines = lines.lines().map(|line| match line.is_empty() {
        true => "\n".to_owned(),
        false => format!("{margin}{line}\n"),
    });
    lines.collect()
}

/// Replaces what stands for a namespace. A whole value is quoted, because a namespace may look like a number.
fn with_namespaces(text: &str) -> String {
    let mut text = text.to_owned();
    for (mark, expression) in [(RELEASE, "$.Release.Namespace"), (EACH, "$namespace")] {
        for before in [": ", "- "] {
            text = text.replace(
                &format!("{before}{mark}\n"),
                &format!("{before}{{{{ {expression} | quote }}}}\n"),
            );
        }
        text = text.replace(mark, &format!("{{{{ {expression} }}}}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_between_variants_gets_a_condition() {
        let base = json!({"a": {"b": 1, "c": [1], "gone": "x"}, "same": "{{ y }}"});
        let variant = json!({"a": {"b": 2, "c": [1], "new": RELEASE}, "same": "{{ y }}"});
        let text = Node::merge(&base, &[("$.Values.v", &variant), ("$.Values.w", &base)]);
        let expected = "\
a:
{{- if $.Values.v }}
  b: 2
{{- else }}
  b: 1
{{- end }}
  c:
  - 1
{{- if not ($.Values.v) }}
  gone: x
{{- end }}
{{- if $.Values.v }}
  new: {{ $.Release.Namespace | quote }}
{{- end }}
same: \"{{ \"{{\" }} y }}\"
";
        assert_eq!(text.text().unwrap(), expected);
    }

    #[test]
    fn values_of_the_chart_take_the_place_of_keys() {
        let mut node =
            Node::Plain(json!({"list": [{"x": 1, "z": "pilothouse-each-namespace."}, 2]}));
        *node.child("list").items()[0].child("x") = Node::Field("x".into());
        *node.child("size") = Node::Expression("$.Values.n".into());
        let expected = "\
list:
-
{{- with $.Values.x }}
  x: {{- toYaml . | nindent 4 }}
{{- end }}
  z: {{ $namespace }}.
- 2
size: {{ $.Values.n }}
";
        assert_eq!(node.text().unwrap(), expected);
    }
}
