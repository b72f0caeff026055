use std::sync::Arc;

use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use rustls::sign::CertifiedKey;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};

use super::Validity;
use crate::client::{
    ConfigError,
    config::{ExecVersion, Identity, Pem},
    stack::token::bearer,
    transport::certified,
};
use crate::resource::yaml;

/// Credentials are renewed when this fraction of their life is left …
const LAST_FRACTION: i32 = 5;
/// … but not earlier than this before their end.
const MAX_AHEAD: SignedDuration = SignedDuration::from_secs(120);

/// The credentials that a plugin printed.
pub(in crate::client::stack) struct Credential {
    pub(in crate::client::stack) header: Option<HeaderValue>,
    pub(super) identity: Option<Arc<CertifiedKey>>,
    expires: Option<Timestamp>,
    renewed_from: Option<Timestamp>,
}

/// The form of `client.authentication.k8s.io`, which both versions share.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ExecCredential {
    api_version: String,
    kind: String,
    status: Option<Status>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    expiration_timestamp: Option<Timestamp>,
    #[serde(deserialize_with = "secret")]
    token: Option<SecretString>,
    client_certificate_data: Option<String>,
    #[serde(deserialize_with = "secret")]
    client_key_data: Option<SecretString>,
}

fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SecretString>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()).map(SecretString::from))
}

impl Credential {
    /// Reads the credentials in `text`, which a plugin printed at `now`. Messages call the plugin `shown`, and never
    /// quote `text`.
    pub(super) fn parse(
        text: &[u8],
        version: ExecVersion,
        shown: &str,
        now: Timestamp,
    ) -> Result<Self, ConfigError> {
        let wrong = |text: String| ConfigError::new(format!("{shown} {text}"));
        let expected = version.as_str();
        // kubectl accepts both. JSON is YAML, but can be read faster and more strictly.
        let yaml = || yaml::from_str(std::str::from_utf8(text).ok()?).ok();
        let printed = serde_json::from_slice::<ExecCredential>(text)
            .ok()
            .or_else(yaml)
            .ok_or_else(|| {
                wrong(format!(
                    "printed something else than an ExecCredential of {expected}: check its arguments, and that it prints nothing else to standard output"
                ))
            })?;
        if printed.kind != "ExecCredential" {
            return Err(wrong(
                "printed an object of another kind than ExecCredential: check its arguments"
                    .to_owned(),
            ));
        }
        if printed.api_version != expected {
            return Err(wrong(format!(
                "printed credentials of another apiVersion than {expected}: make exec.apiVersion the one that it speaks, or update it"
            )));
        }
        let status = printed
            .status
            .ok_or_else(|| wrong("printed no `status`: log in with it first".to_owned()))?;
        let header = status.token.as_ref().map(|token| {
            bearer(token.expose_secret().trim()).ok_or_else(|| {
                wrong("printed a token with characters that no token has".to_owned())
            })
        });
        let certificate = status
            .client_certificate_data
            .filter(|text| !text.is_empty());
        let identity = match (certificate, status.client_key_data) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some(Identity {
                certificate: Pem {
                    text: certificate.into_bytes(),
                    origin: format!("status.clientCertificateData that {shown} printed"),
                },
                key,
                key_origin: format!("status.clientKeyData that {shown} printed"),
                certificate_file: None,
                key_file: None,
            }),
            (Some(_), None) => {
                return Err(wrong(
                    "printed status.clientCertificateData without status.clientKeyData: update it"
                        .to_owned(),
                ));
            }
            (None, Some(_)) => {
                return Err(wrong(
                    "printed status.clientKeyData without status.clientCertificateData: update it"
                        .to_owned(),
                ));
            }
        };
        let (header, identity) = (header.transpose()?, identity);
        if header.is_none() && identity.is_none() {
            return Err(wrong(
                "printed neither a token nor a client certificate: log in with it first".to_owned(),
            ));
        }
        let expires = status.expiration_timestamp;
        Ok(Self {
            header,
            identity: identity.as_ref().map(certified).transpose()?,
            expires,
            renewed_from: expires.and_then(|expires| {
                let ahead = (expires.duration_since(now) / LAST_FRACTION).min(MAX_AHEAD);
                expires.checked_sub(ahead).ok()
            }),
        })
    }

    pub(super) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    pub(super) fn wants_renewal(&self, now: Timestamp) -> bool {
        self.renewed_from.is_some_and(|from| from <= now)
    }

    /// When the client certificate is valid.
    pub(super) fn validity(&self) -> Option<Validity> {
        Validity::of(self.identity.as_ref()?.cert.first()?)
    }

    pub(super) fn has_same_identity_as(&self, other: Option<&Self>) -> bool {
        let chain = |credential: &Self| credential.identity.clone().map(|key| key.cert.clone());
        other.and_then(chain) == chain(self)
    }

    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        self.header == other.header && self.has_same_identity_as(Some(other))
    }
}

#[cfg(test)]
mod tests;
