use std::{collections::HashMap, time::Duration};

use http::{Method, Request, Uri};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

use crate::client::{Body, request::RequestClass};

/// After the pause, one request of the flow continues each time this has passed …
const GAP: Duration = Duration::from_millis(10);
/// … for at least this long, because all refused requests come again at once.
const RELEASE_TIME: Duration = Duration::from_secs(1);
/// At most this many flows are delayed at a time. Further flows are not delayed.
const MAX_FLOWS: usize = 1024;

/// What the server distinguishes: verb, resource and namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flow {
    watch: bool,
    method: Method,
    path: Box<str>,
}

/// The parts of a request that determine its flow. For most requests the flow is never computed.
#[derive(Debug)]
pub(super) struct FlowParts {
    watch: bool,
    method: Method,
    uri: Uri,
}

impl FlowParts {
    pub(super) fn of(request: &Request<Body>) -> Self {
        Self {
            watch: request.extensions().get() == Some(&RequestClass::Watch),
            method: request.method().clone(),
            uri: request.uri().clone(),
        }
    }

    pub(super) fn flow(&self) -> Flow {
        Flow {
            watch: self.watch,
            method: self.method.clone(),
            path: without_name(self.uri.path()).into(),
        }
    }
}

/// `/api/v1/namespaces/default/pods/status` for `/api/v1/namespaces/default/pods/web-1/status`.
fn without_name(path: &str) -> String {
    let segments: Vec<_> = path.trim_matches('/').split('/').collect();
    let group = match segments.first() {
        Some(&"api") => 2,
        Some(&"apis") => 3,
        _ => return path.to_owned(),
    };
    let in_namespace = segments.get(group) == Some(&"namespaces") && segments.len() > group + 2;
    let name = group + if in_namespace { 3 } else { 1 };
    // The answer to an eviction depends on the Pod.
    if segments.last() == Some(&"eviction") {
        return path.to_owned();
    }
    let segments = segments.iter().enumerate();
    let kept = segments.filter(|(at, _)| *at != name);
    let mut text = String::with_capacity(path.len());
    for (_, segment) in kept {
        text.push('/');
        text.push_str(segment);
    }
    text
}

/// The flows that must wait, and until when.
#[derive(Debug, Default)]
pub(super) struct FlowThrottle {
    flows: Mutex<HashMap<Flow, ThrottledFlow>>,
}

#[derive(Debug)]
struct ThrottledFlow {
    /// No request continues before this time.
    until: Instant,
    /// When the next request may continue. Later than `until` as long as requests wait for their turn.
    next: Instant,
}

impl ThrottledFlow {
    fn is_over(&self, now: Instant) -> bool {
        self.next <= now && self.until + RELEASE_TIME <= now
    }
}

impl FlowThrottle {
    /// Whether no flow is delayed.
    pub(super) fn is_idle(&self) -> bool {
        self.flows.lock().is_empty()
    }

    /// When a request of `flow` may continue. `None` if at once.
    pub(super) fn slot(&self, flow: &Flow) -> Option<Instant> {
        let mut flows = self.flows.lock();
        let throttled = flows.get_mut(flow)?;
        let now = Instant::now();
        if throttled.is_over(now) {
            flows.remove(flow);
            return None;
        }
        let slot = throttled.next.max(now);
        throttled.next = slot + GAP;
        (slot > now).then_some(slot)
    }

    /// Waits for `slot`, and for a later one if the flow is delayed again meanwhile.
    pub(super) async fn wait(&self, flow: &Flow, slot: Instant) {
        let mut slot = Some(slot);
        while let Some(at) = slot {
            sleep_until(at).await;
            let held_again = self
                .flows
                .lock()
                .get(flow)
                .is_some_and(|throttled| throttled.until > at);
            slot = held_again.then(|| self.slot(flow)).flatten();
        }
    }

    /// Delays `flow` for `pause`.
    pub(super) fn throttle(&self, flow: Flow, pause: Duration) {
        let now = Instant::now();
        let until = now + pause;
        let mut flows = self.flows.lock();
        if flows.len() >= MAX_FLOWS {
            flows.retain(|_, throttled| !throttled.is_over(now));
        }
        if flows.len() >= MAX_FLOWS && !flows.contains_key(&flow) {
            return;
        }
        let throttled = flows
            .entry(flow)
            .or_insert(ThrottledFlow { until, next: until });
        throttled.until = throttled.until.max(until);
        throttled.next = throttled.next.max(until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_verb_resource_and_namespace() {
        let table = [
            (
                "/api/v1/namespaces/default/pods/web-1",
                "/api/v1/namespaces/default/pods",
            ),
            (
                "/api/v1/namespaces/default/pods",
                "/api/v1/namespaces/default/pods",
            ),
            (
                "/api/v1/namespaces/default/pods/web-1/status",
                "/api/v1/namespaces/default/pods/status",
            ),
            (
                "/api/v1/namespaces/default/pods/web-1/eviction",
                "/api/v1/namespaces/default/pods/web-1/eviction",
            ),
            ("/api/v1/namespaces/default", "/api/v1/namespaces"),
            ("/api/v1/nodes/n1", "/api/v1/nodes"),
            (
                "/apis/apps/v1/namespaces/default/deployments/web",
                "/apis/apps/v1/namespaces/default/deployments",
            ),
            ("/apis/apps/v1/deployments", "/apis/apps/v1/deployments"),
            ("/version", "/version"),
            ("/", "/"),
        ];
        for (path, flow) in table {
            assert_eq!(without_name(path), flow);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_shorter_pause_does_not_end_a_longer_one() {
        let throttle = FlowThrottle::default();
        let flow = || Flow {
            watch: false,
            method: Method::GET,
            path: "/api/v1/nodes".into(),
        };
        let end = Instant::now() + Duration::from_secs(5);
        throttle.throttle(flow(), Duration::from_secs(5));
        throttle.throttle(flow(), Duration::from_secs(2));
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(throttle.slot(&flow()), Some(end));
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_delayed_flows_is_limited() {
        let throttle = FlowThrottle::default();
        let flow = |number: usize| Flow {
            watch: false,
            method: Method::GET,
            path: number.to_string().into(),
        };
        for number in 0..MAX_FLOWS + 10 {
            throttle.throttle(flow(number), Duration::from_secs(1));
        }
        assert_eq!(throttle.flows.lock().len(), MAX_FLOWS);
        assert_eq!(throttle.slot(&flow(MAX_FLOWS)), None);
        tokio::time::advance(Duration::from_secs(2)).await;
        throttle.throttle(flow(MAX_FLOWS), Duration::from_secs(1));
        assert_eq!(throttle.flows.lock().len(), 1);
    }
}
