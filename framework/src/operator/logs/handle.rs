use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use tracing_subscriber::{Registry, filter::Targets, reload};

use super::{Filter, parse_filter};

/// Changes the log filter while the program runs.
///
/// [`Operator::log`](crate::operator::Operator::log) and [`Setup::log`](crate::operator::Setup::log) return it. It
/// works after the command line has set up the log. Clones change the same log.
///
/// ```no_run
/// # fn look_closer(setup: &pilothouse::operator::Setup) -> Result<(), pilothouse::operator::LogError> {
/// let before = setup.log().filter()?;
/// setup.log().set("info,pilothouse::client=debug")?;
/// // … work with detailed logs …
/// setup.log().set(&before)
/// # }
/// ```
#[derive(Clone, Default)]
pub struct LogHandle(Arc<OnceLock<reload::Handle<Targets, Registry>>>);

/// Why the log filter was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The text is not a valid filter.
    #[error("log filter '{text}': {reason}")]
    #[non_exhaustive]
    Filter {
        /// The text.
        text: String,
        /// The problem, and what to write.
        reason: String,
    },
    /// The framework has not set up the log: the program did, or its command line has not been parsed yet.
    #[error(
        "the log is not set up by `Operator::main`: change the filter where the program sets it up"
    )]
    NotOurs,
}

impl LogHandle {
    /// Sets the filter: a level, or levels by module, as for `--log`.
    ///
    /// # Errors
    /// [`LogError::Filter`] if the text is not a valid filter, [`LogError::NotOurs`] if the framework has not set up the
    /// log. Then nothing changes.
    pub fn set(&self, filter: &str) -> Result<(), LogError> {
        let parsed = parse_filter(filter).map_err(|reason| LogError::Filter {
            text: filter.to_owned(),
            reason,
        })?;
        self.apply(parsed)
    }

    /// The current filter, in the format of [`set`](Self::set).
    ///
    /// # Errors
    /// [`LogError::NotOurs`] if the framework has not set up the log.
    pub fn filter(&self) -> Result<String, LogError> {
        let current = self.0.get().and_then(reload::Handle::clone_current);
        current
            .map(|filter| Filter(filter).to_string())
            .ok_or(LogError::NotOurs)
    }

    pub(super) fn apply(&self, filter: Filter) -> Result<(), LogError> {
        let handle = self.0.get().ok_or(LogError::NotOurs)?;
        handle.reload(filter.0).map_err(|_| LogError::NotOurs)
    }

    /// Connects the handle with the process's log. A process has one log, so only the first call counts.
    pub(super) fn connect(&self, handle: reload::Handle<Targets, Registry>) {
        let _ = self.0.set(handle);
    }
}

impl fmt::Debug for LogHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LogHandle")
            .field(&self.filter().ok())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tracing::subscriber::with_default;
    use tracing_subscriber::{Layer, layer::Context, prelude::*};

    use super::*;

    /// The levels of the messages that pass.
    #[derive(Clone, Default)]
    struct Passed(Arc<Mutex<Vec<tracing::Level>>>);

    impl<S: tracing::Subscriber> Layer<S> for Passed {
        fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
            self.0.lock().push(*event.metadata().level());
        }
    }

    #[test]
    fn a_filter_applies_at_once_and_an_invalid_one_changes_nothing() {
        let handle = LogHandle::default();
        assert_eq!(handle.set("debug"), Err(LogError::NotOurs));
        let passed = Passed::default();
        let (filter, reload) = reload::Layer::new("info".parse::<Targets>().unwrap());
        handle.connect(reload);
        let log = tracing_subscriber::registry().with(passed.clone().with_filter(filter));
        with_default(log, || {
            tracing::debug!("before");
            handle.set("debug").unwrap();
            tracing::debug!("between");
            let wrong = handle.set("loud=loud").unwrap_err().to_string();
            assert!(wrong.starts_with("log filter 'loud=loud': "), "{wrong}");
            assert_eq!(handle.filter().as_deref(), Ok("debug"));
            handle.set("warn").unwrap();
            tracing::info!("after");
        });
        assert_eq!(*passed.0.lock(), [tracing::Level::DEBUG]);
    }
}
