use std::{fmt, sync::Arc, time::Duration};

use crate::{cache::InformerScope, resource::ApiResource};

/// How an informer is doing, for readiness checks and for people.
#[derive(Clone, Debug)]
pub struct InformerStatus {
    /// The kind.
    pub resource: ApiResource,
    /// Which objects of it.
    pub scope: InformerScope,
    /// Whether the first list has reached the store and the listeners. Once `true`, it stays `true`.
    pub synced: bool,
    /// What the informer is doing now.
    pub mode: InformerMode,
    /// The failures that still last, one for each namespace: verb, resource, namespace, and the server's answer.
    pub last_error: Option<String>,
    /// Whether the server does not know the kind: its definition is not installed.
    pub not_served: bool,
    /// Whether this identity may not list or not watch the kind. A cache that has synced and may only list is
    /// refreshed by lists, at least every 60 s.
    pub forbidden: bool,
    /// For how long requests have failed, with this failure or with earlier ones; without a failure, how long the
    /// first list has taken so far. `None` if the informer is healthy.
    pub unhealthy_for: Option<Duration>,
    /// For how long the server has sent nothing; `None` if it never sent anything.
    pub silent_for: Option<Duration>,
    /// The number of objects in the cache, decodable or not.
    pub objects: usize,
    /// The number of objects that do not decode.
    pub undecodable: usize,
    /// Each namespace that the informer reads (`None` means all of them), in order.
    pub namespaces: Vec<NamespaceStatus>,
    /// The listener whose function is running now, and for how long. If the function does not return, the cache
    /// stands still.
    pub active_listener: Option<(Arc<str>, Duration)>,
}

/// How an informer is doing in one of the namespaces that it reads.
#[derive(Clone, Debug)]
pub struct NamespaceStatus {
    /// Its name; `None` for all namespaces, and for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// Whether its first list has reached the store and the listeners. Its objects are delivered meanwhile.
    pub synced: bool,
    /// What the informer is doing there now.
    pub mode: InformerMode,
    /// The failure that still lasts.
    pub last_error: Option<String>,
}

/// What an informer is doing now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InformerMode {
    /// It was not started.
    #[default]
    Idle,
    /// It reads the whole collection.
    Listing,
    /// It opens a watch.
    Connecting,
    /// It follows the changes.
    Watching,
    /// It waits before the next attempt.
    BackingOff,
    /// It has ended.
    Stopped,
}

impl InformerStatus {
    /// Whether the [text](fmt::Display) of the status reports a problem.
    pub fn is_unhealthy(&self) -> bool {
        !self.synced || self.last_error.is_some() || self.stuck().is_some()
    }

    /// The listener that blocks the cache.
    fn stuck(&self) -> Option<&(Arc<str>, Duration)> {
        const STUCK: Duration = Duration::from_secs(1);
        self.active_listener
            .as_ref()
            .filter(|(_, since)| *since > STUCK)
    }
}

/// `synced` if the informer is healthy, and the problem otherwise.
impl fmt::Display for InformerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((listener, since)) = self.stuck() {
            let (kind, since) = (self.resource.qualified_plural(), since.as_secs());
            return write!(
                f,
                "{kind} has waited for its listener {listener} for {since} s"
            );
        }
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs());
        let troubled = seconds(self.unhealthy_for).unwrap_or_default();
        match (&self.last_error, seconds(self.silent_for)) {
            (Some(error), Some(silent)) => {
                write!(
                    f,
                    "{error} (last response {silent} s ago, failing for {troubled} s)"
                )
            }
            (Some(error), None) => write!(f, "{error} (failing for {troubled} s)"),
            (None, _) if self.synced => f.write_str("synced"),
            (None, _) => {
                let kind = self.resource.qualified_plural();
                write!(
                    f,
                    "{kind} not synced yet: the first list has taken {troubled} s"
                )
            }
        }
    }
}
