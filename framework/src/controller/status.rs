use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use super::{ControllerReport, hub::Hub};
use crate::cache::InformerStatus;

/// How a controller is doing, for readiness checks. Cloning shares it.
///
/// Displayed it says `working`, or what the controller waits for.
#[derive(Clone)]
pub struct ControllerStatus {
    name: Arc<str>,
    phase: Arc<Mutex<Phase>>,
    reporter: Arc<OnceLock<Reporter>>,
    #[cfg(test)]
    remembered: Arc<OnceLock<Remembered>>,
}

/// How many entries a controller's maps have.
#[cfg(test)]
type Remembered = Box<dyn Fn() -> usize + Send + Sync>;

/// Looks at a controller, while there is one.
type Reporter = Box<dyn Fn(&ControllerStatus, usize) -> Option<ControllerReport> + Send + Sync>;

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
            reporter: Arc::default(),
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
        let hub = Arc::downgrade(hub);
        let report = move |status: &Self, limit| Some(hub.upgrade()?.report(status, limit));
        self.reporter.set(Box::new(report)).ok();
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
        self.reporter.get()?(self, limit)
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
        Ok(())
    }
}

impl fmt::Debug for ControllerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ControllerStatus({}: {self})", self.name)
    }
}
