use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::metrics::{Scaled, ceil};
use crate::controllers::simulator::object::{condition, is_true, since};
use crate::go::Quantity;
use crate::meta;

/// A figure of each Pod, by name.
pub(super) type ByPod = BTreeMap<String, i128>;

/// As long as this after its start the CPU that an unready Pod uses does not count.
const CPU_INITIALIZATION: Duration = Duration::from_secs(300);
/// A Pod that became unready this soon after its start was never ready.
const FIRST_READINESS: Duration = Duration::from_secs(30);

/// What Pods use, and how many replicas that asks for.
pub(super) struct Used {
    pub(super) replicas: i64,
    pub(super) average: i128,
    /// The usage in percent of the requests, if the target is a percentage.
    pub(super) percent: i64,
}

pub(super) fn is_ready(pod: &Value) -> bool {
    pod["status"]["phase"] == "Running" && is_true(pod, "Ready")
}

/// The replicas for a target of each Pod.
pub(super) fn plain(
    scaled: &Scaled<'_>,
    values: ByPod,
    target: i128,
    is_cpu: bool,
) -> Result<Used, String> {
    let ratio = |values: &ByPod| {
        let average = values.values().sum::<i128>() / (values.len() as i128).max(1);
        Ok((average as f64 / target as f64, average, 0))
    };
    replicas(scaled, values, is_cpu, ratio, |_| target)
}

/// The replicas for a target in percent of what the Pods request.
pub(super) fn utilization(
    scaled: &Scaled<'_>,
    values: ByPod,
    target: i64,
    (resource, container): (&str, Option<&str>),
) -> Result<Used, String> {
    let mut requests = ByPod::new();
    for pod in &scaled.pods {
        requests.insert(
            meta::name(pod).to_owned(),
            request(pod, resource, container)?,
        );
    }
    let ratio = |values: &ByPod| {
        let known = values
            .iter()
            .filter_map(|(pod, value)| Some((value, requests.get(pod)?)));
        let (mut total, mut requested, mut count) = (0, 0, 0);
        for (value, request) in known {
            total += value;
            requested += request;
            count += 1;
        }
        if requested == 0 {
            return Err("no metrics returned matched known pods".to_owned());
        }
        let percent = total * 100 / requested;
        let percent = i64::try_from(percent).unwrap_or(i64::MAX);
        Ok((percent as f64 / target as f64, total / count, percent))
    };
    let fallback = |pod: &str| {
        let request = requests.get(pod).copied().unwrap_or_default();
        request * i128::from(target.max(100)) / 100
    };
    replicas(scaled, values, resource == "cpu", ratio, fallback)
}

/// What a Pod requests of a resource, in thousandths.
fn request(pod: &Value, resource: &str, container: Option<&str>) -> Result<i128, String> {
    let of = |part: &Value| {
        let text = part["resources"]["requests"][resource].as_str()?;
        Quantity::parse(text).map(Quantity::milli)
    };
    if container.is_none()
        && let Some(own) = of(&pod["spec"])
    {
        return Ok(own);
    }
    let list = |name: &str| pod["spec"][name].as_array().into_iter().flatten();
    let sidecars = list("initContainers").filter(|one| one["restartPolicy"] == "Always");
    let mut sum = 0;
    let mut found = false;
    for one in list("containers").chain(sidecars) {
        let name = one["name"].as_str().unwrap_or_default();
        if container.is_none_or(|container| container == name) {
            found = true;
            sum += of(one).ok_or_else(|| {
                let pod = meta::name(pod);
                format!("missing request for {resource} in container {name} of Pod {pod}")
            })?;
        }
    }
    match (found, container) {
        (false, Some(container)) => Err(format!(
            "container {container} not found in Pod {}",
            meta::name(pod)
        )),
        _ => Ok(sum),
    }
}

/// Counts Pods without a figure, and unready ones, so that they do not turn a change round.
fn replicas(
    scaled: &Scaled<'_>,
    mut values: ByPod,
    is_cpu: bool,
    ratio: impl Fn(&ByPod) -> Result<(f64, i128, i64), String>,
    fallback: impl Fn(&str) -> i128,
) -> Result<Used, String> {
    if scaled.pods.is_empty() {
        return Err("no pods returned by selector while calculating replica count".into());
    }
    let (mut ready, mut unready, mut missing) = (0_u32, Vec::new(), Vec::new());
    for pod in &scaled.pods {
        let name = meta::name(pod);
        let phase = pod["status"]["phase"].as_str();
        if meta::is_deleting(pod) || phase == Some("Failed") {
            values.remove(name);
        } else if phase == Some("Pending") {
            values.remove(name);
            unready.push(name);
        } else if !values.contains_key(name) {
            missing.push(name);
        } else if is_cpu && is_starting(scaled, pod) {
            values.remove(name);
            unready.push(name);
        } else {
            ready += 1;
        }
    }
    if values.is_empty() {
        return Err("did not receive metrics for targeted pods (pods might be unready)".into());
    }
    let current = scaled.wanted;
    let (first, average, percent) = ratio(&values)?;
    let used = |replicas| Used {
        replicas,
        average,
        percent,
    };
    let grows_with_unready = !unready.is_empty() && first > 1.0;
    if !grows_with_unready && missing.is_empty() {
        return Ok(used(match scaled.tolerates(first) {
            true => current,
            false => ceil(first * f64::from(ready)),
        }));
    }
    for pod in missing.iter().filter(|_| first != 1.0) {
        let value = if first < 1.0 { fallback(pod) } else { 0 };
        values.insert((*pod).to_owned(), value);
    }
    if grows_with_unready {
        values.extend(unready.iter().map(|pod| ((*pod).to_owned(), 0)));
    }
    let (second, _, _) = ratio(&values)?;
    let turns = first < 1.0 && second > 1.0 || first > 1.0 && second < 1.0;
    if turns || scaled.tolerates(second) {
        return Ok(used(current));
    }
    let wanted = ceil(second * values.len() as f64);
    let turns = second < 1.0 && wanted > current || second > 1.0 && wanted < current;
    Ok(used(if turns { current } else { wanted }))
}

/// Whether the CPU that a Pod uses is still that of its start.
fn is_starting(scaled: &Scaled<'_>, pod: &Value) -> bool {
    let age = since(scaled.handle, &pod["status"]["startTime"]);
    let (Some(ready), Some(age)) = (condition(pod, "Ready"), age) else {
        return true;
    };
    let is_unready = ready["status"] == "False";
    if age < CPU_INITIALIZATION {
        return is_unready;
    }
    let turned = since(scaled.handle, &ready["lastTransitionTime"]).unwrap_or_default();
    is_unready && age.saturating_sub(turned) < FIRST_READINESS
}
