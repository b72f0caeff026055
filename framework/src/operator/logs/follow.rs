use std::{path::PathBuf, time::Duration};

use super::{DEFAULT_FILTER, LogHandle, parse_filter};
use crate::operator::settings::{Origin, SettingsFile};

/// How often the file is looked at. A ConfigMap that is mounted takes a minute to change; a page of text is read in no
/// time.
const PAUSE: Duration = Duration::from_secs(2);

/// A file of settings whose `log` counts while the program runs.
pub(in crate::operator) struct Followed {
    pub(in crate::operator) file: SettingsFile,
    /// Where the filter came from at the start.
    pub(in crate::operator) origin: Origin,
}

impl Followed {
    /// Sets the log's filter whenever the file says another one, for ever. What a flag or the environment says comes
    /// before it here, too. Other settings count from the next start; that one changed is said.
    pub(in crate::operator) async fn follow(mut self, log: LogHandle) {
        let mut failed = None;
        loop {
            tokio::time::sleep(PAUSE).await;
            match read(self.file.path.clone()).await {
                Ok(file) => {
                    failed = None;
                    self.changed(file, &log);
                }
                // A file that is being replaced may be away for a moment; what is said once is enough.
                Err(error) if failed.as_ref() == Some(&error) => {}
                Err(error) => {
                    tracing::warn!("{error}; what it said before counts");
                    failed = Some(error);
                }
            }
        }
    }

    fn changed(&mut self, file: SettingsFile, log: &LogHandle) {
        let path = file.path.display().to_string();
        let other = self.file.differences(&file);
        let other: Vec<&str> = other.into_iter().filter(|name| *name != "log").collect();
        if !other.is_empty() {
            tracing::info!(
                "{path} changed: {} from the next start on",
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
            Some((values, origin)) => (values.join(","), origin),
            None => (DEFAULT_FILTER.to_owned(), Origin::Default),
        };
        if matches!(self.origin, Origin::Flag | Origin::Variable(_)) {
            tracing::info!(
                "the log filter of {path} changed; that of {} comes before it",
                self.origin
            );
            return;
        }
        match parse_filter(&filter) {
            Ok(parsed) => {
                // Before or after, so that one of the two filters lets it pass.
                let before = tracing::enabled!(tracing::Level::INFO);
                let tell = || tracing::info!("the log filter is {filter} from now on ({origin})");
                if before {
                    tell();
                }
                if let Err(error) = log.apply(parsed) {
                    tracing::warn!("{path}: {error}");
                }
                if !before {
                    tell();
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
