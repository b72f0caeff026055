//! Checks that the API server makes for all options.

use crate::resource::{FieldSelector, Selector};

/// An empty text counts as none, as it does for the server.
pub(super) fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

pub(super) fn selectors(labels: Option<&str>, fields: Option<&str>) -> Result<(), String> {
    let labels = labels.unwrap_or_default().parse::<Selector>();
    labels.map_err(|error| format!("label selector `{}`: {}", error.selector, error.problem))?;
    let fields = fields.unwrap_or_default().parse::<FieldSelector>();
    fields.map_err(|error| format!("field selector `{}`: {}", error.selector, error.problem))?;
    Ok(())
}

/// apimachinery's rule for field managers.
pub(super) fn field_manager(manager: Option<&str>) -> Result<(), String> {
    let manager = manager.unwrap_or_default();
    if manager.len() > 128 {
        return Err("the field manager must have at most 128 characters".into());
    }
    if manager.chars().any(char::is_control) {
        return Err("the field manager must be of printable characters".into());
    }
    Ok(())
}
