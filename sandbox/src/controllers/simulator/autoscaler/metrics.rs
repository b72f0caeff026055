use std::sync::Arc;

use serde_json::{Value, json};

use super::usage::{self, ByPod, Used};
use crate::api::Handle;
use crate::controllers::simulator::object::{names_of, number, pods};
use crate::figures::Measured;
use crate::go::{Quantity, canonical_quantity};
use crate::meta;
use crate::store::selector::LabelSelector;

/// How far usage may be from its target.
const TOLERANCE: f64 = 0.1;

/// What an autoscaler scales.
pub(super) struct Scaled<'a> {
    pub(super) handle: &'a Handle,
    pub(super) namespace: &'a str,
    pub(super) pods: Vec<Arc<Value>>,
    /// The replicas that the target shall have, and those that it has.
    pub(super) wanted: i64,
    has: i64,
    /// How far the ratio of usage and target may be below and above 1.
    tolerances: (f64, f64),
}

impl<'a> Scaled<'a> {
    pub(super) fn new(
        handle: &'a Handle,
        autoscaler: &'a Value,
        scale: &Value,
        selector: &str,
    ) -> Result<Self, String> {
        let parsed = LabelSelector::parse(selector).map_err(|_| {
            format!(
                "couldn't convert selector into a corresponding internal selector object: {selector}"
            )
        })?;
        let namespace = meta::text(autoscaler, "namespace");
        let mut pods = handle.list(&pods(), Some(namespace));
        pods.retain(|pod| parsed.matches(pod));
        let tolerance = |direction: &str| {
            let given = autoscaler["spec"]["behavior"][direction]["tolerance"].as_str();
            let given = given.and_then(Quantity::parse);
            given.map_or(TOLERANCE, |given| given.milli() as f64 / 1000.0)
        };
        Ok(Self {
            handle,
            namespace,
            pods,
            wanted: number(scale, "/spec/replicas"),
            has: number(scale, "/status/replicas"),
            tolerances: (tolerance("scaleDown"), tolerance("scaleUp")),
        })
    }

    pub(super) fn tolerates(&self, ratio: f64) -> bool {
        1.0 - self.tolerances.0 <= ratio && ratio <= 1.0 + self.tolerances.1
    }

    /// The figures of the Pods, for what `is` selects of the workloads with these names.
    fn of_pods(&self, is: impl Fn(&Measured, &[String]) -> bool) -> ByPod {
        let figures = &self.handle.core().figures;
        let all = self.pods.iter().filter_map(|pod| {
            let names = names_of(self.handle, pod);
            let figure = figures.find(|measured| is(measured, &names))?;
            Some((meta::name(pod).to_owned(), figure))
        });
        all.collect()
    }

    /// The replicas that a ratio of usage and target asks for, counted from the Pods that are ready.
    fn by_ratio(&self, ratio: f64) -> Result<i64, String> {
        if self.wanted == 0 {
            return Ok(ceil(ratio));
        }
        if self.tolerates(ratio) {
            return Ok(self.wanted);
        }
        if self.pods.is_empty() {
            return Err("unable to calculate ready pods: no pods returned by selector while calculating replica count".into());
        }
        let ready = self.pods.iter().filter(|pod| usage::is_ready(pod));
        Ok(ceil(ratio * ready.count() as f64))
    }

    /// The replicas that a target for each replica asks for, and what each has.
    fn by_share(&self, value: i128, target: i128) -> (i64, i128) {
        let share = value as f64 / target as f64;
        let ratio = share / self.has as f64;
        let replicas = match self.tolerates(ratio) {
            true => self.has,
            false => ceil(share),
        };
        let each = (value as f64 / self.has as f64).ceil();
        (replicas, each as i128)
    }
}

pub(super) fn ceil(number: f64) -> i64 {
    // The cast saturates.
    i64::from(number.ceil() as i32)
}

/// What a metric asks for.
pub(super) struct Asked {
    pub(super) replicas: i64,
    /// The metric, for people.
    pub(super) name: String,
    /// Its entry in the status.
    pub(super) status: Value,
}

/// Why a metric asks for nothing.
pub(super) struct Failure {
    pub(super) reason: &'static str,
    /// The text of the Event and of the condition.
    pub(super) cause: String,
    /// The text with the metric.
    pub(super) message: String,
}

/// How many replicas a metric asks for.
pub(super) fn ask(scaled: &Scaled<'_>, spec: &Value) -> Result<Asked, Failure> {
    let text = |pointer: &str| {
        let text = spec.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let kind = text("/type");
    let (reason, found, about) = match &*kind {
        "Resource" => {
            let name = text("/resource/name");
            let found = resource(scaled, &spec["resource"], &kind);
            ("FailedGetResourceMetric", found, format!("{name} resource"))
        }
        "ContainerResource" => {
            let container = text("/containerResource/container");
            let found = resource(scaled, &spec["containerResource"], &kind);
            let about = format!("{container} container");
            ("FailedGetContainerResourceMetric", found, about)
        }
        "Pods" => (
            "FailedGetPodsMetric",
            of_pods(scaled, &spec["pods"]),
            "pods".into(),
        ),
        "Object" => {
            let found = object(scaled, &spec["object"]);
            ("FailedGetObjectMetric", found, "object".into())
        }
        _ => {
            let name = text("/external/metric/name");
            let found = external(scaled, &spec["external"]);
            ("FailedGetExternalMetric", found, format!("{name} external"))
        }
    };
    found.map_err(|cause| Failure {
        reason,
        message: format!("failed to get {about} metric value: {cause}"),
        cause,
    })
}

/// A quantity of thousandths in a field.
fn milli(field: &Value) -> Option<i128> {
    Some(Quantity::parse(field.as_str()?)?.milli())
}

fn quantity(milli: i128, resource: &str) -> Value {
    // A metrics server sends memory in multiples of 1024.
    const KIBI: i128 = 1024 * 1000;
    let text = match resource {
        "memory" if milli % KIBI == 0 => format!("{}Ki", milli / KIBI),
        _ => format!("{milli}m"),
    };
    json!(canonical_quantity(&text).unwrap_or(text))
}

fn resource(scaled: &Scaled<'_>, spec: &Value, kind: &str) -> Result<Asked, String> {
    let name = spec["name"].as_str().unwrap_or_default();
    let container = spec["container"].as_str();
    let values = scaled.of_pods(|measured, names| match measured {
        Measured::Resource {
            workload,
            name: of,
            container: in_container,
        } => of == name && in_container.as_deref() == container && names.contains(workload),
        _ => false,
    });
    let target = &spec["target"];
    let unknown = || {
        format!(
            "unable to get metrics for resource {name}: no metrics returned from resource metrics API"
        )
    };
    let (used, shown, status) = if let Some(average) = milli(&target["averageValue"]) {
        let failed = |why: String| format!("failed to get {name} usage: {why}");
        if values.is_empty() {
            return Err(failed(unknown()));
        }
        let used = usage::plain(scaled, values, average, name == "cpu").map_err(failed)?;
        let status = json!({"averageValue": quantity(used.average, name)});
        (used, format!("{name} resource"), status)
    } else {
        let failed = |why: String| format!("failed to get {name} utilization: {why}");
        if values.is_empty() {
            return Err(failed(unknown()));
        }
        let percent = number(target, "/averageUtilization");
        let used =
            usage::utilization(scaled, values, percent, (name, container)).map_err(failed)?;
        let status = json!({
            "averageUtilization": used.percent, "averageValue": quantity(used.average, name),
        });
        let of = match container {
            Some(_) => "container resource",
            None => "resource",
        };
        let shown = format!("{name} {of} utilization (percentage of request)");
        (used, shown, status)
    };
    let Used { replicas, .. } = used;
    let status = match container {
        Some(container) => {
            json!({"type": kind, "containerResource": {"name": name, "container": container, "current": status}})
        }
        None => json!({"type": kind, "resource": {"name": name, "current": status}}),
    };
    Ok(Asked {
        replicas,
        name: shown,
        status,
    })
}

/// The name of a metric, and the same with its selector for the status.
fn identifier(spec: &Value) -> (&str, Value) {
    let metric = &spec["metric"];
    (metric["name"].as_str().unwrap_or_default(), metric.clone())
}

fn of_pods(scaled: &Scaled<'_>, spec: &Value) -> Result<Asked, String> {
    let (name, metric) = identifier(spec);
    let values = scaled.of_pods(|measured, names| match measured {
        Measured::Pods { workload, metric } => metric == name && names.contains(workload),
        _ => false,
    });
    if values.is_empty() {
        let why = "no metrics returned from custom metrics API";
        return Err(format!("unable to get metric {name}: {why}"));
    }
    let target = milli(&spec["target"]["averageValue"]).unwrap_or_default();
    let used = usage::plain(scaled, values, target, false)?;
    Ok(Asked {
        replicas: used.replicas,
        name: format!("pods metric {name}"),
        status: json!({"type": "Pods", "pods": {
            "metric": metric, "current": {"averageValue": quantity(used.average, "")},
        }}),
    })
}

fn object(scaled: &Scaled<'_>, spec: &Value) -> Result<Asked, String> {
    let (name, metric) = identifier(spec);
    let described = &spec["describedObject"];
    let text = |field: &str| described[field].as_str().unwrap_or_default();
    let (kind, of) = (text("kind"), text("name"));
    let figure = scaled
        .handle
        .core()
        .figures
        .find(|measured| match measured {
            Measured::Object {
                kind: of_kind,
                name: of_name,
                metric,
            } => metric == name && of_kind == kind && of_name == of,
            _ => false,
        });
    let value = figure.ok_or_else(|| {
        let why = "no metrics returned from custom metrics API";
        format!(
            "unable to get metric {name}: {why} on {kind} {}/{of}",
            scaled.namespace
        )
    })?;
    let (replicas, current, shown) = by_target(scaled, &spec["target"], value)?;
    let shown = match shown {
        Shown::Whole => format!("{kind} metric {name}"),
        Shown::Share => format!("external metric {name}(nil)"),
    };
    Ok(Asked {
        replicas,
        name: shown,
        status: json!({"type": "Object", "object": {
            "describedObject": described, "metric": metric, "current": current,
        }}),
    })
}

fn external(scaled: &Scaled<'_>, spec: &Value) -> Result<Asked, String> {
    let (name, metric) = identifier(spec);
    let figure = scaled
        .handle
        .core()
        .figures
        .find(|measured| matches!(measured, Measured::External { metric } if metric == name));
    let value = figure.ok_or_else(|| {
        let why = "no metrics returned from external metrics API";
        format!(
            "unable to get external metric {}/{name}/nil: {why}",
            scaled.namespace
        )
    })?;
    let (replicas, current, _) = by_target(scaled, &spec["target"], value)?;
    Ok(Asked {
        replicas,
        name: format!("external metric {name}(nil)"),
        status: json!({"type": "External", "external": {"metric": metric, "current": current}}),
    })
}

enum Shown {
    Whole,
    Share,
}

/// The replicas for one value that all replicas share, and what the status shows of it.
fn by_target(
    scaled: &Scaled<'_>,
    target: &Value,
    value: i128,
) -> Result<(i64, Value, Shown), String> {
    if let Some(average) = milli(&target["averageValue"]) {
        let (replicas, each) = scaled.by_share(value, average);
        let current = json!({"averageValue": quantity(each, "")});
        return Ok((replicas, current, Shown::Share));
    }
    let whole = milli(&target["value"]).unwrap_or_default();
    let replicas = scaled.by_ratio(value as f64 / whole as f64)?;
    let current = json!({"value": quantity(value, "")});
    Ok((replicas, current, Shown::Whole))
}
