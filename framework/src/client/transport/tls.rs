use std::sync::Arc;

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::CryptoProvider,
    sign::CertifiedKey,
};
use rustls_pki_types::{
    CertificateDer, PrivateKeyDer, ServerName, UnixTime,
    pem::{Error as PemError, PemObject},
};
use secrecy::ExposeSecret;

use super::CurrentTls;
use crate::client::config::{ConfigError, Identity, Pem, TlsConfig};

/// TLS as the configuration asks for it, and where the authorities that count come from.
pub(crate) struct Tls {
    pub(super) current: Arc<CurrentTls>,
    /// The name that the server's certificate must be for, when it is not the host's.
    pub(super) server_name: Option<ServerName<'static>>,
    pub(super) roots: String,
}

impl Tls {
    pub(crate) fn new(tls: &TlsConfig) -> Result<Self, ConfigError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| ConfigError::new(format!("TLS cannot be set up: {error}")))?;
        let (builder, roots) = if tls.insecure {
            if let Some(pem) = &tls.roots {
                return Err(ConfigError::new(format!(
                    "insecure-skip-tls-verify is set and a certificate authority is given ({}): remove one of them",
                    pem.origin
                )));
            }
            tracing::warn!(
                "insecure-skip-tls-verify: the API server's certificate is not checked, anyone on the way can read and change everything"
            );
            let verifier = Arc::new(AnyCertificate(provider));
            let builder = builder
                .dangerous()
                .with_custom_certificate_verifier(verifier);
            (builder, "nothing".to_owned())
        } else {
            let (store, origin) = match &tls.roots {
                Some(pem) => (
                    only(pem)?,
                    format!("the certificate authority ({})", pem.origin),
                ),
                None => (system()?, "the system's certificate authorities".to_owned()),
            };
            (builder.with_root_certificates(store), origin)
        };
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let server_name = tls.server_name.clone().map(|name| {
            ServerName::try_from(name.clone()).map_err(|_| {
                ConfigError::new(format!(
                    "tls-server-name `{name}` is neither a host name nor an address"
                ))
            })
        });
        let current = CurrentTls::new(config);
        if let Some(identity) = &tls.identity {
            current.show(Some(certified(identity)?));
        }
        Ok(Self {
            current: Arc::new(current),
            server_name: server_name.transpose()?,
            roots,
        })
    }
}

/// The certificates of a PEM text.
fn certificates(pem: &Pem, what: &str) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let certificates: Result<Vec<_>, PemError> =
        CertificateDer::pem_slice_iter(&pem.text).collect();
    let unreadable = || {
        ConfigError::new(format!(
            "{what} ({}) holds no readable certificate: it must be PEM, beginning with -----BEGIN CERTIFICATE-----",
            pem.origin
        ))
    };
    let certificates = certificates.map_err(|_| unreadable())?;
    if certificates.is_empty() {
        return Err(unreadable());
    }
    Ok(certificates)
}

fn only(pem: &Pem) -> Result<RootCertStore, ConfigError> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(pem, "the certificate authority")? {
        store.add(certificate).map_err(|error| {
            ConfigError::new(format!(
                "the certificate authority ({}) holds a certificate that cannot be used: {error}",
                pem.origin
            ))
        })?;
    }
    Ok(store)
}

fn system() -> Result<RootCertStore, ConfigError> {
    let mut store = RootCertStore::empty();
    // Single files that do not parse are usual and harm nothing.
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if store.is_empty() {
        return Err(ConfigError::new(
            "the kubeconfig names no certificate-authority and the system has none: name one, or install ca-certificates",
        ));
    }
    Ok(store)
}

/// A client certificate and its key, ready to be shown.
pub(crate) fn certified(identity: &Identity) -> Result<Arc<CertifiedKey>, ConfigError> {
    let chain = certificates(&identity.certificate, "the client certificate")?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.expose_secret().as_bytes());
    let key = key.map_err(|_| {
        ConfigError::new(format!(
            "the client key ({}) holds no readable private key: it must be PEM and not encrypted",
            identity.key_origin
        ))
    })?;
    let provider = rustls::crypto::ring::default_provider();
    let certified = CertifiedKey::from_der(chain, key, &provider).map_err(|error| {
        ConfigError::new(format!(
            "the client certificate ({}) and its key ({}) cannot be used together: {error}",
            identity.certificate.origin, identity.key_origin
        ))
    })?;
    Ok(Arc::new(certified))
}

/// Takes any certificate, for `insecure-skip-tls-verify`; signatures are checked still.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
