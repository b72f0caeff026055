//! The canonical form of the subsets of Endpoints: each port stands once, and ports of the same addresses stand together.

use std::collections::BTreeMap;

use serde_json::Value;

/// Addresses with the ports that all of them have.
pub(super) struct Subset<'a> {
    pub(super) ports: Vec<&'a Value>,
    /// Each with whether it is ready. Sorted by IP address.
    pub(super) addresses: Vec<(&'a Value, bool)>,
}

/// What identifies an address: its IP address and the UID of its target.
type AddressKey<'a> = (&'a str, &'a str);
/// The addresses of a port, and whether they are ready.
type Ready<'a> = BTreeMap<AddressKey<'a>, bool>;

/// Returns the subsets of Endpoints in their canonical form. An address that is ready and not ready on a port counts as not ready.
pub(super) fn canonical(endpoints: &Value) -> Vec<Subset<'_>> {
    let mut known: BTreeMap<AddressKey<'_>, &Value> = BTreeMap::new();
    // A subset without ports has one that is `None`.
    let mut of_port: Vec<(Option<&Value>, Ready<'_>)> = Vec::new();
    for subset in list(&endpoints["subsets"]) {
        let mut ports: Vec<Option<&Value>> = list(&subset["ports"]).map(Some).collect();
        if ports.is_empty() {
            ports.push(None);
        }
        for port in ports {
            let at = of_port.iter().position(|(known, _)| *known == port);
            let at = at.unwrap_or_else(|| {
                of_port.push((port, Ready::new()));
                of_port.len() - 1
            });
            for (field, ready) in [("addresses", true), ("notReadyAddresses", false)] {
                for address in list(&subset[field]) {
                    let key = key(address);
                    known.entry(key).or_insert(address);
                    *of_port[at].1.entry(key).or_insert(ready) &= ready;
                }
            }
        }
    }
    let mut groups: Vec<(Vec<&Value>, Ready<'_>)> = Vec::new();
    for (port, ready) in of_port {
        if ready.is_empty() {
            continue;
        }
        match groups.iter_mut().find(|(_, known)| *known == ready) {
            Some((ports, _)) => ports.extend(port),
            None => groups.push((port.into_iter().collect(), ready)),
        }
    }
    let subset = |(ports, ready): (_, Ready<'_>)| {
        let addresses = ready.iter().map(|(key, ready)| (known[key], *ready));
        Subset {
            ports,
            addresses: addresses.collect(),
        }
    };
    groups.into_iter().map(subset).collect()
}

fn key(address: &Value) -> AddressKey<'_> {
    let uid = &address["targetRef"]["uid"];
    (
        address["ip"].as_str().unwrap_or_default(),
        uid.as_str().unwrap_or_default(),
    )
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
