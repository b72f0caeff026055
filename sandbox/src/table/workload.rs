use serde_json::{Value, json};

use super::cells::{NONE, age, containers, items, labels, number, selector, text};
use super::printer::Printer;

pub(super) const DEPLOYMENTS: Printer = Printer {
    named: true,
    columns: &[
        ("Ready", "string", 0),
        ("Up-to-date", "string", 0),
        ("Available", "string", 0),
        ("Age", "string", 0),
        ("Containers", "string", 1),
        ("Images", "string", 1),
        ("Selector", "string", 1),
    ],
    cells: |object, now| {
        let [names, images] = containers(object.pointer("/spec/template/spec"));
        vec![
            ready(object),
            number(object, "/status/updatedReplicas").into(),
            number(object, "/status/availableReplicas").into(),
            age(object, now),
            names,
            images,
            selector(object.pointer("/spec/selector")).into(),
        ]
    },
};

pub(super) const REPLICA_SETS: Printer = Printer {
    named: true,
    columns: &[
        ("Desired", "integer", 0),
        ("Current", "integer", 0),
        ("Ready", "integer", 0),
        ("Age", "string", 0),
        ("Containers", "string", 1),
        ("Images", "string", 1),
        ("Selector", "string", 1),
    ],
    cells: |object, now| {
        let [names, images] = containers(object.pointer("/spec/template/spec"));
        vec![
            number(object, "/spec/replicas").into(),
            number(object, "/status/replicas").into(),
            number(object, "/status/readyReplicas").into(),
            age(object, now),
            names,
            images,
            selector(object.pointer("/spec/selector")).into(),
        ]
    },
};

pub(super) const REPLICATION_CONTROLLERS: Printer = Printer {
    cells: |object, now| {
        let mut cells = (REPLICA_SETS.cells)(object, now);
        if let Some(selector) = cells.last_mut() {
            *selector = labels(object.pointer("/spec/selector")).into();
        }
        cells
    },
    ..REPLICA_SETS
};

pub(super) const DISRUPTION_BUDGETS: Printer = Printer {
    named: true,
    columns: &[
        ("Min Available", "string", 0),
        ("Max Unavailable", "string", 0),
        ("Allowed Disruptions", "integer", 0),
        ("Age", "string", 0),
    ],
    cells: |object, now| {
        let limit = |pointer: &str| match object.pointer(pointer) {
            Some(Value::String(share)) => share.clone(),
            Some(Value::Number(count)) => count.to_string(),
            _ => "N/A".to_owned(),
        };
        vec![
            limit("/spec/minAvailable").into(),
            limit("/spec/maxUnavailable").into(),
            number(object, "/status/disruptionsAllowed").into(),
            age(object, now),
        ]
    },
};

pub(super) const STATEFUL_SETS: Printer = Printer {
    named: true,
    columns: &[
        ("Ready", "string", 0),
        ("Age", "string", 0),
        ("Containers", "string", 1),
        ("Images", "string", 1),
    ],
    cells: |object, now| {
        let [names, images] = containers(object.pointer("/spec/template/spec"));
        vec![ready(object), age(object, now), names, images]
    },
};

pub(super) const DAEMON_SETS: Printer = Printer {
    named: true,
    columns: &[
        ("Desired", "integer", 0),
        ("Current", "integer", 0),
        ("Ready", "integer", 0),
        ("Up-to-date", "integer", 0),
        ("Available", "integer", 0),
        ("Node Selector", "string", 0),
        ("Age", "string", 0),
        ("Containers", "string", 1),
        ("Images", "string", 1),
        ("Selector", "string", 1),
    ],
    cells: |object, now| {
        let [names, images] = containers(object.pointer("/spec/template/spec"));
        vec![
            number(object, "/status/desiredNumberScheduled").into(),
            number(object, "/status/currentNumberScheduled").into(),
            number(object, "/status/numberReady").into(),
            number(object, "/status/updatedNumberScheduled").into(),
            number(object, "/status/numberAvailable").into(),
            labels(object.pointer("/spec/template/spec/nodeSelector")).into(),
            age(object, now),
            names,
            images,
            selector(object.pointer("/spec/selector")).into(),
        ]
    },
};

pub(super) const REVISIONS: Printer = Printer {
    named: true,
    columns: &[
        ("Controller", "string", 0),
        ("Revision", "string", 0),
        ("Age", "date", 0),
    ],
    cells: |object, now| {
        let owner = items(object, "/metadata/ownerReferences")
            .iter()
            .find(|owner| owner["controller"] == true);
        let owner = owner.map_or_else(
            || NONE.to_owned(),
            |owner| {
                let group = text(owner, "/apiVersion").split_once('/');
                let group = group.map_or_else(String::new, |(group, _)| format!(".{group}"));
                let kind = text(owner, "/kind").to_lowercase();
                format!("{kind}{group}/{}", text(owner, "/name"))
            },
        );
        vec![
            owner.into(),
            number(object, "/revision").into(),
            age(object, now),
        ]
    },
};

pub(super) const POD_TEMPLATES: Printer = Printer {
    named: true,
    columns: &[
        ("Containers", "string", 0),
        ("Images", "string", 0),
        ("Pod Labels", "string", 0),
    ],
    cells: |object, _| {
        let [names, images] = containers(object.pointer("/template/spec"));
        let labels = labels(object.pointer("/template/metadata/labels"));
        vec![names, images, labels.into()]
    },
};

fn ready(object: &Value) -> Value {
    let (ready, wanted) = (
        number(object, "/status/readyReplicas"),
        number(object, "/spec/replicas"),
    );
    json!(format!("{ready}/{wanted}"))
}

pub(super) const SCALES: Printer = Printer {
    named: true,
    columns: &[
        ("Desired", "integer", 0),
        ("Available", "integer", 0),
        ("Age", "string", 0),
    ],
    cells: |scale, now| {
        vec![
            number(scale, "/spec/replicas").into(),
            number(scale, "/status/replicas").into(),
            age(scale, now),
        ]
    },
};
