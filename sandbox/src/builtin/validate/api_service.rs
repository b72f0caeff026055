use serde_json::Value;

use super::admission::service_reference;
use super::fields::{at, name, text};
use crate::names;
use crate::schema::FieldError;

/// An APIService.
pub(super) fn api_service(object: &Value, found: &mut Vec<FieldError>) {
    let spec = at(object, "/spec");
    let (group, version) = (text(spec, "/group"), text(spec, "/version"));
    let (own, wanted) = (text(object, "/metadata/name"), format!("{version}.{group}"));
    if own != wanted {
        let detail = format!("must be `spec.version+\".\"+spec.group`: {wanted:?}");
        found.push(FieldError::invalid("metadata.name", own, detail));
    }
    // The core group has no name.
    if !group.is_empty() {
        name(group, "spec.group", names::dns_subdomain, found);
    }
    name(version, "spec.version", names::dns_1035_label, found);
    for (part, most) in [("groupPriorityMinimum", 20000), ("versionPriority", 1000)] {
        let number = at(spec, &format!("/{part}")).as_i64().unwrap_or_default();
        if !(1..=most).contains(&number) {
            let detail = format!("must be positive and less than {most}");
            let field = format!("spec.{part}");
            found.push(FieldError::invalid(field, number, detail));
        }
    }
    let (service, bundle) = (at(spec, "/service"), text(spec, "/caBundle"));
    let insecure = at(spec, "/insecureSkipTLSVerify") == true;
    let field = "spec.insecureSkipTLSVerify";
    if service.is_null() {
        if !bundle.is_empty() {
            let detail = "local APIServices may not have a caBundle";
            found.push(FieldError::invalid("spec.caBundle", bundle, detail));
        }
        if insecure {
            let detail = "local APIServices may not have insecureSkipTLSVerify";
            found.push(FieldError::invalid(field, true, detail));
        }
        return;
    }
    if insecure && !bundle.is_empty() {
        let detail = "may not be true if caBundle is present";
        found.push(FieldError::invalid(field, true, detail));
    }
    service_reference(service, "spec.service", found);
}
