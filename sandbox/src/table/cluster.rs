use jiff::Timestamp;
use serde_json::{Value, json};

use super::cells::{
    NONE, UNKNOWN, access_modes, age, count, items, joined, number, since, text, text_or, time,
};
use super::printer::Printer;

pub(super) const CONFIG_MAPS: Printer = Printer {
    named: true,
    columns: &[("Data", "string", 0), ("Age", "string", 0)],
    cells: |object, now| {
        let data = count(object, "/data") + count(object, "/binaryData");
        vec![json!(data), age(object, now)]
    },
};

pub(super) const SECRETS: Printer = Printer {
    named: true,
    columns: &[
        ("Type", "string", 0),
        ("Data", "string", 0),
        ("Age", "string", 0),
    ],
    cells: |object, now| {
        vec![
            text(object, "/type").into(),
            json!(count(object, "/data")),
            age(object, now),
        ]
    },
};

pub(super) const SERVICE_ACCOUNTS: Printer = Printer {
    named: true,
    columns: &[("Age", "string", 0)],
    cells: |object, now| vec![age(object, now)],
};

pub(super) const NAMESPACES: Printer = Printer {
    named: true,
    columns: &[("Status", "string", 0), ("Age", "string", 0)],
    cells: |object, now| vec![text(object, "/status/phase").into(), age(object, now)],
};

pub(super) const COMPONENTS: Printer = Printer {
    named: true,
    columns: &[
        ("Status", "string", 0),
        ("Message", "string", 0),
        ("Error", "string", 0),
    ],
    cells: |object, _| {
        let health = &object["conditions"][0];
        let status = match health["status"] == "True" {
            true => "Healthy",
            false => "Unhealthy",
        };
        let cell = |field: &str| health[field].as_str().unwrap_or_default().into();
        vec![status.into(), cell("message"), cell("error")]
    },
};

pub(super) const LEASES: Printer = Printer {
    named: true,
    columns: &[("Holder", "string", 0), ("Age", "string", 0)],
    cells: |object, now| {
        vec![
            text(object, "/spec/holderIdentity").into(),
            age(object, now),
        ]
    },
};

pub(super) const NODES: Printer = Printer {
    named: true,
    columns: &[
        ("Status", "string", 0),
        ("Roles", "string", 0),
        ("Age", "string", 0),
        ("Version", "string", 0),
        ("Internal-IP", "string", 1),
        ("External-IP", "string", 1),
        ("OS-Image", "string", 1),
        ("Kernel-Version", "string", 1),
        ("Container-Runtime", "string", 1),
    ],
    cells: |object, now| {
        let address = |kind: &str| {
            let found = items(object, "/status/addresses")
                .iter()
                .find(|address| address["type"] == kind);
            found.map_or(NONE, |address| text(address, "/address"))
        };
        let info = |name: &str, otherwise| {
            Value::from(text_or(
                object,
                &format!("/status/nodeInfo/{name}"),
                otherwise,
            ))
        };
        vec![
            node_status(object).into(),
            roles(object).into(),
            age(object, now),
            info("kubeletVersion", ""),
            address("InternalIP").into(),
            address("ExternalIP").into(),
            info("osImage", UNKNOWN),
            info("kernelVersion", UNKNOWN),
            info("containerRuntimeVersion", UNKNOWN),
        ]
    },
};

fn node_status(node: &Value) -> String {
    let ready = items(node, "/status/conditions")
        .iter()
        .find(|condition| condition["type"] == "Ready");
    let mut status = match ready.map(|condition| &condition["status"]) {
        None => "Unknown",
        Some(status) if status == "True" => "Ready",
        Some(_) => "NotReady",
    }
    .to_owned();
    if node.pointer("/spec/unschedulable") == Some(&Value::Bool(true)) {
        status.push_str(",SchedulingDisabled");
    }
    status
}

fn roles(node: &Value) -> String {
    let labels = node
        .pointer("/metadata/labels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let mut roles: Vec<String> = labels
        .filter_map(|(key, value)| match key.as_str() {
            "kubernetes.io/role" => value.as_str().map(str::to_owned),
            key => key
                .strip_prefix("node-role.kubernetes.io/")
                .map(str::to_owned),
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort();
    joined(roles)
}

pub(super) const CLAIMS: Printer = Printer {
    named: true,
    columns: &[
        ("Status", "string", 0),
        ("Volume", "string", 0),
        ("Capacity", "string", 0),
        ("Access Modes", "string", 0),
        ("StorageClass", "string", 0),
        ("VolumeAttributesClass", "string", 0),
        ("Age", "string", 0),
        ("VolumeMode", "string", 1),
    ],
    cells: |object, now| {
        let going = object.pointer("/metadata/deletionTimestamp").is_some();
        let phase = text(object, "/status/phase");
        let bound = !text(object, "/spec/volumeName").is_empty();
        let capacity = text(object, "/status/capacity/storage");
        let class = "/spec/volumeAttributesClassName";
        vec![
            if going { "Terminating" } else { phase }.into(),
            text(object, "/spec/volumeName").into(),
            if bound { capacity } else { "" }.into(),
            if bound {
                access_modes(object, "/status/accessModes")
            } else {
                String::new()
            }
            .into(),
            text(object, "/spec/storageClassName").into(),
            text_or(object, class, "<unset>").into(),
            age(object, now),
            text_or(object, "/spec/volumeMode", "<unset>").into(),
        ]
    },
};

const EVENT_COLUMNS: &[(&str, &str, i32)] = &[
    ("Last Seen", "string", 0),
    ("Type", "string", 0),
    ("Reason", "string", 0),
    ("Object", "string", 0),
    ("Subobject", "string", 1),
    ("Source", "string", 1),
    ("Message", "string", 0),
    ("First Seen", "string", 1),
    ("Count", "string", 1),
    ("Name", "string", 1),
];

pub(super) const EVENTS: Printer = Printer {
    named: false,
    columns: EVENT_COLUMNS,
    cells: event,
};

pub(super) const NEW_EVENTS: Printer = Printer {
    named: false,
    columns: EVENT_COLUMNS,
    cells: |object, now| event(&crate::builtin::event_to_core(object), now),
};

fn event(event: &Value, now: Timestamp) -> Vec<Value> {
    let happened = time(event, "/eventTime");
    let first = time(event, "/firstTimestamp").or(happened);
    let last = time(event, "/series/lastObservedTime")
        .or_else(|| time(event, "/lastTimestamp"))
        .or(first);
    let times = match number(event, "/series/count") {
        0 => number(event, "/count").max(1),
        series => series,
    };
    let kind = text(event, "/involvedObject/kind").to_lowercase();
    let target = match (kind.as_str(), text(event, "/involvedObject/name")) {
        (kind, "") => kind.to_owned(),
        (kind, name) => format!("{kind}/{name}"),
    };
    let component = text_or(
        event,
        "/source/component",
        text(event, "/reportingComponent"),
    );
    let source: Vec<&str> = [component, text(event, "/source/host")]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    vec![
        since(last, now).into(),
        text(event, "/type").into(),
        text(event, "/reason").into(),
        target.into(),
        text(event, "/involvedObject/fieldPath").into(),
        source.join(", ").into(),
        text(event, "/message").trim().into(),
        since(first, now).into(),
        json!(times),
        text(event, "/metadata/name").into(),
    ]
}
