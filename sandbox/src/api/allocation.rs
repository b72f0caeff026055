//! The addresses and ports of nodes that the server gives to Services: each belongs to one Service.
//!
//! The addresses are those of the ranges that are ready, and the ports are 30000 to 32767. Which of them a Service gets depends on its namespace and
//! name, and on what others have.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use serde_json::{Map, Value, json};

use super::ranges::Range;
use super::{Target, families};
use crate::builtin::{has_health_check, has_node_ports};
use crate::core::Core;
use crate::error::{ApiError, Cause};
use crate::meta;
use crate::registry::GroupResource;

/// The ports: the first one and their number.
const PORTS: (i64, i64) = (30_000, 2768);

/// How many of them, from the first, are given last if nobody asks for them (KEP-3668).
const ASKED_PORTS: i64 = 86;

/// The label of the IPAddresses that the server keeps for Services, and its value.
pub(crate) const MANAGED_ADDRESS: (&str, &str) =
    ("ipaddress.kubernetes.io/managed-by", "ipallocator.k8s.io");

/// The objects of addresses.
pub(crate) fn addresses() -> GroupResource {
    GroupResource::new("networking.k8s.io", "ipaddresses")
}

/// What a Service can have for itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Allocated {
    Address(String),
    Port(i64),
}

/// What a write gives to a Service. Nobody else gets it until this is dropped: after that the stored Service has it.
pub(super) struct Allocation<'a> {
    core: &'a Core,
    given: Vec<Allocated>,
}

impl<'a> Allocation<'a> {
    pub(super) fn none(core: &'a Core) -> Self {
        Self {
            core,
            given: Vec::new(),
        }
    }
}

impl Drop for Allocation<'_> {
    fn drop(&mut self) {
        let mut pending = self.core.allocated.lock();
        for one in &self.given {
            pending.remove(one);
        }
    }
}

/// Gives a new Service, or a change of `old`, the addresses and ports that it lacks.
///
/// # Errors
/// 422 if it asks for one that another Service has, or that no Service can have.
pub(super) fn allocate<'a>(
    core: &'a Core,
    target: &Target,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<Allocation<'a>, ApiError> {
    let mut allocation = Allocation::none(core);
    let services = GroupResource::new("", "services");
    if target.storage() != services {
        return Ok(allocation);
    }
    let name = meta::name(object).to_owned();
    families::complete(object, old)
        .map_err(|causes| ApiError::invalid(&target.kind, &name, causes))?;
    let seed = format!("{}/{name}", meta::text(object, "namespace"));
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(allocation);
    };
    let mut pending = core.allocated.lock();
    let mut used = pending.clone();
    if let Some(Ok(listed)) = core.store.list(&services, None, None, None) {
        for entry in listed.entries {
            used.extend(of_service(&entry.object["spec"]));
        }
    }
    if let Some(Ok(listed)) = core.store.list(&addresses(), None, None, None) {
        // Those of Services follow the Services a moment later.
        let is_of_service = |parent: &Value| {
            parent["resource"] == "services"
                && parent["group"].as_str().unwrap_or_default().is_empty()
        };
        let taken = listed.entries.iter();
        let taken = taken.filter(|one| !is_of_service(&one.object["spec"]["parentRef"]));
        used.extend(taken.map(|one| Allocated::Address(meta::name(&one.object).to_owned())));
    }
    let mut pool = Pool {
        ranges: Range::ready(core),
        used,
        seed: hash(&seed),
        given: Vec::new(),
    };
    let old = old.and_then(|old| old["spec"].as_object());
    let result = address(spec, old, &mut pool).and_then(|()| ports(spec, old, &mut pool));
    result.map_err(|wrong| match wrong {
        Wrong::Field(cause) => ApiError::invalid(&target.kind, &name, vec![cause]),
        Wrong::Other(why) => ApiError::internal(why),
    })?;
    pending.extend(pool.given.iter().cloned());
    allocation.given = pool.given;
    Ok(allocation)
}

enum Wrong {
    Field(Cause),
    Other(String),
}

/// What a stored Service has.
fn of_service(spec: &Value) -> BTreeSet<Allocated> {
    let listed = spec["clusterIPs"].as_array().into_iter().flatten();
    let addresses = listed.chain([&spec["clusterIP"]]);
    let addresses = addresses
        .filter_map(Value::as_str)
        .filter(|one| *one != "None");
    let addresses = addresses.map(str::to_owned);
    let ports = spec["ports"].as_array().into_iter().flatten();
    let ports = ports.map(|port| &port["nodePort"]);
    let ports = ports.chain([&spec["healthCheckNodePort"]]);
    addresses
        .map(Allocated::Address)
        .chain(ports.filter_map(Value::as_i64).map(Allocated::Port))
        .collect()
}

/// What is left to give.
struct Pool {
    ranges: Vec<Range>,
    used: BTreeSet<Allocated>,
    seed: u32,
    given: Vec<Allocated>,
}

impl Pool {
    /// Returns whether nobody had it.
    fn take(&mut self, one: Allocated) -> bool {
        let is_free = self.used.insert(one.clone());
        if is_free {
            self.given.push(one);
        }
        is_free
    }

    fn next_address(&mut self) -> Option<String> {
        let [high, middle, low, fold] = self.seed.to_be_bytes();
        let start = u32::from_be_bytes([0, high & 15, middle, (low ^ fold).clamp(1, 254)]);
        let ranges = self.ranges.clone().into_iter();
        let hosts = ranges.flat_map(|range| range.hosts(start));
        let mut all = hosts.map(|host| host.to_string());
        all.find(|address| self.take(Allocated::Address(address.clone())))
    }

    fn next_port(&mut self) -> Result<i64, Wrong> {
        let (first, count) = PORTS;
        let (middle, count) = (first + ASKED_PORTS, count - ASKED_PORTS);
        let start = i64::from(self.seed) % count;
        let chosen = (0..count).map(|step| middle + (start + step) % count);
        let found = chosen
            .chain(first..middle)
            .find(|port| self.take(Allocated::Port(*port)));
        found.ok_or_else(|| Wrong::Other("failed to allocate a nodePort: range is full".to_owned()))
    }

    /// Takes a port that a Service asks for.
    fn take_port(&mut self, port: i64) -> Result<(), String> {
        let (first, count) = PORTS;
        if !(first..first + count).contains(&port) {
            let last = first + count - 1;
            return Err(format!(
                "provided port is not in the valid range. The range of valid ports is {first}-{last}"
            ));
        }
        match self.take(Allocated::Port(port)) {
            true => Ok(()),
            false => Err("provided port is already allocated".to_owned()),
        }
    }
}

type Spec = Map<String, Value>;

fn text<'a>(spec: &'a Spec, field: &str) -> &'a str {
    spec.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Gives a Service its address in the cluster.
fn address(spec: &mut Spec, old: Option<&Spec>, pool: &mut Pool) -> Result<(), Wrong> {
    if text(spec, "type") == "ExternalName" {
        return Ok(());
    }
    let wanted = text(spec, "clusterIP").to_owned();
    let has_address = old.is_some_and(|old| text(old, "type") != "ExternalName");
    if wanted.is_empty() {
        let address = pool.next_address().ok_or_else(|| {
            Wrong::Other("failed to allocate a serviceIP: range is full".to_owned())
        })?;
        spec.insert("clusterIPs".into(), json!([address]));
        spec.insert("clusterIP".into(), address.into());
    } else if wanted != "None" && !has_address {
        let host = wanted.parse::<Ipv4Addr>();
        let is_host = |host| pool.ranges.iter().any(|range| range.has_host(host));
        let why = match host {
            Ok(host) if is_host(host) => match pool.take(Allocated::Address(wanted.clone())) {
                true => None,
                false => Some("provided IP is already allocated"),
            },
            _ => Some("the provided network does not match the current range"),
        };
        if let Some(why) = why {
            let detail = format!("failed to allocate IP {wanted}: {why}");
            let cause = Cause::invalid("spec.clusterIPs", &json!([wanted]), &detail);
            return Err(Wrong::Field(cause));
        }
    }
    Ok(())
}

/// Gives a Service ports of the nodes.
fn ports(spec: &mut Spec, old: Option<&Spec>, pool: &mut Pool) -> Result<(), Wrong> {
    let gives = has_node_ports(spec);
    let is_exposed = matches!(text(spec, "type"), "NodePort" | "LoadBalancer");
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    if let Some(ports) = ports.filter(|_| is_exposed) {
        match old {
            None => new_ports(ports, gives, pool)?,
            Some(old) => changed_ports(ports, node_ports(old), gives, pool)?,
        }
    }
    if has_health_check(spec) && !old.is_some_and(has_health_check) {
        match spec.get("healthCheckNodePort").and_then(Value::as_i64) {
            Some(port) => pool.take_port(port).map_err(|why| {
                Wrong::Other(format!(
                    "failed to allocate requested HealthCheck NodePort {port}: {why}"
                ))
            })?,
            None => {
                let port = pool.next_port()?;
                spec.insert("healthCheckNodePort".into(), port.into());
            }
        }
    }
    Ok(())
}

/// A number in a port of a Service; 0 if it is not set.
fn number(port: &Value, field: &str) -> i64 {
    port[field].as_i64().unwrap_or_default()
}

fn node_ports(spec: &Spec) -> BTreeSet<i64> {
    let ports = spec.get("ports").and_then(Value::as_array);
    let all = ports.into_iter().flatten();
    all.map(|port| number(port, "nodePort")).collect()
}

/// A new Service has one port of the nodes for each port, whatever the protocol.
fn new_ports(ports: &mut [Value], gives: bool, pool: &mut Pool) -> Result<(), Wrong> {
    let mut of_port: BTreeMap<i64, i64> = BTreeMap::new();
    for index in 0..ports.len() {
        let (port, asked) = (
            number(&ports[index], "port"),
            number(&ports[index], "nodePort"),
        );
        if asked == 0 && !gives {
            continue;
        }
        let node_port = match of_port.get(&port) {
            Some(known) if asked == 0 || asked == *known => *known,
            Some(_) => take_port(asked, index, pool)?,
            None => {
                let mut same = ports.iter().filter(|one| number(one, "port") == port);
                let asked = same.find_map(|one| one["nodePort"].as_i64());
                let given = match asked {
                    Some(asked) => take_port(asked, index, pool)?,
                    None => pool.next_port()?,
                };
                of_port.insert(port, given);
                given
            }
        };
        ports[index]["nodePort"] = node_port.into();
    }
    Ok(())
}

/// `own` are the ports of the nodes that the Service has already.
fn changed_ports(
    ports: &mut [Value],
    mut own: BTreeSet<i64>,
    gives: bool,
    pool: &mut Pool,
) -> Result<(), Wrong> {
    for (index, port) in ports.iter_mut().enumerate() {
        match number(port, "nodePort") {
            0 if !gives => {}
            0 => port["nodePort"] = pool.next_port()?.into(),
            asked if own.contains(&asked) => {}
            asked => {
                own.insert(take_port(asked, index, pool)?);
            }
        }
    }
    Ok(())
}

fn take_port(asked: i64, index: usize, pool: &mut Pool) -> Result<i64, Wrong> {
    match pool.take_port(asked) {
        Ok(()) => Ok(asked),
        Err(why) => {
            let field = format!("spec.ports[{index}].nodePort");
            Err(Wrong::Field(Cause::invalid(field, &asked.into(), &why)))
        }
    }
}

/// A hash of a text (FNV-1a).
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash: u32, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sandbox;
    use crate::api::Handle;

    fn services() -> GroupResource {
        GroupResource::new("", "services")
    }

    fn create(handle: &Handle, name: &str, spec: Value) -> Result<Value, String> {
        let service = json!({"metadata": {"name": name, "namespace": "default"}, "spec": spec});
        let created = handle.create(&services(), service);
        created.map_err(|error| error.message)
    }

    #[tokio::test]
    async fn no_two_services_have_an_address_or_a_port() {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        let spec = json!({"type": "NodePort", "ports": [{"port": 80}, {"name": "b", "port": 81}]});
        let mut known = BTreeSet::new();
        for index in 0..300 {
            let mut spec = spec.clone();
            spec["ports"][0]["name"] = "a".into();
            let created = create(&handle, &format!("s-{index}"), spec).unwrap();
            for one in of_service(&created["spec"]) {
                assert!(known.insert(one.clone()), "{one:?} is given twice");
            }
        }
        assert_eq!(known.len(), 900);
    }

    #[tokio::test]
    async fn a_service_does_not_get_what_another_has() {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        let spec = |address: &str, port: i64| json!({"type": "NodePort", "clusterIP": address, "ports": [{"port": 80, "nodePort": port}]});
        create(&handle, "one", spec("10.96.7.7", 30_007)).unwrap();
        for (spec, why) in [
            (
                spec("10.96.7.7", 30_008),
                "provided IP is already allocated",
            ),
            (
                spec("10.96.7.8", 30_007),
                "provided port is already allocated",
            ),
            (
                spec("192.0.2.1", 30_008),
                "the provided network does not match",
            ),
            (spec("10.96.7.8", 80), "not in the valid range"),
            (
                json!({"clusterIPs": ["10.96.7.7"], "ports": [{"port": 80}]}),
                "must be empty when `clusterIP` is not specified",
            ),
            (
                json!({"clusterIP": "10.96.7.8", "clusterIPs": ["10.96.7.7"], "ports": [{"port": 80}]}),
                "first value must match `clusterIP`",
            ),
        ] {
            let refused = create(&handle, "two", spec).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        // A refused write keeps nothing, and neither does a deleted Service.
        create(&handle, "two", spec("10.96.7.8", 30_008)).unwrap();
        let options = crate::api::DeleteOptions::default();
        let deleted = handle.delete(&services(), Some("default"), "one", &options);
        deleted.unwrap();
        create(&handle, "three", spec("10.96.7.7", 30_007)).unwrap();
    }

    #[tokio::test]
    async fn a_service_of_another_type_gives_its_ports_and_its_address_back() {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        let spec = json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]});
        let created = create(&handle, "one", spec).unwrap();
        assert!(created["spec"]["ports"][0]["nodePort"].is_i64());
        assert!(created["spec"]["healthCheckNodePort"].is_i64());
        let other = handle.update(&services(), Some("default"), "one", "", |service| {
            service["spec"]["healthCheckNodePort"] = 80.into();
        });
        let refused = other.unwrap_err().message;
        assert!(refused.contains("healthCheckNodePort"), "{refused}");
        let change = |spec: Value| {
            let changed = handle.update(&services(), Some("default"), "one", "", |service| {
                for (field, value) in spec.as_object().unwrap() {
                    service["spec"][field] = value.clone();
                }
            });
            changed.unwrap()["spec"].clone()
        };
        let spec = change(json!({"type": "ClusterIP"}));
        assert!(spec["ports"][0]["nodePort"].is_null() && spec["healthCheckNodePort"].is_null());
        assert_eq!(spec["clusterIP"], created["spec"]["clusterIP"]);
        let spec = change(json!({"type": "ExternalName", "externalName": "example.com"}));
        assert_eq!(of_service(&spec), BTreeSet::new());
    }
}
