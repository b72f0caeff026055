use std::sync::Arc;

use crate::client::{
    config::Identity,
    renewed::Renewed,
    transport::{CurrentTls, certified},
};

/// A client certificate and its key in files, read again as they are renewed.
///
/// While the files do not fit together, as between the writing of one and the other, what was read
/// before stays in use.
pub(super) struct IdentityFiles {
    tls: Arc<CurrentTls>,
    files: Renewed<Identity>,
}

impl IdentityFiles {
    pub(super) fn new(identity: Identity, tls: Arc<CurrentTls>) -> Self {
        let files = Renewed::new(identity, Identity::is_same_as, "certificate");
        Self { tls, files }
    }

    /// Reads the files again if that is due.
    pub(super) async fn check(&self) {
        if self.files.is_due() {
            self.read().await;
        }
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
        let read = |before: Identity| async move {
            let now = before.read_again().await?;
            let shown = certified(&now)?;
            Ok((now, shown))
        };
        self.files
            .read(read, |shown| self.tls.show(Some(shown)))
            .await;
    }
}
