use std::time::{Duration, SystemTime};

use rcgen::{CertificateParams, DnType, Error, ExtendedKeyUsagePurpose, KeyPair};
use rustls::{crypto::ring, sign::CertifiedKey};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::TlsError;

/// The certificate is valid from this time before now, because clocks differ.
const BEFORE: Duration = Duration::from_secs(60 * 60);
/// How long a certificate is valid.
pub(super) const VALID: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Creates a certificate and its key for `names`, which are host names or addresses.
pub(super) fn make(names: &[String]) -> Result<CertifiedKey, TlsError> {
    let failed = |source| TlsError::SelfSigned {
        names: names.join(", "),
        source,
    };
    let (certificate, key) = pair(names).map_err(failed)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let chain = vec![certificate.der().clone()];
    CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(TlsError::Setup)
}

fn pair(names: &[String]) -> Result<(rcgen::Certificate, KeyPair), Error> {
    let mut certificate = CertificateParams::new(names)?;
    let name = names.first().map_or("pilothouse", String::as_str);
    certificate
        .distinguished_name
        .push(DnType::CommonName, name);
    certificate.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let now = SystemTime::now();
    certificate.not_before = (now - BEFORE).into();
    certificate.not_after = (now + VALID).into();
    let key = KeyPair::generate()?;
    Ok((certificate.self_signed(&key)?, key))
}
