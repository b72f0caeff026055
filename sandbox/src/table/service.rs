use serde_json::Value;

use super::cells::{NONE, age, items, labels, number, text, text_or};
use super::printer::Printer;

pub(super) const SERVICES: Printer = Printer {
    named: true,
    columns: &[
        ("Type", "string", 0),
        ("Cluster-IP", "string", 0),
        ("External-IP", "string", 0),
        ("Port(s)", "string", 0),
        ("Age", "string", 0),
        ("Selector", "string", 1),
    ],
    cells: |object, now| {
        vec![
            text(object, "/spec/type").into(),
            text_or(object, "/spec/clusterIP", NONE).into(),
            external(object).into(),
            ports(object).into(),
            age(object, now),
            labels(object.pointer("/spec/selector")).into(),
        ]
    },
};

fn external(service: &Value) -> String {
    let mut addresses: Vec<&str> = items(service, "/status/loadBalancer/ingress")
        .iter()
        .map(|ingress| text_or(ingress, "/ip", text(ingress, "/hostname")))
        .collect();
    addresses.extend(
        items(service, "/spec/externalIPs")
            .iter()
            .filter_map(Value::as_str),
    );
    if !addresses.is_empty() {
        return addresses.join(",");
    }
    match text(service, "/spec/type") {
        "LoadBalancer" => "<pending>",
        "ExternalName" => text(service, "/spec/externalName"),
        _ => NONE,
    }
    .to_owned()
}

fn ports(service: &Value) -> String {
    let ports: Vec<String> = items(service, "/spec/ports")
        .iter()
        .map(|port| {
            let (inside, protocol) = (number(port, "/port"), text(port, "/protocol"));
            match number(port, "/nodePort") {
                0 => format!("{inside}/{protocol}"),
                outside => format!("{inside}:{outside}/{protocol}"),
            }
        })
        .collect();
    super::cells::joined(ports)
}
