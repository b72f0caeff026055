use std::{fmt, io, sync::Arc};

use super::{
    clock::{Clock, SystemClock},
    term::Term,
    watchdog::{OverdueAction, Watchdog},
};

/// The clock of an election, and how the watchdog of a term waits on it.
#[derive(Clone)]
pub(crate) struct ElectionClock {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) start_watchdog: fn(Arc<Term>, OverdueAction) -> io::Result<Watchdog>,
}

impl ElectionClock {
    /// The system's clock, and a thread as watchdog.
    pub(super) fn system() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            start_watchdog: Watchdog::start,
        }
    }
}

impl fmt::Debug for ElectionClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ElectionClock").finish_non_exhaustive()
    }
}
