//! The Events of the simulated controllers.

use serde_json::{Value, json};

use super::MANAGER;
use super::object::{fnv, number};
use crate::api::Handle;
use crate::meta;
use crate::registry::GroupResource;

pub(super) fn events() -> GroupResource {
    GroupResource::new("", "events")
}

/// What an Event says.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    /// The controller that says it.
    pub(super) component: &'a str,
    pub(super) warning: bool,
    pub(super) reason: &'a str,
}

/// Records an Event about an object. The same Event again counts as one.
pub(super) fn record(handle: &Handle, about: &Value, what: Message<'_>, message: &str) {
    write(handle, about, what, message, &Form::Counted(""));
}

/// Records an Event of the kubelet of a node about a container, or about the Pod if the path of the container is empty.
pub(super) fn record_on_node(
    handle: &Handle,
    pod: &Value,
    container: &str,
    what: Message<'_>,
    message: &str,
) {
    write(handle, pod, what, message, &Form::Counted(container));
}

/// Records an Event of a program that writes Events of `events.k8s.io`, as a scheduler does.
pub(super) fn record_action(
    handle: &Handle,
    about: &Value,
    what: Message<'_>,
    action: &str,
    message: &str,
) {
    write(handle, about, what, message, &Form::Action(action));
}

/// How an Event is written.
enum Form<'a> {
    /// With a count and two times, about a part of the object.
    Counted(&'a str),
    /// With the time, the action and, if it occurs again, a series.
    Action(&'a str),
}

fn write(handle: &Handle, about: &Value, what: Message<'_>, message: &str, form: &Form<'_>) {
    let clock = &handle.core().clock;
    let now = clock.timestamp();
    let exact = format!("{:.6}", clock.now());
    let namespace = match meta::text(about, "namespace") {
        "" => "default",
        namespace => namespace,
    };
    let kind = if what.warning { "Warning" } else { "Normal" };
    let uid = meta::uid(about);
    let Message {
        component, reason, ..
    } = what;
    let (Form::Counted(part) | Form::Action(part)) = form;
    let hash = fnv(&[uid, component, kind, reason, part, message].join("\n"));
    let name = format!("{}.{hash:016x}", meta::name(about));
    let mut event = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": {
            "apiVersion": about["apiVersion"],
            "kind": about["kind"],
            "namespace": about["metadata"]["namespace"],
            "name": meta::name(about),
            "uid": uid,
            "resourceVersion": meta::resource_version(about),
        },
        "reason": reason,
        "message": message,
        "type": kind,
        "reportingComponent": component,
    });
    match form {
        Form::Counted(part) => {
            event["source"] = json!({"component": component});
            event["firstTimestamp"] = json!(now);
            event["lastTimestamp"] = json!(now);
            event["count"] = json!(1);
            if component == KUBELET {
                let node = &about["spec"]["nodeName"];
                event["source"]["host"] = node.clone();
                event["reportingInstance"] = node.clone();
            }
            if !part.is_empty() {
                event["involvedObject"]["fieldPath"] = json!(part);
            }
        }
        Form::Action(action) => {
            event["eventTime"] = json!(exact);
            event["action"] = json!(action);
            event["reportingInstance"] = json!(format!("{component}-{MANAGER}"));
        }
    }
    let recorded = match handle.create(&events(), event) {
        Err(error) if error.code == 409 => {
            handle.update(&events(), Some(namespace), &name, "", |event| match form {
                Form::Counted(_) => {
                    event["count"] = json!(number(event, "/count") + 1);
                    event["lastTimestamp"] = json!(now);
                }
                Form::Action(_) => {
                    let count = number(event, "/series/count").max(1) + 1;
                    event["series"] = json!({"count": count, "lastObservedTime": exact});
                }
            })
        }
        created => created,
    };
    if let Err(error) = recorded {
        tracing::debug!(%namespace, %name, %error, "the simulator cannot record the Event");
    }
}

/// The name of the program that runs Pods on a node.
pub(super) const KUBELET: &str = "kubelet";
