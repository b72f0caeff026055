use std::{collections::HashMap, fmt, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use rustls_pki_types::{CertificateDer, pem::PemObject};
use tokio::time::Instant;

/// How long an authority stays in the configurations after this replica has seen that its own files do not have it. By then every
/// other replica has the new files: a kubelet updates a mounted Secret within a few minutes.
const OVERLAP: Duration = Duration::from_secs(60 * 60);
/// The length of a line of PEM.
const LINE: usize = 64;

/// The certificates of authorities by which API servers verify webhooks.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Bundle(Vec<CertificateDer<'static>>);

impl Bundle {
    /// Reads PEM. `None` if it has no certificate, or one that is not valid PEM.
    pub(super) fn parse(pem: &[u8]) -> Option<Self> {
        let all = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
        all.ok().filter(|all| !all.is_empty()).map(Self)
    }

    /// With those of another bundle that it does not have.
    pub(super) fn and(mut self, other: Self) -> Self {
        for one in other.0 {
            if !self.0.contains(&one) {
                self.0.push(one);
            }
        }
        self
    }

    /// As PEM.
    pub(super) fn to_pem(&self) -> Vec<u8> {
        let mut pem = String::new();
        for one in &self.0 {
            pem += "-----BEGIN CERTIFICATE-----\n";
            let text = STANDARD.encode(one);
            for (place, character) in text.chars().enumerate() {
                if place > 0 && place % LINE == 0 {
                    pem.push('\n');
                }
                pem.push(character);
            }
            pem += "\n-----END CERTIFICATE-----\n";
        }
        pem.into_bytes()
    }
}

impl fmt::Debug for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bundle({})", self.0.len())
    }
}

/// The authorities of other replicas: those in the configurations that this replica's files do not have.
///
/// While a Secret with a new authority reaches the nodes, some replicas have new files and some have old ones. So an authority stays
/// until no replica can need it.
#[derive(Debug, Default)]
pub(super) struct OtherAuthorities(HashMap<CertificateDer<'static>, Instant>);

impl OtherAuthorities {
    /// What the configurations have to have: the replica's own authorities, and those of others that are still needed.
    pub(super) fn beside(&mut self, own: &Bundle, published: Bundle) -> Bundle {
        let now = Instant::now();
        let others = published.0.into_iter();
        let others: Vec<_> = others.filter(|one| !own.0.contains(one)).collect();
        self.0.retain(|one, _| others.contains(one));
        let needed = others.into_iter().filter(|one| {
            let since = self.0.entry(one.clone()).or_insert(now);
            now.duration_since(*since) < OVERLAP
        });
        own.clone().and(Bundle(needed.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(names: &[&str]) -> Bundle {
        let all = names.iter().map(|name| name.as_bytes().to_vec().into());
        Bundle(all.collect())
    }

    #[test]
    fn a_bundle_is_read_as_it_is_written() {
        let long = "x".repeat(200);
        let all = bundle(&["a", &long]);
        let pem = all.to_pem();
        assert_eq!(Bundle::parse(&pem), Some(all.clone()));
        assert!(
            pem.split(|byte| *byte == b'\n')
                .all(|line| line.len() <= LINE)
        );
        assert_eq!(all.and(bundle(&["a", "b"])), bundle(&["a", &long, "b"]));
        for wrong in ["", "text", "-----BEGIN CERTIFICATE-----\nx"] {
            assert_eq!(Bundle::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_authority_of_other_replicas_stays_for_an_hour() {
        let mut others = OtherAuthorities::default();
        let (own, both) = (bundle(&["new"]), bundle(&["new", "old"]));
        let minute = Duration::from_secs(60);
        for _ in 0..60 {
            assert_eq!(others.beside(&own, both.clone()), both);
            tokio::time::advance(minute).await;
        }
        assert_eq!(others.beside(&own, both.clone()), own);
        // A replica that still has it writes it again, and the time starts again.
        assert_eq!(others.beside(&own, own.clone()), own);
        assert_eq!(others.beside(&own, both.clone()), both);
    }
}
