use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    time::Duration,
};

use pilothouse_sandbox::{HttpsServer, Sandbox};

use super::stored;
use crate::{error::Error, terminal::warn};

/// The time limit for the end of the server.
const GRACE: Duration = Duration::from_secs(2);

/// The API server of this process.
pub(super) struct Server {
    sandbox: Sandbox,
    /// The server listens as long as this exists.
    _https: HttpsServer,
    pub(super) kubeconfig: PathBuf,
    text: String,
}

impl Server {
    /// Starts the server, with the objects of the folder `data` if there is one. Its kubeconfig is in `folder`.
    pub(super) async fn start(
        port: u16,
        data: Option<&Path>,
        folder: &Path,
    ) -> Result<Self, Error> {
        let failed = |error: &dyn ToString| Error::Server(error.to_string());
        let mut builder = Sandbox::builder().simulator(true).rbac(true);
        if let Some(data) = data {
            builder = builder.data(data);
        }
        let sandbox = builder.build().map_err(|error| failed(&error))?;
        let https = sandbox
            .serve_https((Ipv4Addr::LOCALHOST, port).into())
            .await;
        let https = https.map_err(|error| {
            let hint = match error.kind() {
                std::io::ErrorKind::AddrInUse => ": choose another with --port",
                _ => "",
            };
            Error::Server(format!("port {port}: {error}{hint}"))
        })?;
        let server = Self {
            text: sandbox.kubeconfig(&https),
            sandbox,
            _https: https,
            kubeconfig: folder.join("kubeconfig"),
        };
        server.write_kubeconfig()?;
        Ok(server)
    }

    /// Writes the kubeconfig, which is in the target folder: `cargo clean` deletes it.
    pub(super) fn write_kubeconfig(&self) -> Result<(), Error> {
        write_private(&self.kubeconfig, &self.text).map_err(Error::file(&self.kubeconfig))
    }

    /// The kinds that the operator watches, and that the server only stores.
    pub(super) async fn only_stored(&self) -> BTreeSet<String> {
        // It is advice, without which the operator works as well.
        stored::only_stored(&self.sandbox).await.unwrap_or_default()
    }

    /// Ends the server.
    pub(super) async fn stop(self) {
        if tokio::time::timeout(GRACE, self.sandbox.shutdown())
            .await
            .is_err()
        {
            warn(&format!(
                "the API server did not end within {GRACE:?}: going on without waiting"
            ));
        }
    }
}

/// Replaces a file that only its owner can read, in one step.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // A temporary file is for its owner alone.
    let mut draft = tempfile::NamedTempFile::new_in(folder)?;
    draft.write_all(text.as_bytes())?;
    draft.persist(path)?;
    Ok(())
}
