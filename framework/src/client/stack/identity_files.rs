use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::client::{
    ConfigError,
    config::Identity,
    transport::{CurrentTls, certified},
};

/// Files that were read so long ago are read again before a request.
const FRESH: Duration = Duration::from_secs(10);

/// A client certificate and its key in files, read again as they are renewed.
///
/// While the files do not fit together, as between the writing of one and the other, what was read
/// before stays in use.
pub(super) struct IdentityFiles {
    tls: Arc<CurrentTls>,
    known: Mutex<Known>,
}

struct Known {
    identity: Identity,
    checked: Instant,
    /// What was last said to be wrong, so that it is said once.
    complaint: Option<ConfigError>,
}

impl IdentityFiles {
    pub(super) fn new(identity: Identity, tls: Arc<CurrentTls>) -> Self {
        Self {
            tls,
            known: Mutex::new(Known {
                identity,
                checked: Instant::now(),
                complaint: None,
            }),
        }
    }

    /// Reads the files again if that is due.
    pub(super) async fn check(&self) {
        {
            let mut known = self.known();
            if known.checked.elapsed() < FRESH {
                return;
            }
            // Taken before the files are read, so that only this request reads them.
            known.checked = Instant::now();
        }
        self.read().await;
    }

    /// Counts the certificates.
    pub(super) fn generation(&self) -> u64 {
        self.tls.generation()
    }

    /// Whether the files hold another certificate than that of `refused`.
    pub(super) async fn is_newer(&self, refused: u64) -> bool {
        self.read().await;
        self.generation() != refused
    }

    async fn read(&self) {
        let before = self.known().identity.clone();
        let read = async {
            let now = before.read_again().await?;
            let shown = certified(&now)?;
            Ok((now, shown))
        };
        let outcome: Result<_, ConfigError> = read.await;
        let mut known = self.known();
        match outcome {
            Ok((now, _)) if now.is_same_as(&known.identity) => known.complaint = None,
            Ok((now, shown)) => {
                known.complaint = None;
                known.identity = now;
                self.tls.show(Some(shown));
            }
            Err(error) => {
                if known.complaint.as_ref() != Some(&error) {
                    tracing::warn!("{error}: going on with the certificate read before");
                    known.complaint = Some(error);
                }
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
