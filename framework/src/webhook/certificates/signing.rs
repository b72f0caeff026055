use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, Error, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};

use super::stored::{Certificate, Serving};

/// A certificate is valid from this time before it was made, because clocks differ.
const BEFORE: Duration = Duration::from_secs(60 * 60);

/// Makes an authority.
pub(super) fn authority(
    name: String,
    now: Timestamp,
    expires: Timestamp,
) -> Result<Certificate, Error> {
    let key = KeyPair::generate()?;
    let mut params = authority_params(&name);
    set_validity(&mut params, now, expires);
    let certificate = params.self_signed(&key)?.pem();
    Ok(Certificate {
        name,
        created: now,
        expires,
        certificate,
        key: key.serialize_pem(),
    })
}

/// Makes a serving certificate for these hosts.
pub(super) fn issue(
    authority: &Certificate,
    hosts: Vec<String>,
    now: Timestamp,
    expires: Timestamp,
) -> Result<Serving, Error> {
    let issuer = Issuer::new(
        authority_params(&authority.name),
        KeyPair::from_pem(&authority.key)?,
    );
    let key = KeyPair::generate()?;
    let name = hosts.first().map_or("webhook", String::as_str).to_owned();
    let mut params = CertificateParams::new(hosts.clone())?;
    set_name(&mut params, &name);
    set_validity(&mut params, now, expires);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let certificate = Certificate {
        name,
        created: now,
        expires,
        certificate: params.signed_by(&key, &issuer)?.pem(),
        key: key.serialize_pem(),
    };
    Ok(Serving {
        certificate,
        authority: authority.name.clone(),
        hosts,
    })
}

/// What an authority's certificate says of it. The signer of a later certificate has to say the same.
fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    set_name(&mut params, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    params
}

fn set_name(params: &mut CertificateParams, name: &str) {
    // A common name has at most 64 characters; the hosts stand elsewhere.
    let name: String = name.chars().take(64).collect();
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::CommonName, name);
}

fn set_validity(params: &mut CertificateParams, now: Timestamp, expires: Timestamp) {
    params.not_before = (SystemTime::from(now) - BEFORE).into();
    params.not_after = SystemTime::from(expires).into();
}
