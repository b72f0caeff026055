use std::cmp::Ordering;
use std::net::IpAddr;

use serde_json::Value;

use super::part::Part;
use crate::go::compare_quantities;
use crate::names;
use crate::schema::FieldError;

/// The value at a JSON pointer, or null.
pub(super) fn at<'a>(object: &'a Value, pointer: &str) -> &'a Value {
    object.pointer(pointer).unwrap_or(&Value::Null)
}

pub(super) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    at(object, pointer).as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    at(object, pointer).as_str().unwrap_or_default()
}

pub(super) fn map<'a>(
    object: &'a Value,
    pointer: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    at(object, pointer).as_object().into_iter().flatten()
}

/// Refuses a number below zero.
pub(super) fn not_negative(object: &Value, pointer: &str, found: &mut Vec<FieldError>) {
    let value = at(object, pointer);
    if value.as_i64().is_some_and(|number| number < 0) {
        found.push(FieldError::invalid(
            dotted(pointer),
            value.clone(),
            "must be greater than or equal to 0",
        ));
    }
}

/// Refuses a changed value.
pub(super) fn immutable(object: &Value, old: &Value, pointer: &str, found: &mut Vec<FieldError>) {
    let value = at(object, pointer);
    if value != at(old, pointer) {
        found.push(FieldError::invalid(
            dotted(pointer),
            value.clone(),
            "field is immutable",
        ));
    }
}

/// Refuses a changed value as [`immutable`] does, without the value.
pub(super) fn fixed(object: &Value, old: &Value, pointer: &str, found: &mut Vec<FieldError>) {
    if at(object, pointer) != at(old, pointer) {
        let field = dotted(pointer);
        found.push(FieldError::invalid(
            field,
            Value::Null,
            "field is immutable",
        ));
    }
}

/// `/spec/replicas` as `spec.replicas`.
pub(super) fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

/// Refuses an invalid port number at `field`.
pub(super) fn port_number(value: &Value, field: &str, found: &mut Vec<FieldError>) {
    if !value
        .as_i64()
        .is_some_and(|port| (1..=65535).contains(&port))
    {
        let detail = "must be between 1 and 65535, inclusive";
        found.push(FieldError::invalid(field, value.clone(), detail));
    }
}

/// Refuses an unknown protocol of a port.
pub(super) fn protocol(port: &Value, field: &str, found: &mut Vec<FieldError>) {
    const KNOWN: [&str; 3] = ["SCTP", "TCP", "UDP"];
    let protocol = text(port, "/protocol");
    if !protocol.is_empty() && !KNOWN.contains(&protocol) {
        let field = format!("{field}.protocol");
        found.push(FieldError::not_supported(field, protocol, KNOWN));
    }
}

/// Refuses an absent or unknown protocol of a container's port.
pub(super) fn protocol_of(protocol: &Part, found: &mut Vec<FieldError>) {
    protocol.choice(&["SCTP", "TCP", "UDP"], found);
}

/// The items of a list with their paths: `spec.rules[0]`. `path` is that of the list.
pub(super) fn indexed<'a>(
    object: &'a Value,
    pointer: &str,
    path: &str,
) -> impl Iterator<Item = (String, &'a Value)> {
    let items = list(object, pointer).iter().enumerate();
    items.map(move |(index, item)| (format!("{path}[{index}]"), item))
}

/// Refuses a text that is not one of `known`.
pub(super) fn supported(value: &str, field: &str, known: &[&str], found: &mut Vec<FieldError>) {
    if !known.contains(&value) {
        let known = known.iter().copied();
        found.push(FieldError::not_supported(field, value, known));
    }
}

/// Refuses an empty text, and one that is not one of `known`.
pub(super) fn choice(value: &str, field: &str, known: &[&str], found: &mut Vec<FieldError>) {
    match value {
        "" => found.push(FieldError::required(field, "")),
        value => supported(value, field, known, found),
    }
}

/// Refuses a name in which `errors` finds something.
pub(super) fn name(
    value: &str,
    field: &str,
    errors: impl Fn(&str) -> Vec<String>,
    found: &mut Vec<FieldError>,
) {
    for wrong in errors(value) {
        found.push(FieldError::invalid(field, value, wrong));
    }
}

/// Refuses an empty name, and one in which `errors` finds something.
pub(super) fn required_name(
    value: &str,
    field: &str,
    errors: impl Fn(&str) -> Vec<String>,
    found: &mut Vec<FieldError>,
) {
    match value {
        "" => found.push(FieldError::required(field, "")),
        value => name(value, field, errors, found),
    }
}

/// A DNS name, in which letters may be in upper case.
pub(super) fn any_case_name(value: &str, field: &str, most: usize, found: &mut Vec<FieldError>) {
    if value.is_empty() {
        return found.push(FieldError::required(field, ""));
    }
    if value.len() > most {
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        found.push(FieldError::too_long(field, most));
    }
    name(value, field, names::any_case_subdomain, found);
}

/// Refuses an absent or empty text.
pub(super) fn required(value: &str, field: &str, found: &mut Vec<FieldError>) {
    if value.is_empty() {
        found.push(FieldError::required(field, ""));
    }
}

/// Refuses a text that is not an IP address. Returns the address.
pub(super) fn address(value: &str, field: &str, found: &mut Vec<FieldError>) -> Option<IpAddr> {
    let address = value.parse().ok();
    if address.is_none() {
        let has_zeros = value
            .split('.')
            .all(|part| part.len() < 5 && part.bytes().all(|byte| byte.is_ascii_digit()))
            && value.split('.').count() == 4;
        let detail = match has_zeros {
            true => "must not have leading 0s",
            false => "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        };
        found.push(FieldError::invalid(field, value, detail));
    }
    address
}

/// An IP network.
pub(super) struct Network {
    pub(super) address: IpAddr,
    pub(super) prefix: u32,
}

impl Network {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let (address, prefix): (IpAddr, u32) = (address.parse().ok()?, prefix.parse().ok()?);
        (prefix <= Self::length(address)).then_some(Self { address, prefix })
    }

    fn length(address: IpAddr) -> u32 {
        if address.is_ipv4() { 32 } else { 128 }
    }

    /// The address as a number of 128 bits, whose first bits are the network.
    fn bits(address: IpAddr) -> u128 {
        match address {
            IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
            IpAddr::V6(address) => address.to_bits(),
        }
    }

    fn start(&self) -> u128 {
        let mask = u128::MAX.checked_shl(128 - self.prefix).unwrap_or(0);
        Self::bits(self.address) & mask
    }

    /// Whether the address has bits beyond the prefix.
    pub(super) fn has_host_bits(&self) -> bool {
        Self::bits(self.address) != self.start()
    }

    /// Whether `other` is a smaller part of this network.
    pub(super) fn contains_part(&self, other: &Self) -> bool {
        let mask = u128::MAX.checked_shl(128 - self.prefix).unwrap_or(0);
        self.address.is_ipv4() == other.address.is_ipv4()
            && self.prefix < other.prefix
            && Self::bits(other.address) & mask == self.start()
    }
}

/// Refuses a text that is not an IP network. Returns the network.
pub(super) fn network(value: &str, field: &str, found: &mut Vec<FieldError>) -> Option<Network> {
    let network = Network::parse(value);
    let detail = match &network {
        None => "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
        Some(network) if network.has_host_bits() => {
            "must not have bits set beyond the prefix length"
        }
        Some(_) => return network,
    };
    found.push(FieldError::invalid(field, value, detail));
    network
}

/// Refuses a quantity below zero.
pub(super) fn quantity_not_negative(value: &Value, field: &str, found: &mut Vec<FieldError>) {
    let below = |text: &str| compare_quantities(text, "0") == Some(Ordering::Less);
    if value.as_str().is_some_and(below) {
        let detail = "must be greater than or equal to 0";
        found.push(FieldError::invalid(field, value.clone(), detail));
    }
}
