use std::{io, sync::Arc};

use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError,
    InvalidMessage, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::CryptoProvider,
    sign::CertifiedKey,
};
use rustls_pki_types::{
    CertificateDer, PrivateKeyDer, ServerName, UnixTime,
    pem::{Error as PemError, PemObject},
};
use secrecy::ExposeSecret;

use super::{CurrentTls, roots_file::RootsFile};
use crate::client::{
    ConnectProblem,
    config::{ConfigError, Identity, Pem, Roots, TlsConfig},
};

/// The names of protocols in TLS (RFC 7301).
pub(super) const HTTP2: &[u8] = b"h2";
pub(super) const HTTP1: &[u8] = b"http/1.1";

/// The TLS settings of the configuration, and where the trusted authorities come from.
pub(crate) struct Tls {
    pub(super) current: Arc<CurrentTls>,
    /// The file of the authorities, if they are in one.
    pub(super) file: Option<RootsFile>,
    /// The name that the server's certificate must be valid for, if it is not the host.
    pub(super) server_name: Option<ServerName<'static>>,
    pub(super) roots: String,
}

impl Tls {
    pub(crate) fn new(tls: &TlsConfig) -> Result<Self, ConfigError> {
        let (verifier, roots): (Arc<dyn ServerCertVerifier>, _) = match &tls.roots {
            Some(roots) if tls.insecure => {
                return Err(ConfigError::new(format!(
                    "insecure-skip-tls-verify is set and a certificate authority is given ({}): remove one of them",
                    roots.pem.origin
                )));
            }
            None if tls.insecure => {
                tracing::warn!(
                    "insecure-skip-tls-verify: the API server's certificate is not checked, anyone on the way can read and change everything"
                );
                (Arc::new(AnyCertificate(provider())), "nothing".to_owned())
            }
            Some(roots) => (
                verifier(&roots.pem)?,
                format!("the certificate authority ({})", roots.pem.origin),
            ),
            None => {
                let roots = system();
                if roots.is_empty() {
                    return Err(ConfigError::new(
                        "the kubeconfig names no certificate-authority and the system has none: name one, or install ca-certificates",
                    ));
                }
                (of_roots(roots)?, SYSTEM.to_owned())
            }
        };
        let current = Arc::new(CurrentTls::new(client(verifier)?));
        let server_name = tls.server_name.clone().map(|name| {
            ServerName::try_from(name.clone()).map_err(|_| {
                ConfigError::new(format!(
                    "tls-server-name `{name}` is neither a host name nor an address"
                ))
            })
        });
        if let Some(identity) = &tls.identity {
            current.show(Some(certified(identity)?));
        }
        let file = tls.roots.clone();
        Ok(Self {
            file: file.and_then(|roots| RootsFile::new(roots, current.clone())),
            current,
            server_name: server_name.transpose()?,
            roots,
        })
    }
}

/// TLS to a proxy, and where its trusted authorities come from: the system, and `roots`, which are those of the
/// cluster.
pub(super) fn with_proxy(roots: Option<&Roots>) -> Result<(ClientConfig, String), ConfigError> {
    let mut store = system();
    let mut origin = SYSTEM.to_owned();
    if let Some(roots) = roots {
        store.roots.extend(only(&roots.pem)?.roots);
        origin = format!(
            "{SYSTEM} and the certificate authority ({})",
            roots.pem.origin
        );
    }
    if store.is_empty() {
        return Err(ConfigError::new(
            "the proxy's certificate cannot be checked, since the system has no certificate authorities: install ca-certificates",
        ));
    }
    let mut config = client(of_roots(store)?)?;
    config.alpn_protocols = vec![HTTP1.to_vec()];
    Ok((config, origin))
}

const SYSTEM: &str = "the system's certificate authorities";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// TLS without a client certificate. Each connection names its protocols.
fn client(verifier: Arc<dyn ServerCertVerifier>) -> Result<ClientConfig, ConfigError> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| ConfigError::new(format!("TLS cannot be set up: {error}")))?;
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
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

/// Verifies the server's certificate with the authorities of `pem` only.
pub(super) fn verifier(pem: &Pem) -> Result<Arc<WebPkiServerVerifier>, ConfigError> {
    of_roots(only(pem)?)
}

fn of_roots(roots: RootCertStore) -> Result<Arc<WebPkiServerVerifier>, ConfigError> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider())
        .build()
        .map_err(|error| ConfigError::new(format!("TLS cannot be set up: {error}")))
}

/// An authority that cannot be used does not make the others useless, as with kubectl.
fn only(pem: &Pem) -> Result<RootCertStore, ConfigError> {
    let mut store = RootCertStore::empty();
    let mut unusable = None;
    for certificate in certificates(pem, "the certificate authority")? {
        if let Err(error) = store.add(certificate) {
            unusable = Some(format!(
                "the certificate authority ({}) holds a certificate that cannot be used: {error}",
                pem.origin
            ));
        }
    }
    match unusable {
        Some(unusable) if store.is_empty() => Err(ConfigError::new(unusable)),
        Some(unusable) => {
            tracing::warn!("{unusable}: it is ignored, and the others are used");
            Ok(store)
        }
        None => Ok(store),
    }
}

fn system() -> RootCertStore {
    let mut store = RootCertStore::empty();
    // Some files of the system usually do not parse. That does no harm.
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    store
}

/// The reason why a handshake failed. rustls' errors are inside `io::Error`.
pub(super) fn of_handshake(error: io::Error, roots: &str, name: &ServerName<'_>) -> ConnectProblem {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    let wrong = match inner {
        Some(TlsError::InvalidCertificate(wrong)) => wrong,
        Some(TlsError::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            return ConnectProblem::NoTls;
        }
        Some(TlsError::AlertReceived(AlertDescription::CertificateRequired)) => {
            return ConnectProblem::CertificateRequired;
        }
        _ => return ConnectProblem::Tls(error),
    };
    match wrong {
        CertificateError::UnknownIssuer
        | CertificateError::BadSignature
        | CertificateError::UnsupportedSignatureAlgorithmContext { .. } => {
            ConnectProblem::UntrustedCertificate {
                roots: roots.to_owned(),
            }
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            ConnectProblem::WrongName {
                expected: name.to_str().into_owned(),
            }
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => ConnectProblem::OutdatedCertificate,
        _ => ConnectProblem::Tls(error),
    }
}

/// A client certificate and its key, ready to be presented.
pub(crate) fn certified(identity: &Identity) -> Result<Arc<CertifiedKey>, ConfigError> {
    let chain = certificates(&identity.certificate, "the client certificate")?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.expose_secret().as_bytes());
    let key = key.map_err(|_| {
        ConfigError::new(format!(
            "the client key ({}) holds no readable private key: it must be PEM and not encrypted",
            identity.key_origin
        ))
    })?;
    let certified = CertifiedKey::from_der(chain, key, &provider()).map_err(|error| {
        ConfigError::new(format!(
            "the client certificate ({}) and its key ({}) cannot be used together: {error}",
            identity.certificate.origin, identity.key_origin
        ))
    })?;
    Ok(Arc::new(certified))
}

/// Accepts any certificate, for `insecure-skip-tls-verify`. Signatures are still checked.
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
