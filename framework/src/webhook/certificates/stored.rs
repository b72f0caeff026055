use std::{collections::BTreeMap, fmt, time::Duration};

use jiff::Timestamp;
use k8s_openapi::{ByteString, api::core::v1::Secret};
use serde::{Deserialize, Serialize};

use crate::resource::{Object, ObjectMeta};

/// The entry of the Secret from which an operator reads all others. They are there for people and tools.
const STATE: &str = "certificates.json";
const BUNDLE: &str = "ca.crt";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";

/// What the Secret holds.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::webhook) struct Stored {
    /// The authorities, the oldest first.
    pub(super) authorities: Vec<Certificate>,
    /// The certificate that the replicas serve.
    pub(super) serving: Option<Serving>,
}

/// A certificate with its key, and when it is valid.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Certificate {
    /// The common name.
    pub(super) name: String,
    pub(super) created: Timestamp,
    pub(super) expires: Timestamp,
    pub(super) certificate: String,
    pub(super) key: String,
}

/// A serving certificate.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Serving {
    #[serde(flatten)]
    pub(super) certificate: Certificate,
    /// The common name of its authority.
    pub(super) authority: String,
    /// The host names that it is valid for.
    pub(super) hosts: Vec<String>,
}

impl Certificate {
    /// Whether two thirds of its life have passed.
    pub(super) fn is_old(&self, now: Timestamp) -> bool {
        now.duration_since(self.created) >= self.expires.duration_since(self.created) * 2 / 3
    }

    pub(super) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires <= now
    }

    pub(super) fn age(&self, now: Timestamp) -> Duration {
        // The clock of another replica may be ahead.
        now.duration_since(self.created)
            .try_into()
            .unwrap_or_default()
    }
}

impl Stored {
    /// The certificates of all authorities as PEM.
    pub(in crate::webhook) fn bundle(&self) -> String {
        let all = self.authorities.iter();
        all.map(|authority| authority.certificate.as_str())
            .collect()
    }

    /// The serving certificate and its key as PEM.
    pub(in crate::webhook) fn pair(&self) -> Option<(&str, &str)> {
        let serving = &self.serving.as_ref()?.certificate;
        Some((&serving.certificate, &serving.key))
    }

    /// Reads a Secret.
    ///
    /// # Errors
    /// What is wrong with it, without any of its content.
    pub(super) fn read(secret: &Secret) -> Result<Self, String> {
        let state = secret.data.as_ref().and_then(|data| data.get(STATE));
        let state = state.ok_or_else(|| format!("it has no entry `{STATE}`"))?;
        serde_json::from_slice(&state.0)
            .map_err(|_| format!("its entry `{STATE}` is not as an operator writes it"))
    }

    /// The Secret, with the metadata of the one that was read.
    pub(super) fn write(&self, metadata: ObjectMeta) -> Result<Secret, serde_json::Error> {
        let (certificate, key) = self.pair().unwrap_or_default();
        let entries = [
            (STATE, serde_json::to_string(self)?),
            (BUNDLE, self.bundle()),
            (CERTIFICATE, certificate.to_owned()),
            (KEY, key.to_owned()),
        ];
        let data = entries.map(|(name, text)| (name.to_owned(), ByteString(text.into_bytes())));
        let mut secret = Secret {
            data: Some(BTreeMap::from(data)),
            type_: Some("kubernetes.io/tls".into()),
            ..Secret::default()
        };
        *secret.metadata_mut() = metadata;
        Ok(secret)
    }
}

/// Shows no key.
impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authorities = self.authorities.iter().map(|one| &one.name);
        f.debug_struct("Stored")
            .field("authorities", &authorities.collect::<Vec<_>>())
            .field(
                "expires",
                &self.serving.as_ref().map(|one| one.certificate.expires),
            )
            .finish_non_exhaustive()
    }
}
