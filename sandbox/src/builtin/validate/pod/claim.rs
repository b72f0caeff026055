use std::collections::BTreeSet;

use super::super::internal_form::internal_invalid;
use super::super::part::Part;
use crate::names;
use crate::schema::FieldError;

const TYPE: &str = "core.PodResourceClaim";

/// The claims of devices of a Pod.
pub(super) fn claims(spec: &Part, found: &mut Vec<FieldError>) {
    let mut known = BTreeSet::new();
    for claim in spec.items("resourceClaims") {
        let name = claim.get("name");
        match name.text() {
            "" => name.missing("", found),
            text if !known.insert(text) => name.duplicate(found),
            _ => name.name(names::dns_label, found),
        }
        let sources = ["resourceClaimName", "resourceClaimTemplateName"];
        let sources = sources.map(|source| claim.set(source));
        let given = sources.iter().flatten().count();
        if given == 2 {
            let detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
            found.push(internal_invalid(TYPE, &claim.path, claim.value, detail));
        }
        if given == 0 {
            let detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
            found.push(internal_invalid(TYPE, &claim.path, claim.value, detail));
        }
        for source in sources.iter().flatten() {
            source.name(names::dns_subdomain, found);
        }
    }
}
