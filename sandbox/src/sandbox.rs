use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::DuplexStream;
use tokio_util::sync::DropGuard;

use crate::auth::Trust;
use crate::builder::Builder;
use crate::core::Core;
use crate::fault::Faults;
use crate::pods::Pods;
use crate::record::RecordedRequest;
use crate::server::{HttpsServer, serve_connection};

/// A running sandbox. Clones are handles to the same one; it ends when the last of them is dropped or after
/// [`shutdown`](Self::shutdown).
#[derive(Clone)]
pub struct Sandbox {
    core: Arc<Core>,
    admin_token: Arc<str>,
    // Connections hold the core too; only handles keep the sandbox running.
    _running: Arc<DropGuard>,
}

/// Bytes in flight on an in-memory connection, in each direction.
const PIPE: usize = 256 * 1024;

impl Sandbox {
    /// A sandbox to be configured.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn start(core: Arc<Core>, admin_token: String) -> Self {
        Self {
            _running: Arc::new(core.cancel.clone().drop_guard()),
            core,
            admin_token: admin_token.into(),
        }
    }

    /// What the parts of it share, for tests inside.
    #[cfg(test)]
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// A new connection in memory, HTTP/1.1 or HTTP/2 as the client begins. It needs no token.
    pub fn connect(&self) -> DuplexStream {
        let (client, server) = tokio::io::duplex(PIPE);
        let core = self.core.clone();
        let cancel = core.cancel.clone();
        self.core
            .spawn(serve_connection(core, server, Trust::Admin, cancel));
        client
    }

    /// Listens for HTTPS on `addr`; port 0 takes a free one.
    ///
    /// # Errors
    /// The listener's.
    pub async fn serve_https(&self, addr: SocketAddr) -> io::Result<HttpsServer> {
        HttpsServer::start(&self.core, addr).await
    }

    /// A kubeconfig for `server` as YAML: the certificate authority embedded, the administrator's token, context `sandbox`.
    pub fn kubeconfig(&self, server: &HttpsServer) -> String {
        let addr = server.addr();
        let addr = if addr.ip().is_unspecified() {
            SocketAddr::from(([127, 0, 0, 1], addr.port()))
        } else {
            addr
        };
        let ca = STANDARD.encode(server.ca_pem());
        let token = &self.admin_token;
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: sandbox\nclusters:\n- name: sandbox\n  cluster:\n    server: https://{addr}\n    \
             certificate-authority-data: {ca}\nusers:\n- name: sandbox\n  user:\n    token: {token}\ncontexts:\n- name: sandbox\n  \
             context:\n    cluster: sandbox\n    user: sandbox\n    namespace: default\n"
        )
    }

    /// Faults to inject.
    pub fn faults(&self) -> &Faults {
        &self.core.faults
    }

    /// What runs in the containers of simulated Pods.
    pub fn pods(&self) -> Pods<'_> {
        Pods::new(&self.core)
    }

    /// The last requests answered, oldest first; at most the number given to the builder.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.core.log.all()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        self.core.log.clear();
    }

    /// Ends every connection and task and waits for them.
    pub async fn shutdown(&self) {
        self.core.cancel.cancel();
        self.core.tasks.close();
        self.core.tasks.wait().await;
    }
}
