use serde_json::{Map, Value, json};

use super::fields::{each, ensure, fill, object};
use super::pod::canonicalize;

/// The core kind LimitRange: a missing default of containers follows from their maximum, and a missing default request
/// from the default, then from their minimum.
pub(super) fn limit_range(fields: &mut Map<String, Value>) {
    let Some(spec) = object(fields, "spec") else {
        return;
    };
    each(spec, "limits", |limit| {
        for quantities in [
            "max",
            "min",
            "default",
            "defaultRequest",
            "maxLimitRequestRatio",
        ] {
            if let Some(quantities) = object(limit, quantities) {
                canonicalize(quantities);
            }
        }
        if limit.get("type").and_then(Value::as_str) == Some("Container") {
            for (to, from) in [
                ("default", "max"),
                ("defaultRequest", "default"),
                ("defaultRequest", "min"),
            ] {
                complete(limit, to, from);
            }
        }
    });
}

fn complete(limit: &mut Map<String, Value>, to: &str, from: &str) {
    let Some(Value::Object(source)) = limit.get(from).cloned() else {
        return;
    };
    if let Some(target) = ensure(limit, to) {
        for (name, quantity) in source {
            fill(target, &name, quantity);
        }
    }
}

/// The core kind ResourceQuota.
pub(super) fn quota(fields: &mut Map<String, Value>) {
    for (part, lists) in [("spec", &["hard"][..]), ("status", &["hard", "used"])] {
        let Some(part) = object(fields, part) else {
            continue;
        };
        for list in lists {
            if let Some(quantities) = object(part, list) {
                canonicalize(quantities);
            }
        }
    }
}

/// `flowcontrol.apiserver.k8s.io`.
pub(super) fn flow_control(kind: &str, fields: &mut Map<String, Value>) {
    let Some(spec) = ensure(fields, "spec") else {
        return;
    };
    if kind == "FlowSchema" {
        fill(spec, "matchingPrecedence", 1000);
        return;
    }
    if let Some(exempt) = object(spec, "exempt") {
        fill(exempt, "nominalConcurrencyShares", 0);
        fill(exempt, "lendablePercent", 0);
    }
    if let Some(limited) = object(spec, "limited") {
        fill(limited, "nominalConcurrencyShares", 30);
        fill(limited, "lendablePercent", 0);
        if let Some(queuing) =
            object(limited, "limitResponse").and_then(|response| object(response, "queuing"))
        {
            // Zero is no value.
            for (name, value) in [("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)] {
                if queuing.get(name).is_none_or(|given| *given == json!(0)) {
                    queuing.insert(name.into(), value.into());
                }
            }
        }
    }
}
