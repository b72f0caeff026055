use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use tracing_subscriber::{Registry, filter::Targets, reload};

use super::{Filter, parse_filter};

/// Changes what is logged while the program runs.
///
/// It is [`Operator::log`](crate::operator::Operator::log)'s and [`Setup::log`](crate::operator::Setup::log)'s, and
/// works as soon as the command line has set up the log. Clones change the same log.
///
/// ```no_run
/// # fn look_closer(setup: &pilothouse::operator::Setup) -> Result<(), pilothouse::operator::LogError> {
/// let before = setup.log().filter()?;
/// setup.log().set("info,pilothouse::client=debug")?;
/// // … what is to be seen in detail …
/// setup.log().set(&before)
/// # }
/// ```
#[derive(Clone, Default)]
pub struct LogHandle(Arc<OnceLock<reload::Handle<Targets, Registry>>>);

/// Why the log's filter stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The text is no filter.
    #[error("log filter '{text}': {reason}")]
    #[non_exhaustive]
    Filter {
        /// The text.
        text: String,
        /// What is wrong and what to write.
        reason: String,
    },
    /// The log is not the framework's: the program has its own, or its command line has not been read.
    #[error(
        "the log is not set up by `Operator::main`: change the filter where the program sets it up"
    )]
    NotOurs,
}

impl LogHandle {
    /// Logs by this filter from now on: a level, or levels by module, as of `--log`.
    ///
    /// # Errors
    /// It is no filter, or the log is the program's own; then nothing changes.
    pub fn set(&self, filter: &str) -> Result<(), LogError> {
        let parsed = parse_filter(filter).map_err(|reason| LogError::Filter {
            text: filter.to_owned(),
            reason,
        })?;
        self.apply(parsed)
    }

    /// The filter that counts now, in a form that [`set`](Self::set) takes.
    ///
    /// # Errors
    /// The log is the program's own.
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

    /// From now on it changes this one. A process has one log: the first counts.
    pub(super) fn changes(&self, handle: reload::Handle<Targets, Registry>) {
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
    use std::sync::{Arc, Mutex};

    use tracing::subscriber::with_default;
    use tracing_subscriber::{Layer, layer::Context, prelude::*};

    use super::*;

    /// The messages that pass.
    #[derive(Clone, Default)]
    struct Passed(Arc<Mutex<Vec<tracing::Level>>>);

    impl<S: tracing::Subscriber> Layer<S> for Passed {
        fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
            self.0.lock().unwrap().push(*event.metadata().level());
        }
    }

    #[test]
    fn a_filter_counts_as_soon_as_it_is_set_and_a_wrong_one_changes_nothing() {
        let handle = LogHandle::default();
        assert_eq!(handle.set("debug"), Err(LogError::NotOurs));
        let passed = Passed::default();
        let (filter, reload) = reload::Layer::new("info".parse::<Targets>().unwrap());
        handle.changes(reload);
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
        assert_eq!(*passed.0.lock().unwrap(), [tracing::Level::DEBUG]);
    }
}
