use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};

use tokio::time::Instant;

use super::{
    ControllerReport,
    failure_log::{Rounded, Trouble},
    hub::Hub,
};
use crate::cache::InformerStatus;

/// How a controller is doing, for readiness checks. Cloning shares it.
///
/// Displayed it says `working` and how many objects fail, or what the controller waits for.
#[derive(Clone)]
pub struct ControllerStatus {
    name: Arc<str>,
    phase: Arc<Mutex<Phase>>,
    /// What it looks at, while there is one.
    hub: Arc<OnceLock<Weak<Hub>>>,
    #[cfg(test)]
    remembered: Arc<OnceLock<Remembered>>,
}

/// How many entries a controller's maps have.
#[cfg(test)]
type Remembered = Box<dyn Fn() -> usize + Send + Sync>;

type Asked = Arc<dyn Fn() -> InformerStatus + Send + Sync>;

enum Phase {
    New,
    Syncing(Vec<Asked>),
    StandingBy,
    Working,
    Stopped,
}

impl ControllerStatus {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            phase: Arc::new(Mutex::new(Phase::New)),
            hub: Arc::default(),
            #[cfg(test)]
            remembered: Arc::default(),
        }
    }

    pub(super) fn syncing(&self, kinds: Vec<Asked>) {
        *self.phase() = Phase::Syncing(kinds);
    }

    pub(super) fn standing_by(&self) {
        *self.phase() = Phase::StandingBy;
    }

    pub(super) fn working(&self) {
        *self.phase() = Phase::Working;
    }

    pub(super) fn reports(&self, hub: &Arc<Hub>) {
        self.hub.set(Arc::downgrade(hub)).ok();
    }

    /// Lets tests look into what is remembered of keys.
    #[cfg(test)]
    pub(super) fn remembers(&self, remembered: impl Fn() -> usize + Send + Sync + 'static) {
        self.remembered.set(Box::new(remembered)).ok();
    }

    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.remembered.get().unwrap()()
    }

    pub(super) fn stopped(&self) {
        *self.phase() = Phase::Stopped;
    }

    /// The controller's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether every wired kind has synced and reconciles run.
    pub fn is_working(&self) -> bool {
        matches!(*self.phase(), Phase::Working)
    }

    /// Whether every wired kind has synced and only the turn to lead is missing.
    pub fn is_standing_by(&self) -> bool {
        matches!(*self.phase(), Phase::StandingBy)
    }

    /// The wired kinds that have not synced, with the reason; empty unless the controller waits
    /// for one.
    pub fn waiting_for(&self) -> Vec<InformerStatus> {
        match &*self.phase() {
            Phase::Syncing(kinds) => {
                let statuses = kinds.iter().map(|status| status());
                statuses.filter(|status| !status.synced).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What it does just now, with at most `limit` keys each of those in the queue, of those that
    /// wait for their own writes, and of those that failed; `None` before it was started and after
    /// it has stopped.
    pub fn report(&self, limit: usize) -> Option<ControllerReport> {
        Some(self.hub.get()?.upgrade()?.report(self, limit))
    }

    /// How many objects fail, of how many, for how long and why; `None` if none does.
    fn trouble(&self) -> Option<(Trouble, usize)> {
        let hub = self.hub.get()?.upgrade()?;
        Some((hub.failures.trouble(Instant::now())?, hub.states.len()))
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for ControllerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match &*self.phase() {
            Phase::New => "not started",
            Phase::StandingBy => "standing by",
            Phase::Working => "working",
            Phase::Stopped => "stopped",
            Phase::Syncing(_) => "waiting for its caches",
        };
        f.write_str(text)?;
        for (number, kind) in self.waiting_for().iter().enumerate() {
            f.write_str(if number == 0 { ": " } else { "; " })?;
            write!(f, "{kind}")?;
        }
        if let Some((trouble, all)) = self.trouble() {
            let Trouble {
                objects,
                lasts,
                text,
            } = trouble;
            write!(f, "; objects that fail: {objects} of {all}")?;
            write!(f, "; most of them for {}: {text}", Rounded(lasts))?;
        }
        Ok(())
    }
}

impl fmt::Debug for ControllerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ControllerStatus({}: {self})", self.name)
    }
}
