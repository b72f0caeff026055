use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::serve_connection;
use crate::authentication::Trust;
use crate::core::Core;

/// A running HTTPS listener of a sandbox. Dropping it stops the listener. It has a certificate authority of its own.
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

    /// The certificate authority that clients must trust, as PEM.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    pub(crate) async fn start(core: &Arc<Core>, addr: SocketAddr) -> io::Result<Self> {
        let (acceptor, ca_pem) = tls(addr).map_err(io::Error::other)?;
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
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
        let stream = match accepted {
            Ok((stream, _)) => stream,
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
                Ok(stream) => serve_connection(shared, stream, Trust::TokenRequired, stop).await,
                Err(error) => tracing::debug!(%error, "a TLS handshake with the sandbox failed"),
            }
        });
    }
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// A new certificate authority, and a server certificate for loopback and the address.
fn tls(addr: SocketAddr) -> Result<(TlsAcceptor, String), AnyError> {
    let mut authority = CertificateParams::new(Vec::new())?;
    authority
        .distinguished_name
        .push(DnType::CommonName, "pilothouse-sandbox-ca");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    let authority_key = KeyPair::generate()?;
    let authority_certificate = authority.self_signed(&authority_key)?;
    let issuer = Issuer::new(authority, authority_key);

    let mut names: Vec<String> = [
        "localhost",
        "127.0.0.1",
        "::1",
        "kubernetes",
        "kubernetes.default.svc",
    ]
    .map(String::from)
    .into();
    if !addr.ip().is_unspecified() && !addr.ip().is_loopback() {
        names.push(addr.ip().to_string());
    }
    let mut server = CertificateParams::new(names)?;
    server
        .distinguished_name
        .push(DnType::CommonName, "pilothouse-sandbox");
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server.use_authority_key_identifier_extension = true;
    let server_key = KeyPair::generate()?;
    let server_certificate = server.signed_by(&server_key, &issuer)?;

    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(server_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![server_certificate.der().clone()], key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((
        TlsAcceptor::from(Arc::new(config)),
        authority_certificate.pem(),
    ))
}
