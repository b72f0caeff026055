use serde_json::Value;

use super::cells::{NONE, age, count, items, name_of_class, selector, text, text_or};
use super::printer::Printer;

/// How many addresses, ports or hosts one cell shows.
const SHOWN: usize = 3;

pub(super) const ENDPOINTS: Printer = Printer {
    named: true,
    columns: &[("Endpoints", "string", 0), ("Age", "string", 0)],
    cells: |object, now| vec![endpoints(object).into(), age(object, now)],
};

fn endpoints(object: &Value) -> String {
    let mut all = Vec::new();
    let subsets = items(object, "/subsets");
    for subset in subsets {
        let addresses = items(subset, "/addresses").iter();
        let addresses: Vec<&str> = addresses.map(|address| text(address, "/ip")).collect();
        let ports = items(subset, "/ports");
        if ports.is_empty() {
            all.extend(addresses.iter().map(ToString::to_string));
        }
        for port in ports {
            let port = port.get("port").cloned().unwrap_or_default();
            all.extend(addresses.iter().map(|address| match address.contains(':') {
                true => format!("[{address}]:{port}"),
                false => format!("{address}:{port}"),
            }));
        }
    }
    if subsets.is_empty() {
        return NONE.into();
    }
    first(&all)
}

/// The first of some texts, and how many there are more.
fn first(all: &[String]) -> String {
    match all.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => {
            let shown = all.get(..SHOWN).unwrap_or_default();
            format!("{} + {more} more...", shown.join(","))
        }
        _ => all.join(","),
    }
}

pub(super) const ENDPOINT_SLICES: Printer = Printer {
    named: true,
    columns: &[
        ("AddressType", "string", 0),
        ("Ports", "string", 0),
        ("Endpoints", "string", 0),
        ("Age", "string", 0),
    ],
    cells: |object, now| {
        let ports: Vec<String> = items(object, "/ports").iter().map(port).collect();
        let endpoints = items(object, "/endpoints").iter();
        let addresses: Vec<String> = endpoints
            .flat_map(|endpoint| items(endpoint, "/addresses"))
            .filter_map(|address| address.as_str().map(String::from))
            .collect();
        let cell = |all: &[String]| match first(all).as_str() {
            "" => "<unset>".into(),
            shown => Value::from(shown),
        };
        vec![
            text(object, "/addressType").into(),
            cell(&ports),
            cell(&addresses),
            age(object, now),
        ]
    },
};

fn port(port: &Value) -> String {
    match (port.get("port"), port.get("name")) {
        (Some(number), _) => number.to_string(),
        (None, Some(Value::String(name))) => name.clone(),
        (None, _) => "*".into(),
    }
}

pub(super) const INGRESSES: Printer = Printer {
    named: true,
    columns: &[
        ("Class", "string", 0),
        ("Hosts", "string", 0),
        ("Address", "string", 0),
        ("Ports", "string", 0),
        ("Age", "string", 0),
    ],
    cells: |object, now| {
        let ports = match count(object, "/spec/tls") {
            0 => "80",
            _ => "80, 443",
        };
        vec![
            text_or(object, "/spec/ingressClassName", NONE).into(),
            hosts(object).into(),
            addresses(object).into(),
            ports.into(),
            age(object, now),
        ]
    },
};

fn hosts(ingress: &Value) -> String {
    let rules = items(ingress, "/spec/rules");
    let shown: Vec<&str> = rules
        .iter()
        .map(|rule| text(rule, "/host"))
        .filter(|host| !host.is_empty())
        .take(SHOWN)
        .collect();
    if shown.is_empty() {
        return "*".into();
    }
    // A real server counts the rules, also those without a host.
    match rules.len().checked_sub(SHOWN) {
        Some(more) if more > 0 && shown.len() == SHOWN => {
            format!("{} + {more} more...", shown.join(","))
        }
        _ => shown.join(","),
    }
}

fn addresses(ingress: &Value) -> String {
    let mut all: Vec<&str> = items(ingress, "/status/loadBalancer/ingress")
        .iter()
        .map(|one| text_or(one, "/ip", text(one, "/hostname")))
        .filter(|address| !address.is_empty())
        .collect();
    all.sort_unstable();
    all.dedup();
    all.join(",")
}

pub(super) const INGRESS_CLASSES: Printer = Printer {
    named: false,
    columns: &[
        ("Name", "string", 0),
        ("Controller", "string", 0),
        ("Parameters", "string", 0),
        ("Age", "string", 0),
    ],
    cells: |object, now| {
        let parameters = object.pointer("/spec/parameters");
        let parameters = parameters.map_or(NONE.into(), |parameters| {
            let group = match text(parameters, "/apiGroup") {
                "" => String::new(),
                group => format!(".{group}"),
            };
            let (kind, name) = (text(parameters, "/kind"), text(parameters, "/name"));
            format!("{kind}{group}/{name}")
        });
        let default = ["ingressclass.kubernetes.io/is-default-class"];
        vec![
            name_of_class(object, &default).into(),
            text(object, "/spec/controller").into(),
            parameters.into(),
            age(object, now),
        ]
    },
};

pub(super) const NETWORK_POLICIES: Printer = Printer {
    named: true,
    columns: &[("Pod-Selector", "string", 0), ("Age", "string", 0)],
    cells: |object, now| {
        let pods = object.pointer("/spec/podSelector");
        vec![selector(pods).into(), age(object, now)]
    },
};

pub(super) const ADDRESSES: Printer = Printer {
    named: true,
    columns: &[("ParentRef", "string", 0)],
    cells: |object, _| vec![parent(object).into()],
};

fn parent(address: &Value) -> String {
    let Some(parent) = address.pointer("/spec/parentRef") else {
        return NONE.into();
    };
    let of = |name: &str| text(parent, name);
    let mut shown = of("/resource").to_owned();
    if !of("/group").is_empty() {
        shown.push('.');
        shown.push_str(of("/group"));
    }
    shown = shown.to_lowercase();
    for part in ["/namespace", "/name"] {
        if part == "/name" || !of(part).is_empty() {
            shown.push('/');
            shown.push_str(of(part));
        }
    }
    shown
}

pub(super) const RANGES: Printer = Printer {
    named: true,
    columns: &[("CIDRs", "string", 0), ("Age", "string", 0)],
    cells: |object, now| {
        let ranges: Vec<&str> = items(object, "/spec/cidrs")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        vec![ranges.join(",").into(), age(object, now)]
    },
};
