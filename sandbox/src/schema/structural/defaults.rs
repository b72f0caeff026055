use crate::schema::error::FieldError;
use crate::schema::node::Schema;
use crate::schema::path::FieldPath;
use crate::schema::{list_type, prune, rule_evaluation, validate};

/// Checks that every default is valid in the schema that contains it.
pub(super) fn check(schema: &Schema, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let node = schema.node();
    if let Some(default) = &node.default {
        let at = at.child("default");
        let mut pruned = default.clone();
        prune::prune_part(schema, &mut pruned);
        if pruned != *default {
            let detail = "must not have unknown fields";
            errors.push(FieldError::invalid(at, default.clone(), detail));
        }
        let before = errors.len();
        // The root of a value's path is the position of the default.
        let base = at.to_string();
        let base = FieldPath::Base(&base);
        let mut wrong = Vec::new();
        validate::validate(schema, default, None, &FieldPath::Root, &mut wrong);
        errors.extend(wrong.into_iter().map(|error| error.within(base)));
        list_type::validate(schema, default, &base, errors);
        if errors.len() == before {
            rule_evaluation::validate_part(schema, default, &base, errors);
        }
    }
    if let Some(items) = &node.items {
        check(items, &at.child("items"), errors);
    }
    let properties = at.child("properties");
    for (name, property) in &node.properties {
        check(property, &properties.key(name), errors);
    }
}
