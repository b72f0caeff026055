use std::{path::PathBuf, time::Duration};

use super::{DEFAULT_FILTER, LogHandle, parse_filter};
use crate::operator::settings::{Origin, SettingsFile};

/// The time between two checks of the file. A mounted ConfigMap takes about a minute to change, and reading a page of
/// text is cheap.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// A settings file whose `log` setting is applied while the program runs.
pub(in crate::operator) struct WatchedSettings {
    pub(in crate::operator) file: SettingsFile,
    /// The origin of the filter at the start.
    pub(in crate::operator) origin: Origin,
}

impl WatchedSettings {
    /// Sets the log filter each time the file has a new one. Never returns. A flag or a variable keeps its priority over
    /// the file. A change of another setting is only logged, because it counts from the next start.
    pub(in crate::operator) async fn watch(mut self, log: LogHandle) {
        let mut failed = None;
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            match read(self.file.path.clone()).await {
                Ok(file) => {
                    failed = None;
                    self.apply(file, &log);
                }
                // A file that is being replaced may be missing for a moment. An equal error is logged only once.
                Err(error) if failed.as_ref() == Some(&error) => {}
                Err(error) => {
                    tracing::warn!("{error}: the previous settings stay in use");
                    failed = Some(error);
                }
            }
        }
    }

    fn apply(&mut self, file: SettingsFile, log: &LogHandle) {
        let path = file.path.display().to_string();
        let other = self.file.differences(&file);
        let other: Vec<&str> = other.into_iter().filter(|name| *name != "log").collect();
        if !other.is_empty() {
            tracing::info!(
                "{path} changed: the new values of {} apply from the next start",
                other.join(", ")
            );
        }
        let same = self.file.get("log").map(|(values, _)| values)
            == file.get("log").map(|(values, _)| values);
        self.file = file;
        if same {
            return;
        }
        let (filter, origin) = match self.file.get("log") {
            Some((values, origin)) if !values.is_empty() => (values.join(","), origin),
            // As at the start, an empty list sets nothing.
            _ => (DEFAULT_FILTER.to_owned(), Origin::Default),
        };
        if matches!(self.origin, Origin::Flag | Origin::Variable(_)) {
            tracing::info!(
                "the log filter in {path} changed, but the one from {} has priority",
                self.origin
            );
            return;
        }
        match parse_filter(&filter) {
            Ok(parsed) => {
                // Log before or after the change, so that one of the two filters passes the message.
                let before = tracing::enabled!(tracing::Level::INFO);
                let log_change = || tracing::info!("the log filter is now {filter} ({origin})");
                if before {
                    log_change();
                }
                if let Err(error) = log.apply(parsed) {
                    tracing::warn!("{path}: {error}");
                }
                if !before {
                    log_change();
                }
            }
            Err(reason) => tracing::warn!("{origin}: invalid value '{filter}' for log: {reason}"),
        }
    }
}

async fn read(path: PathBuf) -> Result<SettingsFile, String> {
    let read = tokio::task::spawn_blocking(move || SettingsFile::read(&path));
    read.await.unwrap_or_else(|error| Err(error.to_string()))
}
