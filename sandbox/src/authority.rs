//! The certificate authority of a sandbox.

use std::net::SocketAddr;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde::{Deserialize, Serialize};

pub(crate) type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// Signs the certificates of the listeners. Clients trust it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Authority {
    /// Its certificate as PEM.
    certificate: String,
    /// Its private key as PEM.
    key: String,
}

/// A server certificate, its key, and the authority that clients must trust, as PEM.
type ServerCertificate = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>, String);

impl Authority {
    /// A new authority.
    ///
    /// # Errors
    /// If the system provides no randomness.
    pub(crate) fn new() -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate()?;
        Ok(Self {
            certificate: parameters()?.self_signed(&key)?.pem(),
            key: key.serialize_pem(),
        })
    }

    /// A new server certificate for loopback and the address.
    pub(crate) fn issue(&self, addr: SocketAddr) -> Result<ServerCertificate, AnyError> {
        let issuer = Issuer::new(parameters()?, KeyPair::from_pem(&self.key)?);
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
        let key = KeyPair::generate()?;
        let certificate = server.signed_by(&key, &issuer)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let chain = vec![certificate.der().clone()];
        Ok((chain, key, self.certificate.clone()))
    }
}

fn parameters() -> Result<CertificateParams, rcgen::Error> {
    let mut authority = CertificateParams::new(Vec::new())?;
    authority
        .distinguished_name
        .push(DnType::CommonName, "pilothouse-sandbox-ca");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    Ok(authority)
}
