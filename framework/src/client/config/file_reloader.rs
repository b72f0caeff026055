use std::{future::Future, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::error::ConfigError;

/// Files are read again before a request if the last read is this long ago.
const FRESH: Duration = Duration::from_secs(10);

/// A value from files, which are read again when they change.
///
/// While the files are invalid, such as during a write, the last valid value stays in use, and the problem is logged
/// once.
pub(crate) struct FileReloader<T> {
    is_same: fn(&T, &T) -> bool,
    /// The name of the value in messages.
    what: &'static str,
    loaded: Mutex<LoadedValue<T>>,
}

/// The result of reading the files.
pub(crate) enum Reading {
    Same,
    New,
    /// The files are invalid.
    Failed,
}

struct LoadedValue<T> {
    value: T,
    checked: Instant,
    /// The problem that was logged last.
    last_error: Option<ConfigError>,
}

impl<T: Clone> FileReloader<T> {
    /// `value` was read just now. Messages call it `what`.
    pub(crate) fn new(value: T, is_same: fn(&T, &T) -> bool, what: &'static str) -> Self {
        Self {
            is_same,
            what,
            loaded: Mutex::new(LoadedValue {
                value,
                checked: Instant::now(),
                last_error: None,
            }),
        }
    }

    /// Whether it is time to read the files again. Only one caller gets true, and must then read them.
    pub(crate) fn is_due(&self) -> bool {
        let mut loaded = self.loaded.lock();
        let due = loaded.checked.elapsed() >= FRESH;
        if due {
            loaded.checked = Instant::now();
        }
        due
    }

    /// Reads the files with `read`, which gets the last value. If the new value differs, passes what `read` made of it
    /// to `put`.
    pub(crate) async fn read<R, F>(&self, read: impl FnOnce(T) -> F, put: impl FnOnce(R)) -> Reading
    where
        F: Future<Output = Result<(T, R), ConfigError>>,
    {
        let before = self.loaded.lock().value.clone();
        let outcome = read(before).await;
        let mut loaded = self.loaded.lock();
        match outcome {
            Ok((now, _)) if (self.is_same)(&now, &loaded.value) => {
                loaded.last_error = None;
                Reading::Same
            }
            Ok((now, made)) => {
                loaded.last_error = None;
                loaded.value = now;
                put(made);
                Reading::New
            }
            Err(error) => {
                if loaded.last_error.as_ref() != Some(&error) {
                    tracing::warn!("{error}: going on with the {} read before", self.what);
                    loaded.last_error = Some(error);
                }
                Reading::Failed
            }
        }
    }
}
