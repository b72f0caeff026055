use std::net::SocketAddr;
use std::sync::Arc;
use std::{fmt, io};

use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::{CancellationToken, DropGuard};

#[cfg(feature = "client-certificates")]
use super::client_certificate::client_user;
use super::serve_connection;
use crate::authentication::Trust;
use crate::authority::{AnyError, Authority};
use crate::core::Core;

/// How a sandbox listens for HTTPS. See [`Sandbox::serve_https_with`](crate::Sandbox::serve_https_with).
#[derive(Clone, Debug)]
#[must_use = "nothing listens before `serve_https_with`"]
pub struct HttpsOptions {
    addr: SocketAddr,
    certificate: Option<Certificate>,
    #[cfg(feature = "client-certificates")]
    client_ca: Option<Vec<u8>>,
}

/// A server certificate as PEM, with its private key.
#[derive(Clone)]
struct Certificate {
    chain: Vec<u8>,
    key: Vec<u8>,
}

/// The key is a secret.
impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").finish_non_exhaustive()
    }
}

impl HttpsOptions {
    /// Listens on `addr`, with a new certificate of the sandbox's authority. Port 0 takes a free port.
    pub fn new(addr: SocketAddr) -> Self {
        Self {
            addr,
            certificate: None,
            #[cfg(feature = "client-certificates")]
            client_ca: None,
        }
    }

    /// Uses this certificate instead of a new one: the chain and the private key, both as PEM.
    pub fn certificate(mut self, chain: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        let (chain, key) = (chain.into(), key.into());
        self.certificate = Some(Certificate { chain, key });
        self
    }

    /// Accepts client certificates that an authority of `pem` has signed. As for a real server, the common name of the subject is the user, and
    /// its organisations are the groups. A request with a certificate needs no token.
    #[cfg(feature = "client-certificates")]
    pub fn client_ca(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.client_ca = Some(pem.into());
        self
    }
}

/// A running HTTPS listener of a sandbox. Dropping it stops the listener.
pub struct HttpsServer {
    addr: SocketAddr,
    ca_pem: String,
    _stop: DropGuard,
}

impl HttpsServer {
    /// The address that it listens on, with the real port.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What clients must trust, as PEM: the certificate authority of the listener, or the [given](HttpsOptions::certificate) chain.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    pub(crate) async fn start(core: &Arc<Core>, options: &HttpsOptions) -> io::Result<Self> {
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
        let (config, ca_pem) = tls(&core.authority, options).map_err(invalid)?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind(options.addr).await?;
        let addr = listener.local_addr()?;
        core.root_ca.send_replace(ca_pem.clone());
        let stop = core.cancel.child_token();
        core.spawn(accept(core.clone(), listener, acceptor, stop.clone()));
        Ok(Self {
            addr,
            ca_pem,
            _stop: stop.drop_guard(),
        })
    }
}

async fn accept(
    core: Arc<Core>,
    listener: TcpListener,
    acceptor: TlsAcceptor,
    stop: CancellationToken,
) {
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // The process is probably out of file descriptors: give other connections time to close.
                tracing::warn!(%error, "the sandbox cannot accept a connection; it waits and tries again");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                continue;
            }
        };
        // Events are small and must not wait for each other.
        let _ = stream.set_nodelay(true);
        let (shared, acceptor, stop) = (core.clone(), acceptor.clone(), stop.clone());
        core.spawn(async move {
            match acceptor.accept(stream).await {
                Ok(stream) => {
                    let trust = trust(&stream);
                    serve_connection(shared, stream, trust, Some(peer.ip()), stop).await;
                }
                Err(error) => tracing::debug!(%error, "a TLS handshake with the sandbox failed"),
            }
        });
    }
}

/// The trust in a connection: that of its client certificate, if it has one.
fn trust(stream: &TlsStream<TcpStream>) -> Trust {
    #[cfg(feature = "client-certificates")]
    {
        let certificates = stream.get_ref().1.peer_certificates();
        let user = certificates
            .and_then(|chain| chain.first())
            .and_then(client_user);
        if let Some(user) = user {
            return Trust::Certificate(Arc::new(user));
        }
    }
    let _ = stream;
    Trust::TokenRequired
}

/// The configuration of the listener, and what clients must trust.
fn tls(authority: &Authority, options: &HttpsOptions) -> Result<(ServerConfig, String), AnyError> {
    let (chain, key, trusted) = match &options.certificate {
        Some(given) => {
            let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&given.chain).collect();
            let chain = chain.map_err(|error| format!("the server certificate: {error}"))?;
            let key = PrivateKeyDer::from_pem_slice(&given.key)
                .map_err(|error| format!("the private key of the server: {error}"))?;
            let trusted = String::from_utf8_lossy(&given.chain).into_owned();
            (chain, key, trusted)
        }
        None => authority.issue(options.addr)?,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?;
    #[cfg(feature = "client-certificates")]
    let builder = match &options.client_ca {
        Some(pem) => {
            let mut roots = rustls::RootCertStore::empty();
            for authority in CertificateDer::pem_slice_iter(pem) {
                let authority =
                    authority.map_err(|error| format!("the authority of clients: {error}"))?;
                roots.add(authority)?;
            }
            let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(
                Arc::new(roots),
                provider,
            );
            // A client without a certificate may send a token.
            builder.with_client_cert_verifier(verifier.allow_unauthenticated().build()?)
        }
        None => builder.with_no_client_auth(),
    };
    #[cfg(not(feature = "client-certificates"))]
    let builder = builder.with_no_client_auth();
    let mut config = builder.with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((config, trusted))
}
