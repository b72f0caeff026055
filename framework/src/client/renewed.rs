use std::{
    future::Future,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::ConfigError;

/// Files that were read so long ago are read again before a request.
const FRESH: Duration = Duration::from_secs(10);

/// What stands in files, read again as they are renewed.
///
/// While the files do not do, as in the middle of their being written, what was read before stays in
/// use, and what is wrong with them is said once.
pub(super) struct Renewed<T> {
    is_same: fn(&T, &T) -> bool,
    /// What it is called.
    what: &'static str,
    known: Mutex<Known<T>>,
}

/// What came of reading the files.
pub(super) enum Reading {
    Same,
    New,
    /// They do not do.
    Failed,
}

struct Known<T> {
    value: T,
    checked: Instant,
    /// What was last said to be wrong.
    complaint: Option<ConfigError>,
}

impl<T: Clone> Renewed<T> {
    /// `value` was read just now; messages call it `what`.
    pub(super) fn new(value: T, is_same: fn(&T, &T) -> bool, what: &'static str) -> Self {
        Self {
            is_same,
            what,
            known: Mutex::new(Known {
                value,
                checked: Instant::now(),
                complaint: None,
            }),
        }
    }

    /// Whether it is time to read the files again. Whoever is told so has to do it: it is said to
    /// one alone.
    pub(super) fn is_due(&self) -> bool {
        let mut known = self.known();
        let due = known.checked.elapsed() >= FRESH;
        if due {
            known.checked = Instant::now();
        }
        due
    }

    /// Reads the files again by `read`, which is given what was read before, and hands what it makes
    /// of them to `put` if something else stands there now.
    pub(super) async fn read<R, F>(&self, read: impl FnOnce(T) -> F, put: impl FnOnce(R)) -> Reading
    where
        F: Future<Output = Result<(T, R), ConfigError>>,
    {
        let before = self.known().value.clone();
        let outcome = read(before).await;
        let mut known = self.known();
        match outcome {
            Ok((now, _)) if (self.is_same)(&now, &known.value) => {
                known.complaint = None;
                Reading::Same
            }
            Ok((now, made)) => {
                known.complaint = None;
                known.value = now;
                put(made);
                Reading::New
            }
            Err(error) => {
                if known.complaint.as_ref() != Some(&error) {
                    tracing::warn!("{error}: going on with the {} read before", self.what);
                    known.complaint = Some(error);
                }
                Reading::Failed
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known<T>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
