use std::{fmt, time::Duration};

use super::ElectionError;
use crate::{queue::Jitter, resource::dns};

/// By how much of itself a retry period may be longer; client-go's `JitterFactor`.
pub(super) const JITTER: f64 = 1.2;
/// The API has 32 bits for the seconds.
const LONGEST: Duration = Duration::from_secs(0x7fff_ffff);

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
        let called = |part: Part, value: &str| format!("{part} ({value})");
        self.check_as(called).map_err(ElectionError::Settings)
    }

    /// The same for who has names of his own for the settings: `called` gives what a part with its value is called.
    pub(crate) fn check_as(&self, called: impl Fn(Part, &str) -> String) -> Result<(), String> {
        let text = |part: Part, name: &str| called(part, &format!("`{name}`"));
        if let Err(has_to) = dns::check_subdomain(&self.name) {
            return Err(format!("{} {has_to}", text(Part::Name, &self.name)));
        }
        if let Some(namespace) = &self.namespace
            && let Err(has_to) = dns::check_label(namespace)
        {
            return Err(format!("{} {has_to}", text(Part::Namespace, namespace)));
        }
        if self.identity.is_empty() {
            return Err("the identity is empty: every candidate needs one of its own".into());
        }
        let time = |part: Part, time: Duration| called(part, &format!("{time:?}"));
        let lease = || time(Part::LeaseDuration, self.lease_duration);
        let renew = || time(Part::RenewDeadline, self.renew_deadline);
        let retry = || time(Part::RetryPeriod, self.retry_period);
        if self.lease_duration.subsec_nanos() != 0 {
            let lease = lease();
            return Err(format!(
                "{lease} has to be whole seconds, as the Lease tells it"
            ));
        }
        if self.lease_duration > LONGEST {
            return Err(format!("{} is more than the Lease can tell", lease()));
        }
        if self.lease_duration <= self.renew_deadline {
            return Err(format!(
                "{} has to be longer than {}: otherwise two could lead at once",
                lease(),
                renew()
            ));
        }
        if self.renew_deadline.as_secs_f64() <= JITTER * self.retry_period.as_secs_f64() {
            return Err(format!(
                "{} has to be longer than {JITTER} times {}: otherwise one failed renewal ends leadership",
                renew(),
                retry()
            ));
        }
        if self.retry_period.is_zero() {
            return Err(format!("{} has to be longer than nothing", retry()));
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

/// One of the settings that may be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Name,
    Namespace,
    LeaseDuration,
    RenewDeadline,
    RetryPeriod,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "the name of the Lease",
            Self::Namespace => "the namespace of the Lease",
            Self::LeaseDuration => "the lease duration",
            Self::RenewDeadline => "the renew deadline",
            Self::RetryPeriod => "the retry period",
        })
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

    /// What is wrong with them.
    fn told(settings: ElectionSettings) -> String {
        let wrong = settings.check().err();
        wrong.map_or(String::new(), |error| error.to_string())
    }

    #[test]
    fn times_that_let_two_lead_or_none_are_refused() {
        let seconds = Duration::from_secs;
        let with = |lease, renew, retry| {
            told(ElectionSettings::new("a").times(seconds(lease), seconds(renew), seconds(retry)))
        };
        let table = [
            (
                with(10, 10, 2),
                "the lease duration (10s) has to be longer than the renew deadline (10s): otherwise two could lead at once",
            ),
            (
                with(15, 12, 10),
                "the renew deadline (12s) has to be longer than 1.2 times the retry period (10s): otherwise one failed renewal ends leadership",
            ),
            (
                with(15, 10, u64::MAX),
                "the renew deadline (10s) has to be longer than 1.2 times the retry period (18446744073709551615s): otherwise one failed renewal ends leadership",
            ),
            (
                with(15, 10, 0),
                "the retry period (0ns) has to be longer than nothing",
            ),
            (
                with(1 << 31, 10, 2),
                "the lease duration (2147483648s) is more than the Lease can tell",
            ),
            (
                told(ElectionSettings::new("a").times(
                    Duration::from_millis(1500),
                    seconds(1),
                    seconds(0),
                )),
                "the lease duration (1.5s) has to be whole seconds, as the Lease tells it",
            ),
            (
                told(ElectionSettings::new("a").identity("")),
                "the identity is empty: every candidate needs one of its own",
            ),
        ];
        assert_eq!(with(15, 10, 2), "");
        assert_eq!(with((1 << 31) - 1, 10, 2), "");
        for (told, expected) in table {
            assert_eq!(told.trim_start_matches("leader election: "), expected);
        }
    }

    #[test]
    fn what_cannot_be_the_name_of_a_lease_or_of_a_namespace_is_refused() {
        let fine = ElectionSettings::new("web.example.com").namespace("operators");
        assert_eq!(told(fine), "");
        let of_lease = "has to be a DNS name: at most 253 lower-case letters, digits, `-` and `.`, with a letter or digit at both ends and around each `.`";
        for name in ["", "Website", "web_site", "web/site", "-"] {
            assert_eq!(
                told(ElectionSettings::new(name)),
                format!("leader election: the name of the Lease (`{name}`) {of_lease}")
            );
        }
        let of_namespace = "has to be a DNS label: at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends";
        for name in ["", "Operators", "a.b", "../default"] {
            assert_eq!(
                told(ElectionSettings::new("a").namespace(name)),
                format!("leader election: the namespace of the Lease (`{name}`) {of_namespace}")
            );
        }
    }

    #[test]
    fn an_attempt_gets_half_of_the_renew_deadline_and_a_second_at_least() {
        let seconds = Duration::from_secs;
        let settings = ElectionSettings::new("a");
        assert_eq!(settings.attempt(), seconds(5));
        let short = settings.times(seconds(4), seconds(1), Duration::from_millis(200));
        assert_eq!(short.attempt(), seconds(1));
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
