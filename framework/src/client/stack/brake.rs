use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use http::{Method, Request, Uri};
use tokio::time::{Instant, sleep_until};

use crate::client::{Body, class::Class};

/// After the pause one request of the flow goes each time this has passed.
const GAP: Duration = Duration::from_millis(10);
/// For so long at least, because those that were refused come again all at once.
const AFTERWARDS: Duration = Duration::from_secs(1);
/// So many flows are held back at a time; further ones are not.
const MOST_FLOWS: usize = 1024;

/// What the server treats alike: verb, resource and namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flow {
    watch: bool,
    method: Method,
    path: Box<str>,
}

/// What of a request tells its flow. Most requests are never asked for it.
#[derive(Debug)]
pub(super) struct Asked {
    watch: bool,
    method: Method,
    uri: Uri,
}

impl Asked {
    pub(super) fn of(request: &Request<Body>) -> Self {
        Self {
            watch: request.extensions().get() == Some(&Class::Watch),
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
    // What an eviction is answered depends on the Pod.
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

/// Which flows the server asked to wait, and until when.
#[derive(Debug, Default)]
pub(super) struct Brake {
    flows: Mutex<HashMap<Flow, Held>>,
}

#[derive(Debug)]
struct Held {
    /// Until then nothing goes.
    until: Instant,
    /// When the next one may go; later than `until` as long as some wait for their turn.
    next: Instant,
}

impl Held {
    fn is_over(&self, now: Instant) -> bool {
        self.next <= now && self.until + AFTERWARDS <= now
    }
}

impl Brake {
    /// Whether it holds nothing back.
    pub(super) fn is_idle(&self) -> bool {
        self.flows().is_empty()
    }

    /// When a request of `flow` may go, if not at once.
    pub(super) fn slot(&self, flow: &Flow) -> Option<Instant> {
        let mut flows = self.flows();
        let held = flows.get_mut(flow)?;
        let now = Instant::now();
        if held.is_over(now) {
            flows.remove(flow);
            return None;
        }
        let slot = held.next.max(now);
        held.next = slot + GAP;
        (slot > now).then_some(slot)
    }

    /// Waits for `slot`, and for a later one when the flow is held back again meanwhile.
    pub(super) async fn wait(&self, flow: &Flow, slot: Instant) {
        let mut slot = Some(slot);
        while let Some(at) = slot {
            sleep_until(at).await;
            let held_again = self.flows().get(flow).is_some_and(|held| held.until > at);
            slot = held_again.then(|| self.slot(flow)).flatten();
        }
    }

    /// Holds `flow` back for `pause`.
    pub(super) fn hold(&self, flow: Flow, pause: Duration) {
        let now = Instant::now();
        let until = now + pause;
        let mut flows = self.flows();
        if flows.len() >= MOST_FLOWS {
            flows.retain(|_, held| !held.is_over(now));
        }
        if flows.len() >= MOST_FLOWS && !flows.contains_key(&flow) {
            return;
        }
        let held = flows.entry(flow).or_insert(Held { until, next: until });
        held.until = held.until.max(until);
        held.next = held.next.max(until);
    }

    fn flows(&self) -> MutexGuard<'_, HashMap<Flow, Held>> {
        // Consistent after each method, whoever panicked in between.
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
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
    async fn not_more_flows_are_remembered_than_is_allowed() {
        let brake = Brake::default();
        let flow = |number: usize| Flow {
            watch: false,
            method: Method::GET,
            path: number.to_string().into(),
        };
        for number in 0..MOST_FLOWS + 10 {
            brake.hold(flow(number), Duration::from_secs(1));
        }
        assert_eq!(brake.flows().len(), MOST_FLOWS);
        assert_eq!(brake.slot(&flow(MOST_FLOWS)), None);
        tokio::time::advance(Duration::from_secs(2)).await;
        brake.hold(flow(MOST_FLOWS), Duration::from_secs(1));
        assert_eq!(brake.flows().len(), 1);
    }
}
