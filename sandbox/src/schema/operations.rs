use std::sync::Arc;

use serde_json::Value;

use super::correlated::Correlated;
use super::node::Schema;
use super::path::FieldPath;
use super::{FieldError, defaults, embedded, list_type, parse, prune, rule_evaluation, validate};

/// An object to validate.
pub(crate) struct Written<'a> {
    pub(crate) object: &'a Value,
    /// The object that it replaces.
    pub(crate) old: Option<&'a Value>,
    /// Whether only the values in the status are checked.
    pub(crate) only_status: bool,
    /// Errors in the values that the caller found.
    pub(crate) others: Vec<FieldError>,
    /// Whether the caller found errors because of which rules cannot be evaluated.
    pub(crate) rules_are_blocked: bool,
}

/// What a validation found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) errors: Vec<FieldError>,
    /// Rules that refuse something that did not change.
    pub(crate) warnings: Vec<String>,
}

impl Schema {
    /// Reads the schema of a built-in kind without checking it. `metadata` may have its fields.
    pub fn trusted(json: &Value) -> Self {
        Self::here(parse::root(json)).with_source(Arc::new(json.clone()))
    }

    /// Drops every unknown field, and returns their paths (`spec.foo`, `spec.items[0].bar`), sorted.
    ///
    /// The value is taken for a whole object: `apiVersion`, `kind` and `metadata` are always known, and `metadata` is
    /// pruned as an ObjectMeta.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(self, object)
    }

    /// Whether [`apply_defaults`](Self::apply_defaults) has nothing to fill in.
    pub fn has_all_defaults(&self, object: &Value) -> bool {
        defaults::is_filled(self.node(), object)
    }

    /// Fills in defaults, and drops nulls where null is not allowed, as the API server does after pruning.
    pub fn apply_defaults(&self, object: &mut Value) {
        defaults::apply(self, object);
    }

    /// Checks an object. `old` is the object that it replaces, for transition rules.
    ///
    /// Values are checked first. CEL rules are evaluated only if they can rely on the values. If not, an error says
    /// that rules were not checked.
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let written = Written {
            object,
            old,
            only_status: false,
            others: Vec::new(),
            rules_are_blocked: false,
        };
        self.validate_written(written).errors
    }

    /// Like [`validate`](Self::validate), for a write of which the caller knows more.
    ///
    /// What did not change since `old` is not refused. A rule that refuses it leads to a warning.
    pub(crate) fn validate_written(&self, written: Written<'_>) -> Findings {
        let Written { object, old, .. } = written;
        let mut found = Findings::default();
        if written.only_status {
            self.validate_status(object, old, &mut found.errors);
        } else {
            let old = old.map(|old| Correlated::top(self, object, old));
            validate::validate(self, object, old, &FieldPath::Root, &mut found.errors);
        }
        found.errors.extend(written.others);
        if !written.only_status {
            embedded::validate(self, object, &FieldPath::Root, &mut found.errors);
        }
        // Lists are refused only if there was no such error before.
        if !old.is_some_and(|old| self.has_doubled_items(old)) {
            list_type::validate(self, object, &FieldPath::Root, &mut found.errors);
        }
        let blocks = |error: &FieldError| error.kind.blocks_rules();
        if !written.rules_are_blocked && !found.errors.iter().any(blocks) {
            rule_evaluation::validate(self, object, old, &mut found);
        } else if self.has_rules() {
            let detail = "some validation rules were not checked because the object was invalid; \
                          correct the existing errors to complete validation";
            let error = FieldError::invalid("<nil>", Value::Null, detail);
            found.errors.push(error);
        }
        found
    }

    fn validate_status(&self, object: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
        const STATUS: &str = "status";
        let (Some(schema), Some(status)) = (self.node().properties.get(STATUS), object.get(STATUS))
        else {
            return;
        };
        let old = old.and_then(|old| old.get(STATUS));
        let old = old.map(|old| Correlated::top(schema, status, old));
        let mut wrong = Vec::new();
        validate::validate(schema, status, old, &FieldPath::Root, &mut wrong);
        errors.extend(wrong.into_iter().map(|error| error.within(STATUS)));
    }

    fn has_doubled_items(&self, object: &Value) -> bool {
        let mut errors = Vec::new();
        list_type::validate(self, object, &FieldPath::Root, &mut errors);
        !errors.is_empty()
    }

    /// The first error that keeps an embedded object from being decoded, such as a number as a name in `metadata`.
    pub(crate) fn undecodable(&self, object: &Value) -> Option<FieldError> {
        embedded::undecodable(self, object, &FieldPath::Root)
    }
}
