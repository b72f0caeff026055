use std::{fmt, sync::Arc, time::Duration};

use super::InformerScope;
use crate::resource::ApiResource;

/// How an informer is doing, for readiness checks and for people.
#[derive(Clone, Debug)]
pub struct InformerStatus {
    /// The kind.
    pub resource: ApiResource,
    /// Which objects of it.
    pub scope: InformerScope,
    /// Whether the first list has reached the store and the listeners. It stays so.
    pub synced: bool,
    /// What the informer does just now.
    pub mode: InformerMode,
    /// The failure that has not been mended yet: verb, resource, namespace, and what the server
    /// said.
    pub last_error: Option<String>,
    /// How long ago that failure began. Another failure in its place does not start it over.
    pub failing_for: Option<Duration>,
    /// Whether that failure is that the server does not know the kind: its definition is not
    /// installed.
    pub not_served: bool,
    /// Whether that failure is that this identity may not list or watch the kind. A cache that has
    /// synced and may only list is refreshed by lists, at the latest every 60 s.
    pub forbidden: bool,
    /// For how long the server has not been heard; `None` if it never was.
    pub silent_for: Option<Duration>,
    /// How many objects the cache holds, undecodable ones included.
    pub objects: usize,
    /// How many of them do not decode.
    pub undecodable: usize,
    /// Each namespace that is read, or `None` for all of them, in order.
    pub parts: Vec<PartStatus>,
    /// The listener that is told something just now, and for how long already: one that does not
    /// return keeps the cache from going on.
    pub telling: Option<(Arc<str>, Duration)>,
}

/// How an informer is doing in one of the namespaces that it reads.
#[derive(Clone, Debug)]
pub struct PartStatus {
    /// Its name; `None` for all of them, and for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// Whether its first list has reached the store and the listeners. What is there is told meanwhile.
    pub synced: bool,
    /// What the informer does there just now.
    pub mode: InformerMode,
    /// The failure that has not been mended yet.
    pub last_error: Option<String>,
}

/// What an informer does just now.
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
    /// It waits before it tries again.
    BackingOff,
    /// It has ended.
    Stopped,
}

/// `synced` when all is well, otherwise what is not.
impl fmt::Display for InformerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const STUCK: Duration = Duration::from_secs(1);
        if let Some((listener, since)) = self.telling.as_ref().filter(|(_, since)| *since > STUCK) {
            let (kind, since) = (self.resource.qualified_plural(), since.as_secs());
            return write!(f, "{kind} waits for its listener {listener} for {since} s");
        }
        match (&self.last_error, self.silent_for) {
            (Some(error), Some(silent)) => {
                write!(f, "{error} (last heard {} s ago)", silent.as_secs())
            }
            (Some(error), None) => f.write_str(error),
            (None, _) if self.synced => f.write_str("synced"),
            (None, _) => write!(f, "{} not synced yet", self.resource.qualified_plural()),
        }
    }
}
