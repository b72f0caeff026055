use std::collections::BTreeSet;

use super::part::Part;
use crate::names;
use crate::schema::FieldError;

const REASON: &str = "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or \
                      '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or \
                      'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

/// The conditions of a status that have the form `metav1.Condition`.
pub(super) fn conditions(status: &Part, found: &mut Vec<FieldError>) {
    let mut known = BTreeSet::new();
    for condition in status.items("conditions") {
        let kind = condition.get("type");
        if !known.insert(kind.text()) {
            found.push(FieldError::duplicate(&condition.path, kind.text().into()));
        }
        if kind.text().is_empty() {
            kind.missing("is required", found);
        } else {
            kind.name(names::qualified_name, found);
        }
        let state = condition.get("status");
        match state.text() {
            "" => state.missing("", found),
            _ => state.one_of(&["False", "True", "Unknown"], found),
        }
        let generation = condition.get("observedGeneration");
        if generation.number().is_some_and(|number| number < 0) {
            generation.invalid("must be greater than or equal to zero", found);
        }
        condition.get("lastTransitionTime").required(found);
        let reason = condition.get("reason");
        reason.required(found);
        if !reason.text().is_empty() {
            reason.name(reason_errors, found);
        }
    }
}

fn reason_errors(reason: &str) -> Vec<String> {
    let begins = reason.starts_with(|c: char| c.is_ascii_alphabetic());
    let ends = reason.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ',' | ':');
    match begins && ends && reason.chars().all(allowed) {
        true => Vec::new(),
        false => vec![REASON.to_owned()],
    }
}
