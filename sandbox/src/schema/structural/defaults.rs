use crate::schema::error::FieldError;
use crate::schema::node::Schema;
use crate::schema::path::FieldPath;
use crate::schema::{cel, list_type, prune, validate};

/// Every default must be what the schema it stands in would let through.
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
        // The root of a value's path is where the default stands.
        let base = at.to_string();
        let base = FieldPath::Base(&base);
        let mut wrong = Vec::new();
        validate::validate(schema, default, &FieldPath::Root, &mut wrong);
        errors.extend(wrong.into_iter().map(|mut error| {
            // Their texts name the field within the default alone.
            error.field = match error.field.as_str() {
                "<nil>" => base.to_string(),
                inner => format!("{base}.{inner}"),
            };
            error
        }));
        list_type::validate(schema, default, &base, errors);
        if errors.len() == before {
            cel::validate_part(schema, default, &base, errors);
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
