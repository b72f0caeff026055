use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::{
    ClientConfig,
    client::{ResolvesClientCert, Resumption, danger::ServerCertVerifier},
    sign::{CertifiedKey, SingleCertAndKey},
};

/// The present TLS settings. The client's certificate and the trusted authorities may change. Each change is a new
/// generation, and connections of earlier generations get no further requests.
pub(crate) struct CurrentTls {
    spoken: ArcSwap<Spoken>,
    anonymous: Arc<dyn ResolvesClientCert>,
}

pub(super) struct Spoken {
    pub(super) config: Arc<ClientConfig>,
    pub(super) generation: u64,
}

impl CurrentTls {
    /// `config` must have no client certificate.
    pub(super) fn new(config: ClientConfig) -> Self {
        Self {
            anonymous: config.client_auth_cert_resolver.clone(),
            spoken: ArcSwap::from_pointee(Spoken {
                config: Arc::new(config),
                generation: 0,
            }),
        }
    }

    pub(super) fn spoken(&self) -> Arc<Spoken> {
        self.spoken.load_full()
    }

    /// The number of changes so far.
    pub(crate) fn generation(&self) -> u64 {
        self.spoken.load().generation
    }

    /// Presents `identity` to the server on new connections.
    pub(crate) fn show(&self, identity: Option<Arc<CertifiedKey>>) {
        let resolver = match identity {
            Some(identity) => Arc::new(SingleCertAndKey::from(identity)),
            None => self.anonymous.clone(),
        };
        self.change(|config| config.client_auth_cert_resolver = resolver.clone());
    }

    /// Verifies the server's certificate with `verifier` on new connections.
    pub(super) fn trust(&self, verifier: Arc<dyn ServerCertVerifier>) {
        self.change(|config| {
            config
                .dangerous()
                .set_certificate_verifier(verifier.clone());
        });
    }

    fn change(&self, change: impl Fn(&mut ClientConfig)) {
        self.spoken.rcu(|spoken| {
            let mut config = ClientConfig::clone(&spoken.config);
            change(&mut config);
            // A resumed session would keep the old identity and the old verification.
            config.resumption = Resumption::default();
            Spoken {
                config: Arc::new(config),
                generation: spoken.generation + 1,
            }
        });
    }
}
