use std::{
    fmt,
    sync::{Arc, OnceLock, Weak},
};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    controller_report::ControllerReport,
    object_report::{MOST_KEYS, ObjectReport},
};
use crate::{
    cache::InformerStatus,
    controller::{
        history::History,
        state::{ControllerState, FailureSummary, Rounded},
    },
    resource::ObjectKey,
};

/// How a controller is doing, for readiness checks. Clones share it.
///
/// Its text is `working` and how many objects fail, or what the controller waits for.
#[derive(Clone)]
pub struct ControllerStatus {
    name: Arc<str>,
    phase: Arc<Mutex<Phase>>,
    /// Set while the controller runs.
    controller: Arc<OnceLock<Weak<ControllerState>>>,
    /// Set if it is to be recorded what happens to each object.
    history: Arc<OnceLock<Arc<History>>>,
    #[cfg(test)]
    remembered: Arc<OnceLock<Remembered>>,
}

/// Returns the number of entries in a controller's maps.
#[cfg(test)]
type Remembered = Box<dyn Fn() -> usize + Send + Sync>;

type StatusFn = Arc<dyn Fn() -> InformerStatus + Send + Sync>;

enum Phase {
    New,
    Syncing(Vec<StatusFn>),
    StandingBy,
    CatchingUp,
    Working,
    Stopped,
}

impl ControllerStatus {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            phase: Arc::new(Mutex::new(Phase::New)),
            controller: Arc::default(),
            history: Arc::default(),
            #[cfg(test)]
            remembered: Arc::default(),
        }
    }

    pub(crate) fn syncing(&self, kinds: Vec<StatusFn>) {
        *self.phase.lock() = Phase::Syncing(kinds);
    }

    pub(crate) fn standing_by(&self) {
        *self.phase.lock() = Phase::StandingBy;
    }

    pub(crate) fn catching_up(&self) {
        *self.phase.lock() = Phase::CatchingUp;
    }

    pub(crate) fn working(&self) {
        *self.phase.lock() = Phase::Working;
    }

    /// Records from the start of the controller what happens to each object.
    pub(crate) fn keep_history(&self) {
        self.history.get_or_init(|| Arc::new(History::new()));
    }

    pub(crate) fn history(&self) -> Option<Arc<History>> {
        self.history.get().cloned()
    }

    pub(crate) fn reports(&self, controller: &Arc<ControllerState>) {
        self.controller.set(Arc::downgrade(controller)).ok();
    }

    /// Lets tests see how much is remembered of keys.
    #[cfg(test)]
    pub(crate) fn remembers(&self, remembered: impl Fn() -> usize + Send + Sync + 'static) {
        self.remembered.set(Box::new(remembered)).ok();
    }

    #[cfg(test)]
    pub(crate) fn remembered(&self) -> usize {
        self.remembered.get().unwrap()()
    }

    pub(crate) fn stopped(&self) {
        *self.phase.lock() = Phase::Stopped;
    }

    /// The controller's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether every wired kind has synced and reconciles run.
    pub fn is_working(&self) -> bool {
        matches!(*self.phase.lock(), Phase::Working)
    }

    /// Whether every wired kind has synced and the controller only waits for leadership.
    pub fn is_standing_by(&self) -> bool {
        matches!(*self.phase.lock(), Phase::StandingBy)
    }

    /// Whether every wired kind has synced, this process leads or needs no leadership, and no reconcile starts before the caches
    /// have reached the newest state of the API server.
    pub fn is_catching_up(&self) -> bool {
        matches!(*self.phase.lock(), Phase::CatchingUp)
    }

    /// Why the caches cannot be compared with the API server: the last error of a request that is repeated. Returns `None` if
    /// no such request fails.
    pub fn not_caught_up(&self) -> Option<String> {
        self.controller.get()?.upgrade()?.writes.not_caught_up()
    }

    /// The wired kinds that have not synced, with the reason. Empty unless the controller waits for one.
    pub fn waiting_for(&self) -> Vec<InformerStatus> {
        match &*self.phase.lock() {
            Phase::Syncing(kinds) => {
                let statuses = kinds.iter().map(|status| status());
                statuses.filter(|status| !status.synced).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What the controller does now: at most `limit` keys that are in the queue, at most `limit` that wait for their own
    /// writes, and at most `limit` that failed. Returns `None` before the controller was started and after it has stopped.
    pub fn report(&self, limit: usize) -> Option<ControllerReport> {
        let controller = self.controller.get()?.upgrade()?;
        Some(ControllerReport::of(&controller, self, limit))
    }

    /// What happened to one object, and what happens with it now. Returns `None` before the controller was started and after it
    /// has stopped. Reconciles are recorded only if the operator serves its [debug page](crate::operator::Operator::debug_page).
    pub fn object(&self, key: &ObjectKey) -> Option<ObjectReport> {
        let controller = self.controller.get()?.upgrade()?;
        let metadata = controller
            .own_metadata
            .get()
            .and_then(|look_up| look_up(key));
        let all = ControllerReport::of(&controller, self, MOST_KEYS);
        Some(ObjectReport::of(&controller, all, key, metadata.as_ref()))
    }

    /// The keys that contain `text`, in their order: of the objects that the controller remembers or of which something was
    /// recorded.
    pub fn search(&self, text: &str) -> Vec<ObjectKey> {
        let Some(controller) = self.controller.get().and_then(Weak::upgrade) else {
            return Vec::new();
        };
        let recorded = controller.history.as_ref().map(|history| history.keys());
        let mut keys: Vec<ObjectKey> = controller.key_states.keys();
        keys.extend(recorded.into_iter().flatten());
        keys.retain(|key| key.as_str().contains(text));
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Which objects fail, and how many objects are remembered. Returns `None` if no object fails.
    fn failures(&self) -> Option<(FailureSummary, usize)> {
        let controller = self.controller.get()?.upgrade()?;
        let summary = controller.failures.summary(Instant::now())?;
        Some((summary, controller.key_states.len()))
    }
}

impl fmt::Display for ControllerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match &*self.phase.lock() {
            Phase::New => "not started",
            Phase::StandingBy => "standing by",
            Phase::CatchingUp => "no reconcile starts before its caches are up to date",
            Phase::Working => "working",
            Phase::Stopped => "stopped",
            Phase::Syncing(_) => "waiting for its caches",
        };
        f.write_str(text)?;
        for (number, kind) in self.waiting_for().iter().enumerate() {
            f.write_str(if number == 0 { ": " } else { "; " })?;
            write!(f, "{kind}")?;
        }
        if let Some(reason) = self.not_caught_up() {
            write!(f, "; cannot tell whether a cache is up to date: {reason}")?;
        }
        if let Some((summary, all)) = self.failures() {
            let FailureSummary { objects, age, text } = summary;
            write!(f, "; objects that fail: {objects} of {all}")?;
            write!(f, "; most of them for {}: {text}", Rounded(age))?;
        }
        Ok(())
    }
}

impl fmt::Debug for ControllerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ControllerStatus({}: {self})", self.name)
    }
}
