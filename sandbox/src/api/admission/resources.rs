use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::go::Quantity;

/// Quantities of resources such as `cpu`, by name.
pub(crate) type ResourceList = BTreeMap<String, Quantity>;

/// The valid quantities of a field.
pub(super) fn read(field: &Value) -> ResourceList {
    let all = field.as_object().into_iter().flatten();
    all.filter_map(|(name, quantity)| {
        let quantity = match quantity {
            Value::String(text) => Quantity::parse(text),
            other => Quantity::parse(&other.to_string()),
        };
        Some((name.clone(), quantity?))
    })
    .collect()
}

/// What the Pods of a node can have; `None` if the node does not say so.
pub(crate) fn node_resources(node: &Value) -> Option<ResourceList> {
    let field = node.pointer("/status/allocatable")?;
    Some(read(field))
}

/// What a Pod takes from its node.
pub(crate) fn occupied_by(pod: &Value) -> ResourceList {
    occupied(pod, Part::Requests)
}

pub(super) fn to_json(list: &ResourceList) -> Value {
    let all = list.iter();
    let fields: Map<String, Value> = all
        .map(|(name, quantity)| (name.clone(), quantity.to_string().into()))
        .collect();
    fields.into()
}

pub(super) fn add(list: &mut ResourceList, more: &ResourceList) {
    for (name, quantity) in more {
        let sum = list.get(name).map_or(*quantity, |old| old.plus(*quantity));
        list.insert(name.clone(), sum);
    }
}

fn raise(list: &mut ResourceList, least: &ResourceList) {
    for (name, quantity) in least {
        if list.get(name).is_none_or(|known| known < quantity) {
            list.insert(name.clone(), *quantity);
        }
    }
}

/// What a container asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Requests,
    Limits,
}

impl Part {
    pub(super) fn of(self, container: &Value) -> ResourceList {
        read(&container["resources"][self.field()])
    }

    fn field(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Limits => "limits",
        }
    }
}

/// What a Pod asks for according to its specification, without the overhead of its runtime class.
pub(super) fn asked(pod: &Value, part: Part) -> ResourceList {
    total(pod, part, |container| part.of(container))
}

/// What a Pod occupies: what it asks for or what its containers still have, whichever is more, and the overhead.
pub(super) fn occupied(pod: &Value, part: Part) -> ResourceList {
    let mut all = total(pod, part, |container| effective(pod, container, part));
    let overhead = read(&pod["spec"]["overhead"]);
    match part {
        Part::Requests => add(&mut all, &overhead),
        Part::Limits => {
            for (name, more) in overhead {
                if let Some(limit) = all.get_mut(&name).filter(|limit| !limit.is_zero()) {
                    *limit = limit.plus(more);
                }
            }
        }
    }
    all
}

/// Containers run at once; init containers run before them, one after the other, except that those which restart run on.
fn total(pod: &Value, part: Part, of: impl Fn(&Value) -> ResourceList) -> ResourceList {
    let mut all = ResourceList::new();
    for container in list(pod, "/spec/containers") {
        add(&mut all, &of(container));
    }
    let (mut restarting, mut most) = (ResourceList::new(), ResourceList::new());
    for container in list(pod, "/spec/initContainers") {
        let own = of(container);
        if container["restartPolicy"] == "Always" {
            add(&mut all, &own);
            add(&mut restarting, &own);
            raise(&mut most, &restarting);
        } else {
            let mut now = own;
            add(&mut now, &restarting);
            raise(&mut most, &now);
        }
    }
    raise(&mut all, &most);
    // What the Pod as a whole asks for replaces what its containers ask for.
    for (name, quantity) in part.of(&pod["spec"]) {
        if OF_POD.contains(&name.as_str()) {
            all.insert(name, quantity);
        }
    }
    all
}

/// The resources that a Pod as a whole can ask for.
const OF_POD: [&str; 2] = ["cpu", "memory"];

/// Whether a Pod as a whole asks for something.
pub(super) fn has_own(pod: &Value) -> bool {
    [Part::Requests, Part::Limits].iter().any(|part| {
        let own = part.of(&pod["spec"]);
        OF_POD.iter().any(|name| own.contains_key(*name))
    })
}

/// What a container asks for, or has as long as a change is not in effect.
fn effective(pod: &Value, container: &Value, part: Part) -> ResourceList {
    let asked = part.of(container);
    let statuses = match container["restartPolicy"] == "Always" {
        true => "/status/initContainerStatuses",
        false => "/status/containerStatuses",
    };
    let mut statuses = list(pod, statuses);
    let status = statuses.find(|status| status["name"] == container["name"]);
    let Some(status) = status.filter(|status| status["resources"].is_object()) else {
        return asked;
    };
    let mut all = part.of(status);
    if part == Part::Requests {
        raise(&mut all, &read(&status["allocatedResources"]));
    }
    let refused = |one: &Value| one["type"] == "PodResizePending" && one["reason"] == "Infeasible";
    if !list(pod, "/status/conditions").any(refused) {
        raise(&mut all, &asked);
    }
    all
}

pub(super) fn list<'a>(
    object: &'a Value,
    pointer: &str,
) -> impl Iterator<Item = &'a Value> + use<'a> {
    let list = object.pointer(pointer).and_then(Value::as_array);
    list.into_iter().flatten()
}
