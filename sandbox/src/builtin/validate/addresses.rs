use serde_json::{Value, json};

use super::fields::{
    Network, address, at, fixed, immutable, indexed, list, name, network, required_name, text,
};
use crate::names;
use crate::schema::FieldError;

/// An IPAddress. Its name is the address.
pub(super) fn ip_address(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let parent = at(object, "/spec/parentRef");
    if parent.is_null() {
        found.push(FieldError::required("spec.parentRef", ""));
    } else {
        for part in ["resource", "name"] {
            let value = text(parent, &format!("/{part}"));
            let field = format!("spec.parentRef.{part}");
            required_name(value, &field, names::path_segment, found);
        }
        for part in ["group", "namespace"] {
            let value = text(parent, &format!("/{part}"));
            let field = format!("spec.parentRef.{part}");
            if !value.is_empty() && part == "group" {
                name(value, &field, names::dns_subdomain, found);
            } else if !value.is_empty() {
                name(value, &field, names::path_segment, found);
            }
        }
    }
    if let Some(old) = old {
        fixed(object, old, "/spec/parentRef", found);
    }
}

/// The errors in the name of an IPAddress.
pub(crate) fn ip_address_name(name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let address = address(name, "", &mut found);
    if address.is_some_and(|address| address.to_string() != name) {
        return vec![format!(
            "must be in canonical form ({:?})",
            address
                .map(|address| address.to_string())
                .unwrap_or_default()
        )];
    }
    found.into_iter().map(|error| error.detail).collect()
}

/// A ServiceCIDR.
pub(super) fn service_range(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let ranges = list(object, "/spec/cidrs");
    let field = "spec.cidrs";
    if let Some(old) = old {
        // A second family may be added.
        let was = list(old, "/spec/cidrs");
        if was.len() == 1 && ranges.len() == 2 && ranges[0] == was[0] {
            let range = ranges[1].as_str().unwrap_or_default();
            let first = was[0].as_str().and_then(Network::parse);
            let second = network(range, "spec.cidrs[1]", found);
            let both = first.zip(second);
            if both.is_some_and(|(one, two)| one.address.is_ipv4() == two.address.is_ipv4()) {
                let detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/96";
                found.push(FieldError::invalid(field, ranges, detail));
            }
            return;
        }
        return immutable(object, old, "/spec/cidrs", found);
    }
    if ranges.is_empty() {
        return found.push(FieldError::required(field, "at least one CIDR required"));
    }
    if ranges.len() > 2 {
        // A real server shows its own type.
        let detail = "may only hold up to 2 values";
        return found.push(FieldError::invalid(field, json!({"CIDRs": ranges}), detail));
    }
    let networks: Vec<_> = indexed(object, "/spec/cidrs", field)
        .filter_map(|(field, range)| network(range.as_str().unwrap_or_default(), &field, found))
        .collect();
    if let [first, second] = networks.as_slice()
        && first.address.is_ipv4() == second.address.is_ipv4()
    {
        let detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        found.push(FieldError::invalid(field, ranges, detail));
    }
}
