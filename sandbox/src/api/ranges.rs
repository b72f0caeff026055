use std::net::Ipv4Addr;

use serde_json::Value;

use crate::core::Core;
use crate::meta;
use crate::registry::GroupResource;

/// The range of the addresses of Services that always exists.
pub(crate) const SERVICE_RANGE: &str = "10.96.0.0/12";

/// The objects of the ranges.
pub(crate) fn service_ranges() -> GroupResource {
    GroupResource::new("networking.k8s.io", "servicecidrs")
}

/// A range of addresses, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    first: u32,
    last: u32,
}

impl Range {
    /// Reads a text like `10.96.0.0/12`. Returns `None` for other families.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (first, bits) = text.split_once('/')?;
        let first = u32::from(first.parse::<Ipv4Addr>().ok()?);
        let bits: u32 = bits.parse().ok().filter(|bits| *bits <= u32::BITS)?;
        let last = first | u32::MAX.checked_shr(bits).unwrap_or(0);
        Some(Self { first, last })
    }

    /// The ranges of an object.
    pub(crate) fn of(object: &Value) -> impl Iterator<Item = Self> {
        let texts = object["spec"]["cidrs"].as_array();
        let texts = texts.into_iter().flatten().filter_map(Value::as_str);
        texts.filter_map(Self::parse)
    }

    /// Those of which Services get addresses, the one that always exists first.
    pub(super) fn ready(core: &Core) -> Vec<Self> {
        let mut ranges: Vec<Self> = Self::parse(SERVICE_RANGE).into_iter().collect();
        if let Some(Ok(listed)) = core.store.list(&service_ranges(), None, None, None) {
            let objects = listed.entries.iter().map(|entry| &entry.object);
            let ready = objects.filter(|object| is_ready(object) && !meta::is_deleting(object));
            ranges.extend(ready.flat_map(|object| Self::of(object)));
        }
        ranges
    }

    pub(crate) fn contains(&self, address: Ipv4Addr) -> bool {
        (self.first..=self.last).contains(&u32::from(address))
    }

    /// Whether an address is one of a host: the first and the last are not.
    pub(super) fn has_host(&self, address: Ipv4Addr) -> bool {
        let address = u32::from(address);
        self.first < address && address < self.last
    }

    /// The addresses of hosts, beginning somewhere.
    pub(super) fn hosts(self, start: u32) -> impl Iterator<Item = Ipv4Addr> {
        let count = u64::from(self.last - self.first) + 1;
        let all = (0..count).map(move |step| (u64::from(start) + step) % count);
        // Less than the last address.
        let all = all.map(move |offset| Ipv4Addr::from(self.first + offset as u32));
        all.filter(move |address| self.has_host(*address))
    }
}

fn is_ready(range: &Value) -> bool {
    let conditions = range["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| one["type"] == "Ready" && one["status"] == "True")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_hosts_between_its_first_and_its_last_address() {
        let range = Range::parse("10.0.0.8/30").unwrap();
        let hosts: Vec<String> = range.hosts(2).map(|host| host.to_string()).collect();
        assert_eq!(hosts, ["10.0.0.10", "10.0.0.9"]);
        assert!(range.contains([10, 0, 0, 11].into()) && !range.contains([10, 0, 0, 12].into()));
        let whole = Range::parse("0.0.0.0/0").unwrap();
        assert!(whole.contains([255, 255, 255, 255].into()));
        assert_eq!(Range::parse("10.0.0.1/32").unwrap().hosts(0).count(), 0);
        for text in ["fd00::/64", "10.0.0.0", "10.0.0.0/33", "x/8"] {
            assert_eq!(Range::parse(text), None, "{text}");
        }
    }
}
