use std::sync::Arc;

use serde_json::Value;

use super::json::is_true;
use super::{complete, defaults, invariants, keywords, rules};
use crate::schema::error::FieldError;
use crate::schema::node::Schema;
use crate::schema::parse;
use crate::schema::path::FieldPath;

impl Schema {
    /// Reads the `openAPIV3Schema` of a CRD. Field names in errors are relative to the schema
    /// (`properties[spec].type`);
    /// [`Schema::from_json_at`] puts a path before them.
    ///
    /// # Errors
    /// The errors of the API server when such a CRD is created: a schema that is not structural, defaults that are not
    /// valid, CEL rules that do not compile.
    pub fn from_json(json: &Value) -> Result<Self, Vec<FieldError>> {
        Self::from_json_at(json, "")
    }

    /// Like [`Schema::from_json`], with the path of the schema, such as `spec.versions[0].schema.openAPIV3Schema`.
    ///
    /// # Errors
    /// As [`Schema::from_json`].
    pub fn from_json_at(json: &Value, path: &str) -> Result<Self, Vec<FieldError>> {
        read(json, &FieldPath::Base(path))
    }
}

/// Reads a schema, or returns all its errors.
///
/// The steps are those of the API server, and so is which errors hide others: rules are compiled only if the schema is
/// valid, and defaults are checked only if it is structural.
fn read(json: &Value, at: &FieldPath<'_>) -> Result<Schema, Vec<FieldError>> {
    let mut errors = Vec::new();
    let Some(map) = json.as_object() else {
        let error = FieldError::invalid(at.bare(), json.clone(), "must be an object");
        return Err(vec![error]);
    };
    if is_true(map, "nullable") {
        let at = at.child("nullable");
        errors.push(FieldError::forbidden(
            at,
            "nullable cannot be true at the root",
        ));
    }
    let mut misused = Vec::new();
    keywords::check(map, at, &mut misused);
    let mut is_structural = false;
    // A schema with keywords that no structural schema has is not checked as one.
    if !misused
        .iter()
        .any(|error| error.detail.ends_with(" is not supported"))
    {
        let before = errors.len();
        invariants::check(map, at, &mut errors);
        complete::check(map, at, at, &mut errors);
        is_structural = errors.len() == before;
    }
    errors.extend(misused);
    if is_structural && errors.is_empty() {
        rules::check(map, at, &mut errors);
    }
    let schema = Schema::here(parse::root(json));
    if is_structural {
        defaults::check(&schema, at, &mut errors);
    }
    if errors.is_empty() {
        return Ok(schema.with_source(Arc::new(json.clone())));
    }
    errors.sort_by_cached_key(ToString::to_string);
    errors.dedup();
    Err(errors)
}
