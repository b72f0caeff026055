use std::time::Duration;

use tokio::time::Instant;

#[cfg(feature = "self-signed")]
use super::certificates::{Keeper, Stored};
use super::{
    WebhookError,
    bundle::{Bundle, OtherAuthorities},
    files::{Folder, FolderContent},
    installer::Installer,
};
#[cfg(feature = "self-signed")]
use crate::server::parse_own;
use crate::server::{CertificateHandle, PemPair, Tls};

/// The pause between two looks at the files.
const FILE_CHECK_PERIOD: Duration = Duration::from_secs(10);

/// Where the certificate comes from.
pub(super) enum Source {
    Files(Folder),
    #[cfg(feature = "self-signed")]
    Own(Box<Keeper>),
}

impl Source {
    /// The pause between two checks, if the Secret is looked at after `check_period`.
    pub(super) fn period(&self, check_period: Duration) -> Duration {
        match self {
            Self::Files(_) => FILE_CHECK_PERIOD.min(check_period),
            #[cfg(feature = "self-signed")]
            Self::Own(_) => check_period,
        }
    }
}

/// Keeps the certificate and the configurations current.
pub(super) struct Keeping {
    handle: CertificateHandle,
    in_use: InUse,
    /// The pause between two looks at the Secret and at the configurations.
    pub(super) check_period: Duration,
}

/// The certificate in use, and what API servers verify it by.
enum InUse {
    Files(FilesInUse),
    #[cfg(feature = "self-signed")]
    Own(Stored),
}

struct FilesInUse {
    pems: PemPair,
    /// The authorities that were published.
    authorities: Option<Bundle>,
    others: OtherAuthorities,
    /// When to look at the configurations again.
    next_look: Instant,
}

impl Keeping {
    /// The first certificate, and the configurations with its authorities.
    pub(super) async fn start(
        certificates: &Source,
        installer: &Installer,
        check_period: Duration,
    ) -> Result<(Tls, Self), WebhookError> {
        let (certificate, bundle, in_use) = match certificates {
            Source::Files(folder) => {
                let content = folder.read().await?;
                let mut others = OtherAuthorities::default();
                let bundle = published(&content, &mut others, installer).await?;
                let in_use = InUse::Files(FilesInUse {
                    pems: content.pems,
                    authorities: content.authorities,
                    others,
                    next_look: Instant::now() + check_period,
                });
                (content.certificate, bundle, in_use)
            }
            #[cfg(feature = "self-signed")]
            Source::Own(keeper) => {
                let stored = keeper.current().await?;
                let (certificate, key) = stored.pair().unwrap_or_default();
                let certificate = parse_own(certificate.as_bytes(), key.as_bytes())?;
                let bundle = stored.bundle().into_bytes();
                (certificate, Some(bundle), InUse::Own(stored))
            }
        };
        installer.install(bundle.as_deref(), true).await?;
        let (tls, handle) = Tls::replaceable(certificate)?;
        let keeping = Self {
            handle,
            in_use,
            check_period,
        };
        Ok((tls, keeping))
    }

    /// The certificate that the server uses.
    #[cfg(all(test, feature = "self-signed"))]
    pub(super) fn served(&self) -> std::sync::Arc<crate::server::ServedCertificate> {
        self.handle.current()
    }

    /// Notices what has changed, and mends the configurations.
    pub(super) async fn check(
        &mut self,
        certificates: &Source,
        installer: &Installer,
    ) -> Result<(), WebhookError> {
        match (certificates, &mut self.in_use) {
            (Source::Files(folder), InUse::Files(in_use)) => {
                let content = folder.read().await?;
                let is_published = content.authorities == in_use.authorities;
                let is_due = content.authorities.is_some() && Instant::now() >= in_use.next_look;
                if !is_published || is_due {
                    let bundle = published(&content, &mut in_use.others, installer).await?;
                    installer.install(bundle.as_deref(), false).await?;
                    in_use.authorities = content.authorities;
                    in_use.next_look = Instant::now() + self.check_period;
                }
                // A certificate of a new authority is served after the next check: by then the API servers know the authority.
                if is_published && content.pems != in_use.pems {
                    self.handle.set(content.certificate);
                    in_use.pems = content.pems;
                    tracing::info!("the webhooks have a new certificate");
                }
            }
            #[cfg(feature = "self-signed")]
            (Source::Own(keeper), InUse::Own(in_use)) => {
                let stored = keeper.current().await?;
                // The bundle first: it verifies the old and the new certificate.
                let bundle = stored.bundle().into_bytes();
                installer.install(Some(&bundle), false).await?;
                if stored.pair() != in_use.pair() {
                    let (certificate, key) = stored.pair().unwrap_or_default();
                    let certificate = parse_own(certificate.as_bytes(), key.as_bytes())?;
                    self.handle.set(certificate);
                    tracing::info!("the webhooks have a new certificate");
                    *in_use = stored;
                }
            }
            // What is in use came from the same source.
            #[cfg(feature = "self-signed")]
            _ => {}
        }
        Ok(())
    }
}

/// The authorities of the files, with those that other replicas have published and may still need.
async fn published(
    content: &FolderContent,
    others: &mut OtherAuthorities,
    installer: &Installer,
) -> Result<Option<Vec<u8>>, WebhookError> {
    let Some(own) = &content.authorities else {
        return Ok(None);
    };
    let bundle = others.beside(own, installer.published().await?);
    Ok(Some(bundle.to_pem()))
}
