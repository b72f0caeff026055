use std::sync::{Arc, OnceLock};

use super::{CurrentTls, tls::verifier};
use crate::{
    client::config::{FileReloader, Reading, Roots},
    metrics::CaReload,
};

/// Certificate authorities in a file, which is read again when it changes.
///
/// client-go does the same every 5 min (feature gate `ClientsAllowCARotation`).
pub(super) struct RootsFile {
    tls: Arc<CurrentTls>,
    file: FileReloader<Roots>,
}

impl RootsFile {
    /// `None` if the authorities are not in a file.
    pub(super) fn new(roots: Roots, tls: Arc<CurrentTls>) -> Option<Self> {
        roots.file.as_ref()?;
        let file = FileReloader::new(roots, Roots::is_same_as, "authorities");
        Some(Self { tls, file })
    }

    /// Reads the file again if it is time.
    pub(super) async fn check(&self) -> Option<CaReload> {
        if self.file.is_due() {
            Some(self.read().await)
        } else {
            None
        }
    }

    /// Reads the file now, and trusts its authorities from now on.
    pub(super) async fn read(&self) -> CaReload {
        let problem = OnceLock::new();
        let why = |problem_is| {
            let problem = &problem;
            move |error| {
                problem.get_or_init(|| problem_is);
                error
            }
        };
        let read = |before: Roots| async {
            let now = before.read_again().await;
            let now = now.map_err(why(CaReload::Unreadable))?;
            let problem = match now.pem.text.trim_ascii().is_empty() {
                true => CaReload::Empty,
                false => CaReload::Unusable,
            };
            let verifier = verifier(&now.pem).map_err(why(problem))?;
            Ok((now, verifier))
        };
        let outcome = self.file.read(read, |verifier| self.tls.trust(verifier));
        match outcome.await {
            Reading::Same => CaReload::Unchanged,
            Reading::New => CaReload::Updated,
            Reading::Failed => problem.into_inner().unwrap_or(CaReload::Unreadable),
        }
    }
}
