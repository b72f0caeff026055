use std::sync::Arc;

use crate::client::{
    config::{FileReloader, Identity},
    transport::{CurrentTls, certified},
};

/// A client certificate and its key in files, which are read again when they change.
///
/// While the two files do not fit together, such as between the writes of one and the other, the certificate that was
/// read before stays in use.
pub(super) struct IdentityFiles {
    tls: Arc<CurrentTls>,
    files: FileReloader<Identity>,
}

impl IdentityFiles {
    pub(super) fn new(identity: Identity, tls: Arc<CurrentTls>) -> Self {
        let files = FileReloader::new(identity, Identity::is_same_as, "certificate");
        Self { tls, files }
    }

    /// Reads the files again if it is time.
    pub(super) async fn check(&self) {
        if self.files.is_due() {
            self.read().await;
        }
    }

    /// The number of certificates read so far.
    pub(super) fn generation(&self) -> u64 {
        self.tls.generation()
    }

    /// Whether the files hold another certificate than the one of generation `refused`.
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
