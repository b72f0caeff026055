use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::cache::InformerStatus;

/// How a controller is doing, for readiness checks. Cloning shares it.
///
/// Displayed it says `working`, or what the controller waits for.
#[derive(Clone)]
pub struct ControllerStatus {
    name: Arc<str>,
    phase: Arc<Mutex<Phase>>,
    #[cfg(test)]
    remembered: Arc<std::sync::OnceLock<Remembered>>,
}

/// How many entries a controller's maps have.
#[cfg(test)]
type Remembered = Box<dyn Fn() -> usize + Send + Sync>;

type Asked = Arc<dyn Fn() -> InformerStatus + Send + Sync>;

enum Phase {
    New,
    Syncing(Vec<Asked>),
    Working,
    Stopped,
}

impl ControllerStatus {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            phase: Arc::new(Mutex::new(Phase::New)),
            #[cfg(test)]
            remembered: Arc::default(),
        }
    }

    pub(super) fn syncing(&self, kinds: Vec<Asked>) {
        *self.phase() = Phase::Syncing(kinds);
    }

    pub(super) fn working(&self) {
        *self.phase() = Phase::Working;
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

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for ControllerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match &*self.phase() {
            Phase::New => "not started",
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
