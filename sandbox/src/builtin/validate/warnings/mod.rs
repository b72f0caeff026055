//! What is valid but discouraged.
//!
//! | file | what it warns of |
//! | --- | --- |
//! | `pods.rs` | Pods and their templates |
//! | `others.rs` | Services, volumes, claims and the other kinds |

mod others;
mod pods;

use serde_json::Value;

use super::part::Part;
use crate::names;
use crate::registry::ServedKind;

/// The warnings about an object of a built-in kind that is created or replaces `old`.
pub(crate) fn warnings(kind: &ServedKind, object: &Value, old: Option<&Value>) -> Vec<String> {
    let part = Part::new(object, "");
    let mut found = Vec::new();
    // Nobody reads the warnings about a change of a Pod, so a real server sends none.
    let is_new = old.is_none();
    let is_changed = old.is_none_or(|old| old.get("spec") != object.get("spec"));
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") if is_new => {
            let used = "this is used in the Pod's hostname";
            name(&part, used, &mut found);
            pods::of_pod(&part, &mut found);
        }
        ("", "PodTemplate") => pods::of_template(&part.get("template"), &mut found),
        ("", "ReplicationController") | ("apps", "Deployment" | "ReplicaSet") => {
            if is_new {
                name(&part, POD_NAMES, &mut found);
            }
            if is_changed {
                pods::of_template(&part.get("spec").get("template"), &mut found);
            }
        }
        ("apps", "DaemonSet") if is_changed => {
            pods::of_template(&part.get("spec").get("template"), &mut found);
        }
        ("apps", "StatefulSet") => {
            let spec = part.get("spec");
            if is_changed {
                pods::of_template(&spec.get("template"), &mut found);
            }
            for claim in spec.items("volumeClaimTemplates") {
                others::of_claim(&claim.get("spec"), &mut found);
            }
            if spec
                .number_of("revisionHistoryLimit")
                .is_some_and(|limit| limit < 0)
            {
                let text = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended";
                found.push(text.to_owned());
            }
        }
        ("batch", "Job") => {
            if is_new {
                name(&part, POD_NAMES, &mut found);
            }
            if is_changed {
                of_job(&part.get("spec"), &mut found);
            }
        }
        ("batch", "CronJob") => {
            if is_new {
                name(&part, POD_NAMES, &mut found);
            }
            if is_changed {
                of_job(&part.get("spec").get("jobTemplate").get("spec"), &mut found);
            }
        }
        _ => others::of_kind(kind, &part, is_new, &mut found),
    }
    found
}

const POD_NAMES: &str = "this is used in Pod names and hostnames";

fn name(object: &Part, used: &str, found: &mut Vec<String>) {
    let wrong = names::dns_label(object.get("metadata").text_of("name"));
    if !wrong.is_empty() {
        found.push(format!(
            "metadata.name: {used}, which can result in surprising behavior; a DNS label is recommended: [{}]",
            wrong.join(" ")
        ));
    }
}

fn of_job(spec: &Part, found: &mut Vec<String>) {
    let number = |field: &str| spec.number_of(field).unwrap_or(0);
    if spec.text_of("completionMode") == "Indexed"
        && number("completions") > 100_000
        && number("parallelism") > 10_000
    {
        found.push(format!(
            "{}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be \
             able to track completedIndexes when a big number of indexes fail",
            spec.path
        ));
    }
    pods::of_template(&spec.get("template"), found);
}

/// Memory and disks have no parts of bytes.
fn fractional(quantity: &Part, found: &mut Vec<String>) {
    let number = crate::go::Quantity::parse(quantity.text());
    if number.is_some_and(|number| number.milli() % 1000 != 0) {
        found.push(format!(
            "{}: fractional byte value {:?} is invalid, must be an integer",
            quantity.path,
            quantity.text()
        ));
    }
}
