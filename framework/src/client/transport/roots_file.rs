use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{CurrentTls, tls::verifier};
use crate::client::{ConfigError, config::Roots};

/// A file that was read so long ago is read again before a request.
const FRESH: Duration = Duration::from_secs(10);

/// Certificate authorities in a file, read again as they change.
///
/// client-go does the same (feature gate `ClientsAllowCARotation`), every 5 min. While the file does
/// not do, as in the middle of its being written, the authorities read before count on.
pub(super) struct RootsFile {
    path: PathBuf,
    tls: Arc<CurrentTls>,
    known: Mutex<Known>,
}

struct Known {
    roots: Roots,
    checked: Instant,
    /// What was last said to be wrong, so that it is said once.
    complaint: Option<ConfigError>,
}

impl RootsFile {
    /// `None` when the authorities do not stand in a file.
    pub(super) fn new(roots: Roots, tls: Arc<CurrentTls>) -> Option<Self> {
        Some(Self {
            path: roots.file.clone()?,
            tls,
            known: Mutex::new(Known {
                roots,
                checked: Instant::now(),
                complaint: None,
            }),
        })
    }

    /// Reads the file again if that is due.
    pub(super) async fn check(&self) {
        {
            let mut known = self.known();
            if known.checked.elapsed() < FRESH {
                return;
            }
            // Taken before the file is read, so that only this request reads it.
            known.checked = Instant::now();
        }
        self.read().await;
    }

    /// Reads the file now; others count from now on if they stand there.
    pub(super) async fn read(&self) {
        let origin = self.known().roots.pem.origin.clone();
        let read = async {
            let now = Roots::read(self.path.clone(), origin).await?;
            let verifier = verifier(&now.pem)?;
            Ok((now, verifier))
        };
        let outcome: Result<_, ConfigError> = read.await;
        let mut known = self.known();
        match outcome {
            Ok((now, _)) if now.pem.text == known.roots.pem.text => known.complaint = None,
            Ok((now, verifier)) => {
                tracing::info!("{} changed: from now on it counts", now.pem.origin);
                known.complaint = None;
                known.roots = now;
                self.tls.trust(verifier);
            }
            Err(error) => {
                if known.complaint.as_ref() != Some(&error) {
                    tracing::warn!("{error}: going on with the authorities read before");
                    known.complaint = Some(error);
                }
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
