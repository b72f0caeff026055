use std::sync::Arc;

use serde_json::Value;

use super::node::Schema;
use super::path::FieldPath;
use super::{FieldError, defaults, embedded, list_type, parse, prune, rule_evaluation, validate};

impl Schema {
    /// Reads the schema of a built-in kind without checking it. `metadata` may have its fields.
    pub fn trusted(json: &Value) -> Self {
        Self::here(parse::node(json, None)).with_source(Arc::new(json.clone()))
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
        self.validate_with(object, old, Vec::new(), false)
    }

    /// Like [`validate`](Self::validate), with other errors in the values. `rules_are_blocked` says that the caller found
    /// other errors, and that rules cannot be evaluated because of them.
    pub(crate) fn validate_with(
        &self,
        object: &Value,
        old: Option<&Value>,
        others: Vec<FieldError>,
        rules_are_blocked: bool,
    ) -> Vec<FieldError> {
        let mut errors = Vec::new();
        validate::validate(self, object, &FieldPath::Root, &mut errors);
        errors.extend(others);
        embedded::validate(self, object, &FieldPath::Root, &mut errors);
        list_type::validate(self, object, &FieldPath::Root, &mut errors);
        let rules_are_blocked =
            rules_are_blocked || errors.iter().any(|error| error.kind.blocks_rules());
        if !rules_are_blocked {
            rule_evaluation::validate(self, object, old, &mut errors);
        } else if self.has_rules() {
            let detail = "some validation rules were not checked because the object was invalid; \
                          correct the existing errors to complete validation";
            errors.push(FieldError::invalid("<nil>", Value::Null, detail));
        }
        errors
    }

    /// The first error that keeps an embedded object from being decoded, such as a number as a name in `metadata`.
    pub(crate) fn undecodable(&self, object: &Value) -> Option<FieldError> {
        embedded::undecodable(self, object, &FieldPath::Root)
    }
}
