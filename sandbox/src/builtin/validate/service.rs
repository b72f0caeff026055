use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::{Value, json};

use super::fields::{
    address, at, indexed, list, name, network, port_number, protocol, supported, text,
};
use super::internal_form::internal_text;
use super::network::{port_name, usable};
use super::part::Part;
use super::selector::labels_are_valid;
use crate::names;
use crate::schema::{FieldError, FieldErrorKind};

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];

const POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];

/// A Service that is created or replaces `old`.
pub(super) fn service(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    // A real server checks the addresses first, and says nothing else about a Service whose addresses are wrong.
    service_addresses(object, old, found);
    if !found.is_empty() {
        return;
    }
    if let Some(old) = old {
        change_of_addresses(object, old, found);
        let health = "/spec/healthCheckNodePort";
        let both = has_health_check(object) && has_health_check(old);
        if both && at(object, health) != at(old, health) {
            let detail = "field is immutable";
            found.push(FieldError::forbidden("spec.healthCheckNodePort", detail));
        }
    }
    let kind = text(object, "/spec/type");
    let spec = Part::new(object, "").get("spec");
    let headless = spec.text_of("clusterIP") == "None";
    if spec.list("ports").is_empty() && kind != "ExternalName" && !headless {
        spec.get("ports").missing("", found);
    }
    match kind {
        "LoadBalancer" | "NodePort" if headless => {
            let detail = format!("may not be set to 'None' for {kind} services");
            found.push(FieldError::invalid("spec.clusterIPs[0]", "None", detail));
        }
        "ExternalName" => external_name(object, found),
        _ => {}
    }
    ports(&spec, found);
    let selector = spec.get("selector");
    labels_are_valid(selector.value.as_object(), &selector.path, found);
    session(&spec, found);
    let known = old.map_or(&[][..], |old| list(old, "/spec/externalIPs"));
    for ip in spec.items("externalIPs") {
        if !known.contains(ip.value)
            && let Some(parsed) = address(ip.text(), &ip.path, found)
        {
            usable(parsed, ip.text(), &ip.path, found);
        }
    }
    spec.get("type").choice(&TYPES, found);
    distinct_ports(&spec, kind, found);
    source_ranges(&spec, kind, old, found);
    traffic(object, kind, found);
    let internal = spec.get("internalTrafficPolicy");
    internal.one_of_if_set(&["Cluster", "Local"], found);
    const DISTRIBUTIONS: &[&str] = &["PreferClose", "PreferSameZone", "PreferSameNode"];
    let distribution = spec.get("trafficDistribution");
    distribution.one_of_if_set(DISTRIBUTIONS, found);
}

/// Whether the calls of a client go to the same Pod.
fn session(spec: &Part, found: &mut Vec<FieldError>) {
    const LONGEST: i64 = 86_400;
    let (affinity, config) = (
        spec.get("sessionAffinity"),
        spec.get("sessionAffinityConfig"),
    );
    affinity.choice(&["ClientIP", "None"], found);
    match affinity.text() {
        "ClientIP" => {
            let client = config.get("clientIP");
            let timeout = client.get("timeoutSeconds");
            for part in [&config, &client, &timeout] {
                if !part.is_set() {
                    return part.missing("when session affinity type is ClientIP", found);
                }
            }
            if !timeout
                .number()
                .is_some_and(|time| (1..=LONGEST).contains(&time))
            {
                timeout.invalid("must be greater than 0 and less than 86400", found);
            }
        }
        "None" if config.is_set() => {
            config.forbidden("must not be set when session affinity is None", found);
        }
        _ => {}
    }
}

/// The addresses from which a load balancer takes connections. A real server misspells the field.
fn source_ranges(spec: &Part, kind: &str, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let ranges = spec.get("LoadBalancerSourceRanges").path;
    if spec.list("loadBalancerSourceRanges").is_empty() {
        return;
    }
    if kind != "LoadBalancer" {
        let detail = "may only be used when `type` is 'LoadBalancer'";
        found.push(FieldError::forbidden(&ranges, detail));
    }
    let known = old.map_or(&[][..], |old| list(old, "/spec/loadBalancerSourceRanges"));
    for (index, range) in spec.items("loadBalancerSourceRanges").enumerate() {
        if !known.contains(range.value) {
            network(range.text().trim(), &format!("{ranges}[{index}]"), found);
        }
    }
}

fn external_name(object: &Value, found: &mut Vec<FieldError>) {
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if !at(object, &format!("/spec/{field}")).is_null() {
            let detail = "may not be set for ExternalName services";
            found.push(FieldError::forbidden(format!("spec.{field}"), detail));
        }
    }
    let host = text(object, "/spec/externalName");
    match host.strip_suffix('.').unwrap_or(host) {
        "" => found.push(FieldError::required("spec.externalName", "")),
        host => name(host, "spec.externalName", names::dns_subdomain, found),
    }
}

fn ports(spec: &Part, found: &mut Vec<FieldError>) {
    let count = spec.list("ports").len();
    let mut known = BTreeSet::new();
    for port in spec.items("ports") {
        let name = port.get("name");
        match name.text() {
            "" if count > 1 => name.missing("", found),
            "" => {}
            label => {
                name.name(names::dns_label, found);
                if !known.insert(label) {
                    name.duplicate(found);
                }
            }
        }
        let number = port.get("port");
        port_number(number.value, &number.path, found);
        protocol(port.value, &port.path, found);
        let target = port.get("targetPort");
        match target.value.is_string() {
            true => target.name(port_name, found),
            false if target.is_set() => port_number(target.value, &target.path, found),
            false => {}
        }
        if let Some(protocol) = port.set("appProtocol") {
            protocol.name(names::qualified_name, found);
        }
    }
}

/// No two ports of a Service may be the same.
fn distinct_ports(spec: &Part, kind: &str, found: &mut Vec<FieldError>) {
    if kind == "ClusterIP" {
        for port in spec.items("ports").filter_map(|port| port.set("nodePort")) {
            port.forbidden("may not be used when `type` is 'ClusterIP'", found);
        }
    }
    let (mut of_node, mut own) = (BTreeSet::new(), BTreeSet::new());
    for port in spec.items("ports") {
        if let Some(number) = port.set("nodePort")
            && !of_node.insert((number.number(), port.text_of("protocol")))
        {
            number.duplicate(found);
        }
    }
    for port in spec.items("ports") {
        let (number, protocol) = (port.get("port"), port.text_of("protocol"));
        if !own.insert((number.number(), protocol)) {
            let same = json!({"port": number.value, "protocol": protocol});
            let shown = internal_text("core.ServicePort", &same);
            let kind = FieldErrorKind::Duplicate;
            found.push(FieldError::new(kind, &port.path, None, shown));
        }
    }
}

/// What only Services of some types have.
fn traffic(object: &Value, kind: &str, found: &mut Vec<FieldError>) {
    let balanced = kind == "LoadBalancer";
    for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
        if !balanced && !at(object, &format!("/spec/{field}")).is_null() {
            let detail = "may only be used when `type` is 'LoadBalancer'";
            found.push(FieldError::forbidden(format!("spec.{field}"), detail));
        }
    }
    if let Some(class) = Part::new(object, "").get("spec").set("loadBalancerClass")
        && balanced
    {
        class.name(names::qualified_name, found);
    }
    let exposed = matches!(kind, "LoadBalancer" | "NodePort")
        || kind == "ClusterIP" && !list(object, "/spec/externalIPs").is_empty();
    let (policy, field) = (
        text(object, "/spec/externalTrafficPolicy"),
        "spec.externalTrafficPolicy",
    );
    match (exposed, policy) {
        (true, "") => found.push(FieldError::required(field, "")),
        (true, policy) => supported(policy, field, &["Cluster", "Local"], found),
        (false, "") => {}
        (false, policy) => {
            let detail = "may only be set for externally-accessible services";
            found.push(FieldError::invalid(field, policy, detail));
        }
    }
    let (port, field) = (
        at(object, "/spec/healthCheckNodePort"),
        "spec.healthCheckNodePort",
    );
    match (has_health_check(object), port.as_i64().unwrap_or_default()) {
        // The server gives the Service one.
        (true, 0) => {}
        (true, _) => port_number(port, field, found),
        (false, 0) => {}
        (false, _) => {
            let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            found.push(FieldError::invalid(field, port.clone(), detail));
        }
    }
}

fn has_health_check(object: &Value) -> bool {
    text(object, "/spec/type") == "LoadBalancer"
        && text(object, "/spec/externalTrafficPolicy") == "Local"
}

/// The addresses of a Service and their families, as far as they can be judged without the cluster.
pub(crate) fn service_addresses(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    if text(object, "/spec/type") == "ExternalName" {
        return;
    }
    const FIELD: &str = "spec.clusterIPs";
    let (first, all) = (
        text(object, "/spec/clusterIP"),
        list(object, "/spec/clusterIPs"),
    );
    let about_all = |detail: &str| FieldError::invalid(FIELD, all.to_vec(), detail);
    match (first, all) {
        ("", []) => {}
        ("", _) => found.push(about_all("must be empty when `clusterIP` is not specified")),
        (_, []) => found.push(FieldError::required(FIELD, "")),
        (first, [one, ..]) if one != first => {
            found.push(about_all("first value must match `clusterIP`"));
        }
        _ => {}
    }
    let mut seen = BTreeSet::new();
    for (field, family) in indexed(object, "/spec/ipFamilies", "spec.ipFamilies") {
        let family = family.as_str().unwrap_or_default();
        supported(family, &field, &FAMILIES, found);
        if !seen.insert(family) {
            found.push(FieldError::duplicate(field, family.into()));
        }
    }
    let policy = text(object, "/spec/ipFamilyPolicy");
    if !policy.is_empty() {
        supported(policy, "spec.ipFamilyPolicy", &POLICIES, found);
    }
    let known = old.map_or(&[][..], |old| list(old, "/spec/clusterIPs"));
    let mut malformed = Vec::new();
    for (index, one) in all.iter().enumerate() {
        let value = one.as_str().unwrap_or_default();
        if index == 0 && value == "None" {
            if all.len() > 1 {
                malformed.push(about_all("'None' must be the first and only value"));
            }
        } else if !known.contains(one) {
            address(value, &format!("{FIELD}[{index}]"), &mut malformed);
        }
    }
    let is_malformed = !malformed.is_empty();
    found.append(&mut malformed);
    if all.len() > 2 {
        found.push(about_all("may only hold up to 2 values"));
    }
    if is_malformed {
        return;
    }
    let addresses = all.iter().filter_map(|one| one.as_str()?.parse().ok());
    let addresses: Vec<IpAddr> = addresses.collect();
    let kinds: BTreeSet<bool> = addresses.iter().map(IpAddr::is_ipv4).collect();
    if all.len() > 1 && kinds.len() < 2 {
        found.push(about_all(
            "may specify no more than one IP for each IP family",
        ));
    }
    let families = list(object, "/spec/ipFamilies").iter();
    for (index, (family, address)) in families.zip(&addresses).enumerate() {
        let family = family.as_str().unwrap_or_default();
        if FAMILIES.contains(&family) && address.is_ipv4() != (family == "IPv4") {
            let detail =
                format!("expected an {family} value as indicated by `ipFamilies[{index}]`");
            let field = format!("{FIELD}[{index}]");
            found.push(FieldError::invalid(field, all[index].clone(), detail));
        }
    }
}

/// A Service keeps its first address and its first family.
fn change_of_addresses(object: &Value, old: &Value, found: &mut Vec<FieldError>) {
    if [object, old]
        .iter()
        .any(|one| text(one, "/spec/type") == "ExternalName")
    {
        return;
    }
    let headless = |object: &Value| at(object, "/spec/clusterIPs") == &json!(["None"]);
    const DETAIL: &str = "may not change once set";
    let addresses = list(object, "/spec/clusterIPs");
    let of_old = list(old, "/spec/clusterIPs");
    if !(headless(object) && headless(old)) {
        for (index, (old, new)) in of_old.iter().zip(addresses).enumerate() {
            if old != new && (index == 0 || addresses.len() == of_old.len()) {
                let field = format!("spec.clusterIPs[{index}]");
                found.push(FieldError::invalid(field, addresses.to_vec(), DETAIL));
            }
        }
        if addresses.is_empty() && !of_old.is_empty() {
            let detail = "primary clusterIP can not be unset";
            let field = "spec.clusterIPs[0]";
            found.push(FieldError::invalid(field, addresses.to_vec(), detail));
        }
    }
    if headless(object) || headless(old) {
        return;
    }
    let families = list(object, "/spec/ipFamilies");
    for (old, new) in list(old, "/spec/ipFamilies").iter().zip(families) {
        if old != new {
            let field = "spec.ipFamilies[0]";
            found.push(FieldError::invalid(field, families.to_vec(), DETAIL));
        }
    }
}
