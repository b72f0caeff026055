use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::Value;

use super::fields::{
    address, at, choice, fixed, immutable, indexed, list, name, network, port_number, protocol,
    required_name, supported, text,
};
use super::selector::label_selector;
use crate::names;
use crate::schema::FieldError;

/// The core kind Endpoints.
pub(super) fn endpoints(object: &Value, found: &mut Vec<FieldError>) {
    for (field, subset) in indexed(object, "/subsets", "subsets") {
        let ports = list(subset, "/ports");
        if list(subset, "/addresses").is_empty() && list(subset, "/notReadyAddresses").is_empty() {
            let detail = "must specify `addresses` or `notReadyAddresses`";
            found.push(FieldError::required(&field, detail));
        }
        for kind in ["addresses", "notReadyAddresses"] {
            let path = format!("{field}.{kind}");
            for (field, item) in indexed(subset, &format!("/{kind}"), &path) {
                endpoint_address(item, &field, found);
            }
        }
        for (field, port) in indexed(subset, "/ports", &format!("{field}.ports")) {
            let label = text(port, "/name");
            let field_name = format!("{field}.name");
            if label.is_empty() && ports.len() > 1 {
                found.push(FieldError::required(field_name, ""));
            } else if !label.is_empty() {
                name(label, &field_name, names::dns_label, found);
            }
            port_number(at(port, "/port"), &format!("{field}.port"), found);
            protocol(port, &field, found);
        }
    }
}

fn endpoint_address(item: &Value, field: &str, found: &mut Vec<FieldError>) {
    let field_ip = format!("{field}.ip");
    let value = text(item, "/ip");
    match address(value, &field_ip, found) {
        // A real server checks the address a second time.
        None => found.push(FieldError::invalid(
            &field_ip,
            value,
            "must be a valid IP address",
        )),
        Some(ip) => usable(ip, value, &field_ip, found),
    }
    let host = text(item, "/hostname");
    if !host.is_empty() {
        name(host, &format!("{field}.hostname"), names::dns_label, found);
    }
    let node = text(item, "/nodeName");
    if !node.is_empty() {
        name(
            node,
            &format!("{field}.nodeName"),
            names::dns_subdomain,
            found,
        );
    }
}

/// Refuses an address that no endpoint can have.
pub(super) fn usable(ip: IpAddr, value: &str, field: &str, found: &mut Vec<FieldError>) {
    let link_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    let link_local_multicast = match ip {
        IpAddr::V4(ip) => ip.octets()[..3] == [224, 0, 0],
        IpAddr::V6(ip) => ip.segments()[0] & 0xff0f == 0xff02,
    };
    for (is_wrong, detail) in [
        (
            ip.is_unspecified(),
            format!("may not be unspecified ({value})"),
        ),
        (
            ip.is_loopback(),
            "may not be in the loopback range (127.0.0.0/8, ::1/128)".into(),
        ),
        (
            link_local,
            "may not be in the link-local range (169.254.0.0/16, fe80::/10)".into(),
        ),
        (
            link_local_multicast,
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".into(),
        ),
    ] {
        if is_wrong {
            found.push(FieldError::invalid(field, value, detail));
        }
    }
}

/// `discovery.k8s.io`.
pub(super) fn endpoint_slice(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let kind = text(object, "/addressType");
    choice(kind, "addressType", &["FQDN", "IPv4", "IPv6"], found);
    let unchanged = old.is_some_and(|old| old.get("endpoints") == object.get("endpoints"));
    let endpoints = indexed(object, "/endpoints", "endpoints").filter(|_| !unchanged);
    for (field, endpoint) in endpoints {
        let path = format!("{field}.addresses");
        if list(endpoint, "/addresses").is_empty() {
            found.push(FieldError::required(&path, ""));
        }
        const MOST: usize = 100;
        let count = list(endpoint, "/addresses").len();
        if count > MOST {
            found.push(FieldError::too_many(&path, count, 100));
        }
        for (field, item) in indexed(endpoint, "/addresses", &path) {
            slice_address(
                kind,
                &path,
                item.as_str().unwrap_or_default(),
                &field,
                found,
            );
        }
        let host = text(endpoint, "/hostname");
        if !at(endpoint, "/hostname").is_null() {
            name(host, &format!("{field}.hostname"), names::dns_label, found);
        }
    }
    let mut labels = BTreeSet::new();
    for (field, port) in indexed(object, "/ports", "ports") {
        let label = text(port, "/name");
        if !label.is_empty() {
            name(label, &format!("{field}.name"), names::dns_label, found);
        }
        if !labels.insert(label) {
            found.push(FieldError::duplicate(format!("{field}.name"), label.into()));
        }
        protocol(port, &field, found);
        if let Some(protocol) = at(port, "/appProtocol").as_str() {
            let field = format!("{field}.appProtocol");
            name(protocol, &field, names::qualified_name, found);
        }
    }
    if let Some(old) = old {
        fixed(object, old, "/addressType", found);
    }
}

fn slice_address(kind: &str, list: &str, value: &str, field: &str, found: &mut Vec<FieldError>) {
    match kind {
        "IPv4" | "IPv6" => {
            let Some(ip) = address(value, field, found) else {
                return;
            };
            if ip.is_ipv4() != (kind == "IPv4") {
                // A real server reports this at the list.
                let detail = format!("must be an {kind} address");
                found.push(FieldError::invalid(list, value, detail));
            }
            usable(ip, value, field, found);
        }
        "FQDN" => name(value, field, names::dns_subdomain, found),
        _ => {}
    }
}

/// An Ingress.
pub(super) fn ingress(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let class = at(object, "/spec/ingressClassName");
    const CLASS: &str = "kubernetes.io/ingress.class";
    let annotation = at(object, "/metadata/annotations").get(CLASS);
    if let (Some(annotation), None, false) = (annotation, old, class.is_null())
        && annotation != class
    {
        let detail = "must match `ingressClassName` when both are specified";
        let field = format!("annotations.{CLASS}");
        found.push(FieldError::invalid(field, annotation.clone(), detail));
    }
    let rules = list(object, "/spec/rules");
    let default = at(object, "/spec/defaultBackend");
    if rules.is_empty() && default.is_null() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        found.push(FieldError::invalid("spec", Value::Null, detail));
    }
    if !default.is_null() {
        backend(default, "spec.defaultBackend", found);
    }
    for (field, rule) in indexed(object, "/spec/rules", "spec.rules") {
        host(text(rule, "/host"), &format!("{field}.host"), found);
        if at(rule, "/http").is_null() {
            continue;
        }
        let path = format!("{field}.http.paths");
        if list(rule, "/http/paths").is_empty() {
            found.push(FieldError::required(&path, ""));
        }
        for (field, path) in indexed(rule, "/http/paths", &path) {
            ingress_path(path, &field, found);
        }
    }
    for (field, tls) in indexed(object, "/spec/tls", "spec.tls") {
        for (field, host) in indexed(tls, "/hosts", &format!("{field}.hosts")) {
            let host = host.as_str().unwrap_or_default();
            dns_name(host, &field, found);
        }
        let secret = text(tls, "/secretName");
        if !secret.is_empty() {
            let field = format!("{field}.secretName");
            name(secret, &field, names::dns_subdomain, found);
        }
    }
    if let Some(class) = class.as_str() {
        name(class, "spec.ingressClassName", names::dns_subdomain, found);
    }
}

fn host(host: &str, field: &str, found: &mut Vec<FieldError>) {
    if host.parse::<IpAddr>().is_ok() {
        let detail = "must be a DNS name, not an IP address";
        found.push(FieldError::invalid(field, host, detail));
    } else if !host.is_empty() {
        dns_name(host, field, found);
    }
}

/// The status of an Ingress.
pub(super) fn ingress_status(object: &Value, found: &mut Vec<FieldError>) {
    let (pointer, path) = (
        "/status/loadBalancer/ingress",
        "status.loadBalancer.ingress",
    );
    for (field, item) in indexed(object, pointer, path) {
        let (ip, domain) = (text(item, "/ip"), text(item, "/hostname"));
        if !ip.is_empty() {
            address(ip, &format!("{field}.ip"), found);
        }
        if !domain.is_empty() {
            let field = format!("{field}.hostname");
            name(domain, &field, names::dns_subdomain, found);
            if domain.parse::<IpAddr>().is_ok() {
                let detail = "must be a DNS name, not an IP address";
                found.push(FieldError::invalid(field, domain, detail));
            }
        }
    }
}

/// A name of a host, or of all hosts below a domain.
fn dns_name(host: &str, field: &str, found: &mut Vec<FieldError>) {
    if !host.contains('*') {
        return name(host, field, names::dns_subdomain, found);
    }
    let domain = host.strip_prefix("*.");
    if domain.is_none_or(|domain| !names::dns_subdomain(domain).is_empty()) {
        const DETAIL: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must \
                              consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character \
                              (e.g. '*.example.com', regex used for validation is \
                              '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
        found.push(FieldError::invalid(field, host, DETAIL));
    }
}

fn ingress_path(path: &Value, field: &str, found: &mut Vec<FieldError>) {
    let (kind, value) = (text(path, "/pathType"), text(path, "/path"));
    let invalid = |detail: String, found: &mut Vec<FieldError>| {
        found.push(FieldError::invalid(format!("{field}.path"), value, detail));
    };
    let type_field = format!("{field}.pathType");
    match kind {
        "" => found.push(FieldError::required(
            type_field,
            "pathType must be specified",
        )),
        "Exact" | "Prefix" if !value.starts_with('/') => {
            invalid("must be an absolute path".into(), found);
        }
        "Exact" | "Prefix" => {
            for part in ["//", "/./", "/../", "%2f", "%2F"] {
                if value.contains(part) {
                    invalid(format!("must not contain '{part}'"), found);
                }
            }
            for end in ["/..", "/."] {
                if value.ends_with(end) {
                    invalid(format!("cannot end with '{end}'"), found);
                }
            }
        }
        "ImplementationSpecific" => {
            if !value.is_empty() && !value.starts_with('/') {
                invalid("must be an absolute path".into(), found);
            }
        }
        _ => supported(
            kind,
            &type_field,
            &["Exact", "ImplementationSpecific", "Prefix"],
            found,
        ),
    }
    backend(at(path, "/backend"), &format!("{field}.backend"), found);
}

fn backend(backend: &Value, field: &str, found: &mut Vec<FieldError>) {
    let service = at(backend, "/service");
    match (at(backend, "/resource").is_null(), service.is_null()) {
        (false, false) => {
            let detail = "cannot set both resource and service backends";
            found.push(FieldError::invalid(field, "", detail));
        }
        (true, true) => {
            let detail = "resource or service backend is required";
            found.push(FieldError::invalid(field, "", detail));
        }
        (false, true) => {
            let resource = at(backend, "/resource");
            for part in ["kind", "name"] {
                let value = text(resource, &format!("/{part}"));
                let field = format!("{field}.resource.{part}");
                required_name(value, &field, names::path_segment, found);
            }
        }
        (true, false) => {
            let field_name = format!("{field}.service.name");
            let service_name = text(service, "/name");
            required_name(service_name, &field_name, names::dns_label, found);
            let (label, number) = (text(service, "/port/name"), at(service, "/port/number"));
            let has_number = number.as_i64().is_some_and(|number| number != 0);
            if !label.is_empty() && has_number {
                let detail = "cannot set both port name & port number";
                found.push(FieldError::invalid(field, "", detail));
            } else if !label.is_empty() {
                name(
                    label,
                    &format!("{field}.service.port.name"),
                    port_name,
                    found,
                );
            } else if has_number {
                port_number(number, &format!("{field}.service.port.number"), found);
            } else {
                let detail = "port name or number is required";
                found.push(FieldError::required(field, detail));
            }
        }
    }
}

/// The errors in the name of a port of a container.
pub(super) fn port_name(name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.len() > 15 {
        wrong.push("must be no more than 15 characters".to_owned());
    }
    if !name.bytes().all(allowed) {
        wrong.push(
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned(),
        );
    }
    if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        wrong.push("must contain at least one letter (a-z)".to_owned());
    }
    if name.contains("--") {
        wrong.push("must not contain consecutive hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        wrong.push("must not begin or end with a hyphen".to_owned());
    }
    wrong
}

/// An IngressClass.
pub(super) fn ingress_class(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let controller = text(object, "/spec/controller");
    // Checked on create only: it cannot change later.
    if let Some(old) = old {
        immutable(object, old, "/spec/controller", found);
    } else if controller.is_empty() {
        found.push(FieldError::required("spec.controller", ""));
    } else if controller.len() > 250 {
        found.push(FieldError::too_long("spec.controller", 250));
    } else if !is_domain_path(controller) {
        let detail = r#"must be a domain-prefixed path (such as "acme.io/foo")"#;
        found.push(FieldError::invalid("spec.controller", controller, detail));
    }
    let parameters = at(object, "/spec/parameters");
    if parameters.is_null() {
        return;
    }
    for part in ["kind", "name"] {
        let value = text(parameters, &format!("/{part}"));
        let field = format!("spec.parameters.{part}");
        required_name(value, &field, names::path_segment, found);
    }
    let (scope, namespace) = (text(parameters, "/scope"), text(parameters, "/namespace"));
    let field = "spec.parameters.namespace";
    supported(
        scope,
        "spec.parameters.scope",
        &["Cluster", "Namespace"],
        found,
    );
    match (scope, namespace) {
        ("Namespace", "") => found.push(FieldError::required(
            field,
            "`parameters.scope` is set to 'Namespace'",
        )),
        ("Namespace", namespace) => name(namespace, field, names::dns_label, found),
        ("Cluster", namespace) if !namespace.is_empty() => found.push(FieldError::forbidden(
            field,
            "`parameters.scope` is set to 'Cluster'",
        )),
        _ => {}
    }
}

/// Whether a text is a domain with a path: `example.com/a`.
pub(super) fn is_domain_path(text: &str) -> bool {
    text.split_once('/').is_some_and(|(domain, path)| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@/%".contains(c);
        names::dns_subdomain(domain).is_empty() && !path.is_empty() && path.chars().all(allowed)
    })
}

/// A NetworkPolicy.
pub(super) fn network_policy(object: &Value, found: &mut Vec<FieldError>) {
    label_selector(at(object, "/spec/podSelector"), "spec.podSelector", found);
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        let path = format!("spec.{direction}");
        for (field, rule) in indexed(object, &format!("/spec/{direction}"), &path) {
            for (field, port) in indexed(rule, "/ports", &format!("{field}.ports")) {
                policy_port(port, &field, found);
            }
            let path = format!("{field}.{peers}");
            for (field, peer) in indexed(rule, &format!("/{peers}"), &path) {
                policy_peer(peer, &field, found);
            }
        }
    }
    let types = list(object, "/spec/policyTypes");
    if types.len() > 2 {
        let detail = "may not specify more than two policyTypes";
        found.push(FieldError::invalid("spec.policyTypes", types, detail));
        return;
    }
    for (field, kind) in indexed(object, "/spec/policyTypes", "spec.policyTypes") {
        let kind = kind.as_str().unwrap_or_default();
        supported(kind, &field, &["Ingress", "Egress"], found);
    }
}

fn policy_port(port: &Value, field: &str, found: &mut Vec<FieldError>) {
    let kind = text(port, "/protocol");
    let protocol_field = format!("{field}.protocol");
    supported(kind, &protocol_field, &["TCP", "UDP", "SCTP"], found);
    let (number, end) = (at(port, "/port"), at(port, "/endPort"));
    let (port_field, end_field) = (format!("{field}.port"), format!("{field}.endPort"));
    let invalid_end = |detail: &str| FieldError::invalid(&end_field, end.clone(), detail);
    match number {
        Value::Null if !end.is_null() => {
            found.push(invalid_end(
                "may not be specified when `port` is not specified",
            ));
        }
        Value::Number(number) => {
            port_number(&number.clone().into(), &port_field, found);
            if let Some(last) = end.as_i64() {
                if number.as_i64().is_some_and(|number| last < number) {
                    found.push(invalid_end("must be greater than or equal to `port`"));
                }
                port_number(end, &end_field, found);
            }
        }
        Value::String(label) => {
            if !end.is_null() {
                found.push(invalid_end(
                    "may not be specified when `port` is non-numeric",
                ));
            }
            name(label, &port_field, port_name, found);
        }
        _ => {}
    }
}

fn policy_peer(peer: &Value, field: &str, found: &mut Vec<FieldError>) {
    let mut selectors = 0;
    for kind in ["podSelector", "namespaceSelector"] {
        let selector = at(peer, &format!("/{kind}")).clone();
        if !selector.is_null() {
            selectors += 1;
            label_selector(&selector, &format!("{field}.{kind}"), found);
        }
    }
    let block = at(peer, "/ipBlock");
    if !block.is_null() {
        ip_block(block, &format!("{field}.ipBlock"), found);
        if selectors > 0 {
            let detail = "may not specify both ipBlock and another peer";
            found.push(FieldError::forbidden(field, detail));
        }
    } else if selectors == 0 {
        found.push(FieldError::required(field, "must specify a peer"));
    }
}

fn ip_block(block: &Value, field: &str, found: &mut Vec<FieldError>) {
    let cidr_field = format!("{field}.cidr");
    let cidr = text(block, "/cidr");
    if cidr.is_empty() {
        return found.push(FieldError::required(cidr_field, ""));
    }
    let Some(whole) = network(cidr, &cidr_field, found) else {
        return;
    };
    for (field, part) in indexed(block, "/except", &format!("{field}.except")) {
        let value = part.as_str().unwrap_or_default();
        if let Some(part) = network(value, &field, found)
            && !whole.contains_part(&part)
        {
            let detail = "must be a strict subset of `cidr`";
            found.push(FieldError::invalid(field, value, detail));
        }
    }
}
