use serde_json::Value;

use crate::schema::{FieldError, FieldErrorKind};

/// The rule of a name: it returns the errors.
pub(super) type NameRule = fn(&str) -> Vec<String>;

/// A part of an object with its path, and the rules that many fields have. An absent part is null.
#[derive(Clone)]
pub(super) struct Part<'a> {
    pub(super) value: &'a Value,
    pub(super) path: String,
}

impl<'a> Part<'a> {
    pub(super) fn new(value: &'a Value, path: impl Into<String>) -> Self {
        Self {
            value,
            path: path.into(),
        }
    }

    /// The field of this name.
    pub(super) fn get(&self, name: &str) -> Self {
        let value = self.value.get(name).unwrap_or(&Value::Null);
        let path = match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        Self { value, path }
    }

    /// The field of this name, unless it is absent.
    pub(super) fn set(&self, name: &str) -> Option<Self> {
        let value = self.value.get(name)?;
        (!value.is_null()).then(|| self.get(name))
    }

    /// The same value under another path, for errors that a real server reports in an unexpected place.
    pub(super) fn named_as(&self, path: impl Into<String>) -> Self {
        Self::new(self.value, path)
    }

    /// The items of the list of this name.
    pub(super) fn items(&self, name: &str) -> impl Iterator<Item = Self> + use<'a> {
        let list = self.value.get(name).and_then(Value::as_array);
        let path = match list {
            Some(_) => self.get(name).path,
            None => String::new(),
        };
        let items = list.map_or(&[][..], Vec::as_slice).iter().enumerate();
        items.map(move |(index, item)| Self::new(item, format!("{path}[{index}]")))
    }

    /// The entries of a map, with their keys.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a str, Self)> + use<'a> {
        let path = self.path.clone();
        let entries = self.value.as_object().into_iter().flatten();
        entries.map(move |(key, value)| (key.as_str(), Self::new(value, format!("{path}[{key}]"))))
    }

    pub(super) fn list(&self, name: &str) -> &'a [Value] {
        let list = self.value.get(name).and_then(Value::as_array);
        list.map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    pub(super) fn is_true(&self, name: &str) -> bool {
        self.value.get(name) == Some(&Value::Bool(true))
    }

    pub(super) fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_default()
    }

    /// The text of a field.
    pub(super) fn text_of(&self, name: &str) -> &'a str {
        let text = self.value.get(name).and_then(Value::as_str);
        text.unwrap_or_default()
    }

    pub(super) fn number(&self) -> Option<i64> {
        self.value.as_i64()
    }

    pub(super) fn number_of(&self, name: &str) -> Option<i64> {
        self.value.get(name).and_then(Value::as_i64)
    }

    pub(super) fn invalid(&self, detail: impl Into<String>, found: &mut Vec<FieldError>) {
        found.push(FieldError::invalid(&self.path, self.value.clone(), detail));
    }

    /// Reports the part as invalid with another value than its own.
    pub(super) fn invalid_as(
        &self,
        value: impl Into<Value>,
        detail: impl Into<String>,
        found: &mut Vec<FieldError>,
    ) {
        found.push(FieldError::invalid(&self.path, value, detail));
    }

    pub(super) fn missing(&self, detail: impl Into<String>, found: &mut Vec<FieldError>) {
        found.push(FieldError::required(&self.path, detail));
    }

    pub(super) fn forbidden(&self, detail: impl Into<String>, found: &mut Vec<FieldError>) {
        found.push(FieldError::forbidden(&self.path, detail));
    }

    pub(super) fn duplicate(&self, found: &mut Vec<FieldError>) {
        found.push(FieldError::duplicate(&self.path, self.value.clone()));
    }

    pub(super) fn not_found(&self, detail: impl Into<String>, found: &mut Vec<FieldError>) {
        let value = self.value.clone();
        found.push(FieldError::new(
            FieldErrorKind::NotFound,
            &self.path,
            Some(value),
            detail,
        ));
    }

    /// Refuses an absent or empty text.
    pub(super) fn required(&self, found: &mut Vec<FieldError>) {
        if self.text().is_empty() {
            self.missing("", found);
        }
    }

    /// Refuses a text that is not one of `known`.
    pub(super) fn one_of(&self, known: &[&str], found: &mut Vec<FieldError>) {
        let text = self.text();
        if !known.contains(&text) {
            let known = known.iter().copied();
            found.push(FieldError::not_supported(&self.path, text, known));
        }
    }

    /// Refuses a text that is set and not one of `known`.
    pub(super) fn one_of_if_set(&self, known: &[&str], found: &mut Vec<FieldError>) {
        if self.is_set() {
            self.one_of(known, found);
        }
    }

    /// Refuses an absent or empty text, and one that is not one of `known`.
    pub(super) fn choice(&self, known: &[&str], found: &mut Vec<FieldError>) {
        match self.text() {
            "" => self.missing("", found),
            _ => self.one_of(known, found),
        }
    }

    /// Refuses a text in which the rule finds something.
    pub(super) fn name(&self, rule: NameRule, found: &mut Vec<FieldError>) {
        for wrong in rule(self.text()) {
            self.invalid_as(self.text(), wrong, found);
        }
    }

    /// Refuses a text that is not empty and in which the rule finds something.
    pub(super) fn name_if_set(&self, rule: NameRule, found: &mut Vec<FieldError>) {
        if !self.text().is_empty() {
            self.name(rule, found);
        }
    }

    /// Refuses an absent or empty text, and one in which the rule finds something.
    pub(super) fn required_name(&self, rule: NameRule, found: &mut Vec<FieldError>) {
        match self.text() {
            "" => self.missing("", found),
            _ => self.name(rule, found),
        }
    }

    /// Refuses a number below zero.
    pub(super) fn not_negative(&self, found: &mut Vec<FieldError>) {
        if self.number().is_some_and(|number| number < 0) {
            self.invalid("must be greater than or equal to 0", found);
        }
    }

    /// Refuses a number outside of the range.
    pub(super) fn within(&self, least: i64, most: i64, found: &mut Vec<FieldError>) {
        if let Some(number) = self.number()
            && !(least..=most).contains(&number)
        {
            let detail = format!("must be between {least} and {most}, inclusive");
            self.invalid(detail, found);
        }
    }

    /// Refuses a path that is absolute or leads upwards.
    pub(super) fn relative_path(&self, found: &mut Vec<FieldError>) {
        if self.text().starts_with('/') {
            self.invalid("must be a relative path", found);
        }
        self.no_steps_up(found);
    }

    /// Refuses a path with `..`.
    pub(super) fn no_steps_up(&self, found: &mut Vec<FieldError>) {
        if self.text().split('/').any(|part| part == "..") {
            self.invalid("must not contain '..'", found);
        }
    }

    /// Refuses a path that a volume keeps for itself.
    pub(super) fn own_path(&self, found: &mut Vec<FieldError>) {
        self.relative_path(found);
        let path = self.text();
        if path.starts_with("..") && !path.starts_with("../") {
            self.invalid("must not start with '..'", found);
        }
    }

    /// Refuses a value that differs from the old one.
    pub(super) fn unchanged(&self, old: &Part, found: &mut Vec<FieldError>) {
        if self.value != old.value {
            self.invalid("field is immutable", found);
        }
    }
}
