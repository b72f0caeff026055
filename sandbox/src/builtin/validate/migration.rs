use serde_json::Value;

use super::conditions::conditions;
use super::internal_form::internal_invalid;
use super::part::Part;
use crate::names;
use crate::schema::FieldError;

/// A StorageVersionMigration.
pub(super) fn migration(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let spec = Part::new(object, "").get("spec");
    let resource = spec.get("resource");
    let (group, plural) = (resource.get("group"), resource.get("resource"));
    // A real server joins the reasons.
    let joined = |part: &Part, wrong: Vec<String>, found: &mut Vec<FieldError>| {
        if !wrong.is_empty() {
            part.invalid(wrong.join(","), found);
        }
    };
    match plural.text() {
        "" => plural.missing("resource is required to be set", found),
        name => joined(&plural, names::dns_1035_label(name), found),
    }
    if !group.text().is_empty() {
        joined(&group, names::dns_subdomain(group.text()), found);
    }
    if old.is_some_and(|old| Part::new(old, "").get("spec").value != spec.value) {
        let kind = "storagemigration.StorageVersionMigrationSpec";
        let detail = "field is immutable";
        found.push(internal_invalid(kind, &spec.path, spec.value, detail));
    }
}

/// The status of a StorageVersionMigration: a migration has one end, and keeps it.
pub(super) fn migration_status(status: &Part, old: &Part, found: &mut Vec<FieldError>) {
    let (version, was) = (status.get("resourceVersion"), old.get("resourceVersion"));
    let text = version.text();
    let has_digits_only = text.bytes().all(|byte| byte.is_ascii_digit());
    let has_leading_zero = text.len() > 1 && text.starts_with('0');
    if !has_digits_only || has_leading_zero {
        let detail = format!("resource version is not well formed: {text}");
        version.invalid(detail, found);
    }
    conditions(status, found);
    if !was.text().is_empty() && was.text() != text {
        version.invalid("field is immutable", found);
    }
    let all = status.get("conditions");
    let (succeeds, fails) = (holds(status, "Succeeded"), holds(status, "Failed"));
    if succeeds && fails {
        let detail = "Both success and failed conditions cannot be true at the same time";
        all.invalid(detail, found);
    }
    if holds(old, "Succeeded") && !succeeds {
        let detail = "Success condition cannot be set to false once it is true";
        all.invalid(detail, found);
    }
    if holds(old, "Failed") && !fails {
        let detail = "Failed condition cannot be set to false once it is true";
        all.invalid(detail, found);
    }
}

fn holds(status: &Part, kind: &str) -> bool {
    let mut conditions = status.items("conditions");
    conditions.any(|one| one.text_of("type") == kind && one.text_of("status") == "True")
}
