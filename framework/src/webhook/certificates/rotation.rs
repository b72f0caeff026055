use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::stored::{Certificate, Stored};

/// How long an authority is valid.
const AUTHORITY_LIFE: SignedDuration = SignedDuration::from_hours(5 * 365 * 24);
/// How long a serving certificate is valid.
const SERVING_LIFE: SignedDuration = SignedDuration::from_hours(90 * 24);
/// How long a new authority only stands in the bundle. It is many times the pause between two reads of a replica.
const PUBLICATION: Duration = Duration::from_secs(60 * 60);

/// The next change of what the Secret holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Removes the authorities that have expired.
    Forget,
    /// Adds an authority.
    AddAuthority { expires: Timestamp },
    /// Makes a serving certificate that this authority signs.
    Issue {
        authority: usize,
        hosts: Vec<String>,
        expires: Timestamp,
    },
}

impl Step {
    /// The step that is due. `None` if nothing is to be replaced.
    pub(super) fn due(stored: &Stored, hosts: &[String], now: Timestamp) -> Option<Self> {
        let authorities = &stored.authorities;
        if authorities.iter().any(|one| one.is_expired(now)) {
            return Some(Self::Forget);
        }
        // The oldest counts if none is published: then there is no other.
        let is_published = |one: &Certificate| one.age(now) >= PUBLICATION;
        let newest = authorities.last().filter(|newest| !newest.is_old(now));
        if newest.is_none() {
            let expires = after(now, AUTHORITY_LIFE);
            return Some(Self::AddAuthority { expires });
        }
        let serving = stored.serving.as_ref().filter(|serving| {
            let authority = authorities.iter().any(|one| one.name == serving.authority);
            authority && !serving.certificate.is_old(now)
        });
        // Replicas of two versions, or two ways to reach them, may need different hosts.
        let others = serving.iter().flat_map(|serving| &serving.hosts);
        let others: Vec<_> = others
            .filter(|host| !hosts.contains(host))
            .cloned()
            .collect();
        if serving.is_some_and(|serving| serving.hosts.len() == hosts.len() + others.len()) {
            return None;
        }
        let authority = authorities.iter().rposition(is_published).unwrap_or(0);
        let expires = after(now, SERVING_LIFE).min(authorities[authority].expires);
        Some(Self::Issue {
            authority,
            hosts: [hosts.to_vec(), others].concat(),
            expires,
        })
    }
}

fn after(now: Timestamp, life: SignedDuration) -> Timestamp {
    // Saturates in the year 9999.
    now.saturating_add(life).unwrap_or(Timestamp::MAX)
}
