use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use super::{ElectionError, watchdog::ElectionClock};
use crate::resource::dns;

/// A random factor of up to 1 + 1.2 stretches a retry period: client-go's `JitterFactor`.
pub(super) const JITTER: f64 = 1.2;
/// The API stores the duration as a 32-bit number of seconds.
const LONGEST: Duration = Duration::from_secs(0x7fff_ffff);

/// The settings of a leader election: the Lease, this candidate's identity and the durations.
///
/// The default durations are those of client-go and controller-runtime. All candidates of one Lease,
/// in whatever language they are written, should use the same durations.
///
/// ```
/// use std::time::Duration;
/// use pilothouse::election::ElectionSettings;
///
/// let settings = ElectionSettings::new("website")
///     .namespace("operators")
///     .label("app.kubernetes.io/name", "website")
///     .times(Duration::from_secs(30), Duration::from_secs(20), Duration::from_secs(4));
/// # let _ = settings;
/// ```
#[derive(Clone, Debug)]
pub struct ElectionSettings {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) identity: String,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) lease_duration: Duration,
    pub(crate) renew_deadline: Duration,
    pub(crate) retry_period: Duration,
    pub(super) clock: ElectionClock,
}

impl ElectionSettings {
    /// Settings for the Lease `name`, with the default durations and a new identity.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            namespace: None,
            identity: identity(),
            labels: Vec::new(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            clock: ElectionClock::system(),
        }
    }

    /// Sets the namespace of the Lease. The default is the client's default namespace; in a cluster that is the Pod's
    /// namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Sets the identity of this candidate. It must be unique. The default is `<host name>_<random>`.
    #[must_use]
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = identity.into();
        self
    }

    /// Adds a label to the labels of the Lease.
    #[must_use]
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.push((name.into(), value.into()));
        self
    }

    /// Sets the three durations:
    ///
    /// * `lease`: other candidates take over after they have seen no renewal for this long. Whole seconds only; the
    ///   default is 15 s.
    /// * `renew`: leadership is lost after this time without a successful renewal. The default is 10 s.
    /// * `retry`: the time between two renewals. Between two attempts to become leader it is multiplied by a random
    ///   factor of 1 to 2.2. The default is 2 s.
    #[must_use]
    pub fn times(mut self, lease: Duration, renew: Duration, retry: Duration) -> Self {
        self.lease_duration = lease;
        self.renew_deadline = renew;
        self.retry_period = retry;
        self
    }

    /// Checks the settings by client-go's rules: each duration leaves room for the next shorter one.
    pub(super) fn check(&self) -> Result<(), ElectionError> {
        let name_of = |setting: ElectionSetting, value: &str| format!("{setting} ({value})");
        self.check_as(name_of).map_err(ElectionError::Settings)
    }

    /// As [`check`](Self::check), with the caller's names for the settings: `name_of` returns the name of
    /// a setting together with its value.
    pub(crate) fn check_as(
        &self,
        name_of: impl Fn(ElectionSetting, &str) -> String,
    ) -> Result<(), String> {
        let text = |part: ElectionSetting, name: &str| name_of(part, &format!("`{name}`"));
        if let Err(rule) = dns::check_subdomain(&self.name) {
            return Err(format!(
                "{} {rule}",
                text(ElectionSetting::Name, &self.name)
            ));
        }
        if let Some(namespace) = &self.namespace
            && let Err(rule) = dns::check_label(namespace)
        {
            return Err(format!(
                "{} {rule}",
                text(ElectionSetting::Namespace, namespace)
            ));
        }
        if self.identity.is_empty() {
            return Err("the identity is empty: give each candidate a unique identity".into());
        }
        let time = |part: ElectionSetting, time: Duration| name_of(part, &format!("{time:?}"));
        let lease = || time(ElectionSetting::LeaseDuration, self.lease_duration);
        let renew = || time(ElectionSetting::RenewDeadline, self.renew_deadline);
        let retry = || time(ElectionSetting::RetryPeriod, self.retry_period);
        if self.lease_duration.subsec_nanos() != 0 {
            let lease = lease();
            return Err(format!(
                "{lease} must be whole seconds, because the Lease stores whole seconds"
            ));
        }
        if self.lease_duration > LONGEST {
            return Err(format!(
                "{} is longer than a Lease can store (2147483647 s)",
                lease()
            ));
        }
        if self.lease_duration <= self.renew_deadline {
            return Err(format!(
                "{} must be longer than {}: otherwise two processes could lead at once",
                lease(),
                renew()
            ));
        }
        if self.renew_deadline.as_secs_f64() <= JITTER * self.retry_period.as_secs_f64() {
            return Err(format!(
                "{} must be longer than {JITTER} times {}: otherwise one failed renewal ends leadership",
                renew(),
                retry()
            ));
        }
        if self.retry_period.is_zero() {
            return Err(format!("{} must be longer than zero", retry()));
        }
        Ok(())
    }

    /// The time limit of one attempt. A request that hangs leaves time for another attempt.
    pub(super) fn attempt(&self) -> Duration {
        (self.renew_deadline / 2).max(Duration::from_secs(1))
    }

    /// The work must have ended this long before the lease can pass to another process: 2 s, or half
    /// of the time between the renew deadline and the end of the lease if that is shorter.
    pub(super) fn margin(&self) -> Duration {
        let between = self.lease_duration.saturating_sub(self.renew_deadline);
        (between / 2).min(Duration::from_secs(2))
    }
}

/// The name of a setting that can be invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElectionSetting {
    Name,
    Namespace,
    LeaseDuration,
    RenewDeadline,
    RetryPeriod,
}

impl fmt::Display for ElectionSetting {
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
    // The keys of the standard library's hasher come from the operating system.
    let random = RandomState::new().hash_one(());
    format!("{host}_{random:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error text of invalid settings; empty if they are valid.
    fn error_of(settings: ElectionSettings) -> String {
        let error = settings.check().err();
        error.map_or(String::new(), |error| error.to_string())
    }

    #[test]
    fn durations_that_allow_two_leaders_or_no_leader_are_refused() {
        let seconds = Duration::from_secs;
        let with = |lease, renew, retry| {
            error_of(ElectionSettings::new("a").times(
                seconds(lease),
                seconds(renew),
                seconds(retry),
            ))
        };
        let table = [
            (
                with(10, 10, 2),
                "the lease duration (10s) must be longer than the renew deadline (10s): otherwise two processes could lead at once",
            ),
            (
                with(15, 12, 10),
                "the renew deadline (12s) must be longer than 1.2 times the retry period (10s): otherwise one failed renewal ends leadership",
            ),
            (
                with(15, 10, u64::MAX),
                "the renew deadline (10s) must be longer than 1.2 times the retry period (18446744073709551615s): otherwise one failed renewal ends leadership",
            ),
            (
                with(15, 10, 0),
                "the retry period (0ns) must be longer than zero",
            ),
            (
                with(1 << 31, 10, 2),
                "the lease duration (2147483648s) is longer than a Lease can store (2147483647 s)",
            ),
            (
                error_of(ElectionSettings::new("a").times(
                    Duration::from_millis(1500),
                    seconds(1),
                    seconds(0),
                )),
                "the lease duration (1.5s) must be whole seconds, because the Lease stores whole seconds",
            ),
            (
                error_of(ElectionSettings::new("a").identity("")),
                "the identity is empty: give each candidate a unique identity",
            ),
        ];
        assert_eq!(with(15, 10, 2), "");
        assert_eq!(with((1 << 31) - 1, 10, 2), "");
        for (error, expected) in table {
            assert_eq!(error.trim_start_matches("leader election: "), expected);
        }
    }

    #[test]
    fn an_invalid_name_of_a_lease_or_namespace_is_refused() {
        let fine = ElectionSettings::new("web.example.com").namespace("operators");
        assert_eq!(error_of(fine), "");
        let lease_rule = "has to be a DNS name: at most 253 lower-case letters, digits, `-` and `.`, with a letter or digit at both ends and around each `.`";
        for name in ["", "Website", "web_site", "web/site", "-"] {
            assert_eq!(
                error_of(ElectionSettings::new(name)),
                format!("leader election: the name of the Lease (`{name}`) {lease_rule}")
            );
        }
        let namespace_rule = "has to be a DNS label: at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends";
        for name in ["", "Operators", "a.b", "../default"] {
            assert_eq!(
                error_of(ElectionSettings::new("a").namespace(name)),
                format!("leader election: the namespace of the Lease (`{name}`) {namespace_rule}")
            );
        }
    }

    #[test]
    fn an_attempt_gets_half_of_the_renew_deadline_and_at_least_one_second() {
        let seconds = Duration::from_secs;
        let settings = ElectionSettings::new("a");
        assert_eq!(settings.attempt(), seconds(5));
        let short = settings.times(seconds(4), seconds(1), Duration::from_millis(200));
        assert_eq!(short.attempt(), seconds(1));
    }

    #[test]
    fn two_candidates_get_different_identities() {
        let (one, other) = (ElectionSettings::new("a"), ElectionSettings::new("a"));
        assert_ne!(one.identity, other.identity);
    }

    #[test]
    fn work_ends_before_even_a_short_lease_can_pass_on() {
        let seconds = Duration::from_secs;
        let settings = ElectionSettings::new("a");
        assert_eq!(settings.margin(), seconds(2));
        let short = settings.times(seconds(4), seconds(2), seconds(1));
        assert_eq!(short.margin(), seconds(1));
    }
}
