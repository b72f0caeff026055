//! The certificate authority of a sandbox.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(crate) type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// Signs the certificates of the listeners, which clients trust, and the tokens of service accounts.
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

    /// A JSON web token with these claims; `None` if the key cannot sign, which happens only if somebody has changed the data folder.
    pub(crate) fn sign(&self, claims: &Value) -> Option<String> {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let key = self.signing_key()?;
        let header = json!({"alg": "ES256", "kid": key_id(&key)});
        let signed = format!("{}.{}", part(&header), part(claims));
        let signature = key.sign(&SystemRandom::new(), signed.as_bytes()).ok()?;
        let signature = URL_SAFE_NO_PAD.encode(signature);
        Some(format!("{signed}.{signature}"))
    }

    /// The public key of the tokens as a JSON web key. The set of an unusable key is empty.
    pub(crate) fn key_set(&self) -> Value {
        let key = self.signing_key().and_then(|key| {
            // An uncompressed point: a 4, and the two coordinates.
            let (x, y) = key.public_key().as_ref().get(1..)?.split_at_checked(32)?;
            let coordinate = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
            Some(json!({
                "use": "sig", "kty": "EC", "kid": key_id(&key), "crv": "P-256", "alg": "ES256",
                "x": coordinate(x), "y": coordinate(y),
            }))
        });
        json!({"keys": key.into_iter().collect::<Vec<_>>()})
    }

    fn signing_key(&self) -> Option<EcdsaKeyPair> {
        let key = KeyPair::from_pem(&self.key).ok()?.serialize_der();
        let random = SystemRandom::new();
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key, &random).ok()
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
        // A machine has many loopback addresses.
        let own = addr.ip().to_string();
        if !addr.ip().is_unspecified() && !names.contains(&own) {
            names.push(own);
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

/// The name of a key: a hash of it.
fn key_id(key: &EcdsaKeyPair) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, key.public_key().as_ref());
    URL_SAFE_NO_PAD.encode(hash)
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

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
    use serde_json::json;

    use super::Authority;

    #[test]
    fn a_token_is_signed_by_the_published_key() {
        let authority = Authority::new().unwrap();
        let token = authority.sign(&json!({"sub": "one"})).unwrap();
        let keys = authority.key_set();
        let read = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
        let part = |name: &str| read(keys["keys"][0][name].as_str().unwrap());
        let point = [vec![4], part("x"), part("y")].concat();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        key.verify(signed.as_bytes(), &read(signature)).unwrap();
        assert!(key.verify(b"other", &read(signature)).is_err());
        let header = signed.split('.').next().unwrap();
        let header: serde_json::Value = serde_json::from_slice(&read(header)).unwrap();
        assert_eq!(header["kid"], keys["keys"][0]["kid"]);
    }
}
