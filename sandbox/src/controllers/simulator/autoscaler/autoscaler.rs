use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::limits::{self, History, Limited};
use super::metrics::{Asked, Scaled, ask};
use crate::api::{Handle, Target, read_scale};
use crate::clock::Moment;
use crate::controllers::simulator::MANAGER;
use crate::controllers::simulator::conditions::{self, Condition};
use crate::controllers::simulator::events::{self, Message};
use crate::controllers::simulator::object::{number, resource_of, update};
use crate::error::ApiError;
use crate::meta;
use crate::registry::GroupResource;

/// The time between two rounds.
const ROUND: Duration = Duration::from_secs(15);

pub(in crate::controllers::simulator) fn autoscalers() -> GroupResource {
    GroupResource::new("autoscaling", "horizontalpodautoscalers")
}

/// What the controller remembers of each autoscaler.
#[derive(Default)]
pub(in crate::controllers::simulator) struct Autoscalers {
    /// By UID. An entry lives as long as the object.
    known: BTreeMap<String, Known>,
}

struct Known {
    next: Moment,
    history: History,
}

impl Autoscalers {
    pub(in crate::controllers::simulator) fn forget(&mut self, uid: &str) {
        self.known.remove(uid);
    }

    /// Does a round if one is due. Returns the time until the next one.
    pub(in crate::controllers::simulator) fn reconcile(
        &mut self,
        handle: &Handle,
        autoscaler: &Value,
    ) -> Option<Duration> {
        if meta::is_deleting(autoscaler) {
            return None;
        }
        let now = handle.core().clock.moment();
        let known = self.known.entry(meta::uid(autoscaler).to_owned());
        let known = known.or_insert_with(|| Known {
            next: now + ROUND,
            history: History::default(),
        });
        if now < known.next {
            return Some(known.next - now);
        }
        known.next = now + ROUND;
        let mut round = Round {
            handle,
            autoscaler,
            status: autoscaler["status"].clone(),
        };
        round.run(&mut known.history);
        let status = round.status;
        update(handle, &autoscalers(), autoscaler, "status", |object| {
            object["status"] = status.clone();
        });
        Some(ROUND)
    }
}

/// One look at an autoscaler and its target.
struct Round<'a> {
    handle: &'a Handle,
    autoscaler: &'a Value,
    /// The status to write.
    status: Value,
}

impl Round<'_> {
    fn run(&mut self, history: &mut History) {
        let (target, name, scale) = match self.scale() {
            Ok(found) => found,
            Err(why) => {
                self.tell(true, "FailedGetScale", &why);
                let text = format!(
                    "the HPA controller was unable to get the target's current scale: {why}"
                );
                self.set("AbleToScale", false, "FailedGetScale", &text);
                return;
            }
        };
        let text = "the HPA controller was able to get the target's current scale";
        self.set("AbleToScale", true, "SucceededGetScale", text);
        let spec = &self.autoscaler["spec"];
        let current = number(&scale, "/spec/replicas");
        let (least, most) = (number(spec, "/minReplicas"), number(spec, "/maxReplicas"));
        history.begin(current, self.handle.core().clock.moment());
        let mut metrics = Vec::new();
        let mut desired = current;
        let mut reason = String::new();
        if current == 0 && least != 0 {
            let text = "scaling is disabled since the replica count of the target is zero";
            self.set("ScalingActive", false, "ScalingDisabled", text);
        } else if current > most {
            desired = most;
            reason = "Current number of replicas above Spec.MaxReplicas".into();
        } else if current < least {
            desired = least;
            reason = "Current number of replicas below Spec.MinReplicas".into();
        } else {
            let asked = self.ask(&scale, &mut metrics);
            self.show(current, None, &metrics);
            let (wanted, metric) = match asked {
                Ok(asked) => asked,
                Err(why) => {
                    self.tell(true, "FailedComputeMetricsReplicas", &why);
                    return;
                }
            };
            if wanted > current {
                reason = format!("{metric} above target");
            } else if wanted < current {
                reason = "All metrics below target".into();
            }
            let limited = limits::limit(&self.autoscaler["spec"], history, current, wanted);
            let Limited {
                replicas,
                able,
                limited,
                is_limited,
            } = limited;
            self.set("AbleToScale", true, able.0, able.1);
            self.set("ScalingLimited", is_limited, limited.0, limited.1);
            desired = replicas;
        }
        let rescales = desired != current;
        if rescales && let Err(error) = self.rescale(&target, &name, desired) {
            let text = format!("New size: {desired}; reason: {reason}; error: {error}");
            self.tell(true, "FailedRescale", &text);
            let text = format!("the HPA controller was unable to update the target scale: {error}");
            self.set("AbleToScale", false, "FailedUpdateScale", &text);
            self.show(current, None, &metrics);
            return;
        }
        if rescales {
            let text =
                format!("the HPA controller was able to update the target scale to {desired}");
            self.set("AbleToScale", true, "SucceededRescale", &text);
            let text = format!("New size: {desired}; reason: {reason}");
            self.tell(false, "SuccessfulRescale", &text);
            history.scaled(current, desired);
            self.status["lastScaleTime"] = json!(self.handle.core().clock.timestamp());
        }
        self.show(current, Some(desired), &metrics);
    }

    /// The target, its name and its scale.
    fn scale(&self) -> Result<(Target, String, Value), String> {
        let reference = &self.autoscaler["spec"]["scaleTargetRef"];
        let text = |field: &str| reference[field].as_str().unwrap_or_default();
        let resource = resource_of(self.handle, reference).ok_or_else(|| {
            let (version, kind) = (text("apiVersion"), text("kind"));
            let group = version.split_once('/').map_or("", |(group, _)| group);
            format!("no matches for kind {kind:?} in group {group:?}")
        })?;
        let namespace = meta::text(self.autoscaler, "namespace");
        let target = self.handle.target(&resource, Some(namespace));
        let target = target.map_err(|error| error.to_string())?;
        let name = text("name");
        let found = self.handle.get(&resource, Some(namespace), name);
        let found = found.ok_or_else(|| target.not_found(name).to_string())?;
        let scale = read_scale(&target, &found).map_err(|error| error.to_string())?;
        Ok((target, name.to_owned(), scale))
    }

    /// The largest number of replicas that a metric asks for, and the name of that metric.
    fn ask(&mut self, scale: &Value, metrics: &mut Vec<Value>) -> Result<(i64, String), String> {
        let selector = scale["status"]["selector"].as_str().unwrap_or_default();
        if selector.is_empty() {
            let why = "selector is required";
            self.tell(true, "SelectorRequired", why);
            let text = "the HPA target's scale is missing a selector";
            self.set("ScalingActive", false, "InvalidSelector", text);
            return Err(why.into());
        }
        let current = number(scale, "/spec/replicas");
        let scaled = Scaled::new(self.handle, self.autoscaler, scale, selector);
        let scaled = scaled.inspect_err(|why| {
            self.tell(true, "InvalidSelector", why);
            self.set("ScalingActive", false, "InvalidSelector", why);
        })?;
        let specs = self.autoscaler["spec"]["metrics"].as_array();
        let specs = specs.map(Vec::as_slice).unwrap_or_default();
        let (mut replicas, mut metric) = (0, String::new());
        let mut failures = Vec::new();
        for spec in specs {
            match ask(&scaled, spec) {
                Ok(Asked {
                    replicas: wanted,
                    name,
                    status,
                }) => {
                    metrics.push(status);
                    if replicas == 0 || wanted > replicas {
                        (replicas, metric) = (wanted, name);
                    }
                }
                Err(failure) => {
                    self.tell(true, failure.reason, &failure.cause);
                    // The status has an entry for each metric.
                    metrics.push(json!({"type": ""}));
                    failures.push(failure);
                }
            }
        }
        if let Some(first) = failures.first()
            && (failures.len() == specs.len() || replicas < current)
        {
            let text = format!(
                "the HPA was unable to compute the replica count: {}",
                first.cause
            );
            self.set("ScalingActive", false, first.reason, &text);
            return Err(format!(
                "invalid metrics ({} invalid out of {}), first error is: {}",
                failures.len(),
                specs.len(),
                first.message
            ));
        }
        let text =
            format!("the HPA was able to successfully calculate a replica count from {metric}");
        self.set("ScalingActive", true, "ValidMetricFound", &text);
        Ok((replicas, metric))
    }

    fn rescale(&self, target: &Target, name: &str, replicas: i64) -> Result<(), ApiError> {
        self.handle.scale(target, name, MANAGER, replicas)
    }

    fn show(&mut self, current: i64, desired: Option<i64>, metrics: &[Value]) {
        self.status["currentReplicas"] = json!(current);
        if let Some(desired) = desired {
            self.status["desiredReplicas"] = json!(desired);
        }
        if let Some(status) = self.status.as_object_mut() {
            status.remove("currentMetrics");
            if !metrics.is_empty() {
                status.insert("currentMetrics".into(), metrics.to_vec().into());
            }
        }
    }

    fn set(&mut self, kind: &str, is: bool, reason: &str, message: &str) {
        let condition = Condition {
            kind,
            status: if is { "True" } else { "False" },
            reason,
            message: message.to_owned(),
        };
        let now = self.handle.core().clock.timestamp();
        if !self.status.is_object() {
            self.status = json!({});
        }
        conditions::set(&mut self.status, &condition, false, &now);
    }

    fn tell(&self, warning: bool, reason: &str, text: &str) {
        let message = Message {
            component: "horizontal-pod-autoscaler",
            warning,
            reason,
        };
        events::record(self.handle, self.autoscaler, message, text);
    }
}
