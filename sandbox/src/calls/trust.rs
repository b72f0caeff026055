use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::ring;
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// A client that trusts what these authorities, as PEM, have signed. Without any it trusts nobody.
///
/// # Errors
/// The text of Go for a bundle that cannot be read.
pub(super) fn trust(authorities: &[u8]) -> Result<ClientConfig, String> {
    let bundle: Vec<_> = CertificateDer::pem_slice_iter(authorities)
        .flatten()
        .collect();
    let mut roots = RootCertStore::empty();
    for authority in &bundle {
        roots
            .add(authority.clone())
            .map_err(|_| "unable to load root certificates: unable to parse bytes as PEM block")?;
    }
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("tls: {error}"))?;
    if bundle.is_empty() {
        return Ok(builder.with_root_certificates(roots).with_no_client_auth());
    }
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
    let inner = inner.build().map_err(|error| format!("tls: {error}"))?;
    let verifier = Arc::new(Verifier { inner, bundle });
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    Ok(builder.with_no_client_auth())
}

/// Verifies certificates as rustls does, and also trusts a certificate that the bundle contains itself, as Go does: envtest gives such bundles. Of
/// that one only the names are checked.
#[derive(Debug)]
struct Verifier {
    inner: Arc<WebPkiServerVerifier>,
    bundle: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self
            .inner
            .verify_server_cert(certificate, intermediates, name, ocsp, now);
        let is_given = || {
            self.bundle
                .iter()
                .any(|given| given.as_ref() == certificate.as_ref())
        };
        match verified {
            // The second is that of a certificate whose issuer has the same name as itself, and the third that of an authority: `openssl req -x509`
            // makes such certificates.
            Err(Error::InvalidCertificate(
                CertificateError::UnknownIssuer
                | CertificateError::BadSignature
                | CertificateError::Other(_),
            )) if is_given() => {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
