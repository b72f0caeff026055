use serde_json::{Value, json};

use super::cells::{NONE, age, items, labels, number, text, text_or};
use super::human_duration;
use super::printer::Printer;

pub(super) const QUOTAS: Printer = Printer {
    named: true,
    columns: &[
        ("Request", "string", 0),
        ("Limit", "string", 0),
        ("Age", "string", 0),
    ],
    cells: |object, now| {
        let hard = object.pointer("/status/hard").and_then(Value::as_object);
        let used = object.pointer("/status/used");
        let (mut requests, mut limits) = (Vec::new(), Vec::new());
        for (name, hard) in hard.into_iter().flatten() {
            let used = used.and_then(|used| used.get(name)?.as_str());
            let used = used.unwrap_or("0");
            let hard = hard.as_str().unwrap_or_default();
            let column = match name.starts_with("limits.") {
                true => &mut limits,
                false => &mut requests,
            };
            column.push(format!("{name}: {used}/{hard}"));
        }
        vec![
            requests.join(", ").into(),
            limits.join(", ").into(),
            age(object, now),
        ]
    },
};

pub(super) const PRIORITY_CLASSES: Printer = Printer {
    named: true,
    columns: &[
        ("Value", "integer", 0),
        ("Global-Default", "boolean", 0),
        ("Age", "string", 0),
        ("PreemptionPolicy", "string", 0),
    ],
    cells: |object, now| {
        let default = object.get("globalDefault") == Some(&Value::Bool(true));
        vec![
            number(object, "/value").into(),
            default.into(),
            age(object, now),
            text(object, "/preemptionPolicy").into(),
        ]
    },
};

pub(super) const RUNTIME_CLASSES: Printer = Printer {
    named: true,
    columns: &[("Handler", "string", 0), ("Age", "string", 0)],
    cells: |object, now| vec![text(object, "/handler").into(), age(object, now)],
};

pub(super) const FLOW_SCHEMAS: Printer = Printer {
    named: true,
    columns: &[
        ("PriorityLevel", "string", 0),
        ("MatchingPrecedence", "string", 0),
        ("DistinguisherMethod", "string", 0),
        ("Age", "string", 0),
        ("MissingPL", "string", 0),
    ],
    cells: |object, now| {
        let dangling = items(object, "/status/conditions")
            .iter()
            .find(|condition| condition["type"] == "Dangling");
        vec![
            text(object, "/spec/priorityLevelConfiguration/name").into(),
            number(object, "/spec/matchingPrecedence").into(),
            text_or(object, "/spec/distinguisherMethod/type", NONE).into(),
            age(object, now),
            dangling
                .map_or("?", |condition| text(condition, "/status"))
                .into(),
        ]
    },
};

pub(super) const PRIORITY_LEVELS: Printer = Printer {
    named: true,
    columns: &[
        ("Type", "string", 0),
        ("NominalConcurrencyShares", "string", 0),
        ("Queues", "string", 0),
        ("HandSize", "string", 0),
        ("QueueLengthLimit", "string", 0),
        ("Age", "string", 0),
    ],
    cells: |object, now| {
        let limited = |pointer: &str| {
            let found = object.pointer(&format!("/spec/limited/{pointer}"));
            found.cloned().unwrap_or_else(|| json!(NONE))
        };
        vec![
            text(object, "/spec/type").into(),
            limited("nominalConcurrencyShares"),
            limited("limitResponse/queuing/queues"),
            limited("limitResponse/queuing/handSize"),
            limited("limitResponse/queuing/queueLengthLimit"),
            age(object, now),
        ]
    },
};

pub(super) const CERTIFICATE_REQUESTS: Printer = Printer {
    named: true,
    columns: &[
        ("Age", "string", 0),
        ("SignerName", "string", 0),
        ("Requestor", "string", 0),
        ("RequestedDuration", "string", 0),
        ("Condition", "string", 0),
    ],
    cells: |object, now| {
        let seconds = object.pointer("/spec/expirationSeconds");
        let duration = seconds.and_then(Value::as_i64).map(human_duration);
        vec![
            age(object, now),
            text_or(object, "/spec/signerName", NONE).into(),
            text(object, "/spec/username").into(),
            duration.unwrap_or_else(|| NONE.into()).into(),
            request_state(object).into(),
        ]
    },
};

pub(super) const TRUST_BUNDLES: Printer = Printer {
    named: true,
    columns: &[("SignerName", "string", 0)],
    cells: |object, _| vec![text_or(object, "/spec/signerName", NONE).into()],
};

pub(super) const POD_CERTIFICATES: Printer = Printer {
    named: true,
    columns: &[
        ("PodName", "string", 0),
        ("ServiceAccountName", "string", 0),
        ("NodeName", "string", 0),
        ("SignerName", "string", 0),
        ("State", "string", 0),
        ("UnverifiedUserAnnotations", "string", 0),
    ],
    cells: |object, _| {
        let conditions = items(object, "/status/conditions").iter();
        let states = conditions.map(|condition| text(condition, "/type"));
        let mut known = states.filter(|state| ["Issued", "Denied", "Failed"].contains(state));
        vec![
            text(object, "/spec/podName").into(),
            text(object, "/spec/serviceAccountName").into(),
            text(object, "/spec/nodeName").into(),
            text(object, "/spec/signerName").into(),
            known.next_back().unwrap_or("Pending").into(),
            labels(object.pointer("/spec/unverifiedUserAnnotations")).into(),
        ]
    },
};

pub(super) const MIGRATIONS: Printer = Printer {
    named: true,
    columns: &[("Resource", "string", 0), ("Status", "string", 0)],
    cells: |object, _| {
        let resource = text(object, "/spec/resource/resource");
        let resource = match text(object, "/spec/resource/group") {
            "" => resource.to_owned(),
            group => format!("{resource}.{group}"),
        };
        let conditions = items(object, "/status/conditions").iter();
        let held = conditions.filter(|condition| text(condition, "/status") == "True");
        let states = held.map(|condition| text(condition, "/type"));
        let mut known = states.filter(|state| ["Running", "Succeeded", "Failed"].contains(state));
        vec![
            resource.into(),
            known.next_back().unwrap_or("Unknown").into(),
        ]
    },
};

pub(super) const DEFINITIONS: Printer = Printer {
    named: true,
    columns: &[
        ("Scope", "string", 0),
        ("Versions", "string", 0),
        ("Created At", "date", 0),
        ("Group", "string", 1),
        ("Kind", "string", 1),
        ("ShortNames", "string", 1),
        ("Established", "boolean", 1),
    ],
    cells: |object, _| {
        let served = items(object, "/spec/versions").iter();
        let served = served.filter(|version| version["served"] == true);
        let mut versions: Vec<String> = served
            .map(|version| {
                let stored = version["storage"] == true;
                let mark = if stored { "(storage)" } else { "" };
                format!("{}{mark}", text(version, "/name"))
            })
            .collect();
        versions.sort_unstable();
        let short = items(object, "/spec/names/shortNames").iter();
        let short: Vec<&str> = short.filter_map(Value::as_str).collect();
        let mut conditions = items(object, "/status/conditions").iter();
        let established = conditions
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
        vec![
            text(object, "/spec/scope").into(),
            versions.join(",").into(),
            text(object, "/metadata/creationTimestamp").into(),
            text(object, "/spec/group").into(),
            text(object, "/spec/names/kind").into(),
            short.join(",").into(),
            established.into(),
        ]
    },
};

fn request_state(request: &Value) -> String {
    let is = |kind: &str| {
        items(request, "/status/conditions")
            .iter()
            .any(|condition| condition["type"] == kind)
    };
    let mut state = match (is("Denied"), is("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    }
    .to_owned();
    if is("Failed") {
        state.push_str(",Failed");
    }
    if !text(request, "/status/certificate").is_empty() {
        state.push_str(",Issued");
    }
    state
}

pub(super) const API_SERVICES: Printer = Printer {
    named: true,
    columns: &[
        ("Service", "string", 0),
        ("Available", "string", 0),
        ("Age", "string", 0),
    ],
    cells: |object, now| {
        let service = object.pointer("/spec/service");
        let service = service.map_or("Local".into(), |service| {
            format!("{}/{}", text(service, "/namespace"), text(service, "/name"))
        });
        let available = items(object, "/status/conditions")
            .iter()
            .find(|condition| condition["type"] == "Available");
        let available = match available {
            None => "Unknown".into(),
            Some(condition) => match (text(condition, "/status"), text(condition, "/reason")) {
                ("True", _) => "True".into(),
                (status, reason) => format!("{status} ({reason})"),
            },
        };
        vec![service.into(), available.into(), age(object, now)]
    },
};
