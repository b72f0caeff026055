use std::time::Duration;

use super::ElectionError;
use crate::queue::Jitter;

/// Which Lease decides who leads, and in what times.
///
/// The times are those of client-go and controller-runtime; all candidates of one Lease, whatever
/// they are written in, should have the same.
///
/// ```
/// use std::time::Duration;
/// use pilothouse::election::ElectionSettings;
///
/// let settings = ElectionSettings::new("website")
///     .namespace("operators")
///     .label("app.kubernetes.io/name", "website");
/// assert_eq!(settings.lease_duration, Duration::from_secs(15));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ElectionSettings {
    /// Name of the Lease.
    pub name: String,
    /// Namespace of the Lease; the client's default namespace (that of the Pod in a cluster) if none.
    pub namespace: Option<String>,
    /// Who this candidate is: no two may have the same. By default `<host name>_<random>`.
    pub identity: String,
    /// Labels that the Lease gets, beside those it has.
    pub labels: Vec<(String, String)>,
    /// Others do not take over before they saw no renewal for so long; default 15 s, whole seconds.
    pub lease_duration: Duration,
    /// Without a successful renewal for so long, leadership is lost; default 10 s.
    pub renew_deadline: Duration,
    /// Time between two renewals, and between two attempts to become leader, there times a random
    /// factor of 1 to 2.2; default 2 s.
    pub retry_period: Duration,
}

impl ElectionSettings {
    /// The Lease `name`, with the default times and a new identity.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            namespace: None,
            identity: identity(),
            labels: Vec::new(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }

    /// The Lease lives in `namespace`.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// This candidate is called `identity`.
    #[must_use]
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = identity.into();
        self
    }

    /// The Lease gets this label.
    #[must_use]
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.push((name.into(), value.into()));
        self
    }

    /// `lease_duration`, `renew_deadline` and `retry_period` other than the default 15 s, 10 s and 2 s.
    #[must_use]
    pub fn times(mut self, lease: Duration, renew: Duration, retry: Duration) -> Self {
        self.lease_duration = lease;
        self.renew_deadline = renew;
        self.retry_period = retry;
        self
    }

    /// As client-go: each time has to leave room for the one that depends on it.
    pub(super) fn check(&self) -> Result<(), ElectionError> {
        let wrong = |what: String| Err(ElectionError::Settings(what));
        if self.name.is_empty() {
            return wrong("the name of the Lease is empty".into());
        }
        if self.identity.is_empty() {
            return wrong("the identity is empty: every candidate needs one of its own".into());
        }
        if self.lease_duration.subsec_nanos() != 0 {
            let is = self.lease_duration;
            return wrong(format!(
                "the lease duration is {is:?}: it has to be whole seconds, as the Lease tells it"
            ));
        }
        if self.lease_duration <= self.renew_deadline {
            return wrong(format!(
                "the lease duration ({:?}) has to be longer than the renew deadline ({:?}): \
                 otherwise two could lead at once",
                self.lease_duration, self.renew_deadline
            ));
        }
        if self.renew_deadline <= self.retry_period.mul_f64(1.2) {
            return wrong(format!(
                "the renew deadline ({:?}) has to be longer than 1.2 retry periods ({:?}): \
                 otherwise one failed renewal ends leadership",
                self.renew_deadline, self.retry_period
            ));
        }
        if self.retry_period.is_zero() {
            return wrong("the retry period is zero".into());
        }
        Ok(())
    }

    /// What one attempt may take, so that a request that hangs leaves time for another.
    pub(super) fn attempt(&self) -> Duration {
        (self.renew_deadline / 2).max(Duration::from_secs(1))
    }

    /// How long before the lease can pass to another the last work must have ended: 2 s, or half of
    /// what lies between the two deadlines where that is less.
    pub(super) fn margin(&self) -> Duration {
        let between = self.lease_duration.saturating_sub(self.renew_deadline);
        (between / 2).min(Duration::from_secs(2))
    }
}

fn identity() -> String {
    let uname = rustix::system::uname();
    let host = uname.nodename().to_string_lossy();
    let mut random = Jitter::random();
    // 64 bits of two seeds of the operating system, in the manner of a host name's suffix.
    let half = |jitter: &mut Jitter| (jitter.fraction() * f64::from(u32::MAX)) as u32;
    let (high, low) = (half(&mut random), half(&mut Jitter::random()));
    format!("{host}_{high:08x}{low:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_let_two_lead_or_none_are_refused() {
        let seconds = Duration::from_secs;
        let with = |lease, renew, retry| {
            ElectionSettings::new("a")
                .times(seconds(lease), seconds(renew), seconds(retry))
                .check()
                .map_err(|error| error.to_string())
        };
        assert_eq!(with(15, 10, 2), Ok(()));
        assert!(with(10, 10, 2).unwrap_err().contains("two could lead"));
        assert!(with(15, 2, 2).unwrap_err().contains("1.2 retry periods"));
        assert!(
            with(15, 10, 0)
                .unwrap_err()
                .contains("retry period is zero")
        );
        let odd =
            ElectionSettings::new("a").times(Duration::from_millis(1500), seconds(1), seconds(0));
        assert!(
            odd.check()
                .unwrap_err()
                .to_string()
                .contains("whole seconds")
        );
        assert!(ElectionSettings::new("").check().is_err());
        assert!(ElectionSettings::new("a").identity("").check().is_err());
    }

    #[test]
    fn no_two_candidates_are_called_the_same() {
        let (one, other) = (ElectionSettings::new("a"), ElectionSettings::new("a"));
        assert_ne!(one.identity, other.identity);
    }

    #[test]
    fn work_ends_before_the_lease_can_pass_however_short_it_is() {
        let seconds = Duration::from_secs;
        let settings = ElectionSettings::new("a");
        assert_eq!(settings.margin(), seconds(2));
        let short = settings.times(seconds(4), seconds(2), seconds(1));
        assert_eq!(short.margin(), seconds(1));
    }
}
