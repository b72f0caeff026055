use std::time::Duration;

use serde_json::Value;

use crate::pods::Probe;

/// What the probes of a container say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) started: bool,
    pub(super) ready: bool,
    /// A probe that failed so often that the container is killed.
    pub(super) kills: Option<Probe>,
    /// The time since the start of the container at which this changes.
    pub(super) next: Option<Duration>,
}

/// When a rule about probes began, since the start of the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// All probes succeed again. A container that is ready is not concerned.
    Succeed(Duration),
    Fail(Probe, Duration),
}

/// The times of one probe.
struct Times {
    first: Duration,
    period: Duration,
    successes: u32,
    failures: u32,
}

impl Times {
    /// `None` if the container has no such probe. Probes other than that of the start begin after the start.
    fn of(container: &Value, probe: Probe, started: Duration) -> Option<Self> {
        let probe = container.get(probe.field())?.as_object()?;
        let number = |field: &str, usual: u32| {
            let given = probe.get(field).and_then(Value::as_u64);
            given
                .and_then(|given| u32::try_from(given).ok())
                .unwrap_or(usual)
        };
        let delay = Duration::from_secs(number("initialDelaySeconds", 0).into());
        Some(Self {
            first: delay.max(started),
            period: Duration::from_secs(number("periodSeconds", 10).max(1).into()),
            successes: number("successThreshold", 1).max(1),
            failures: number("failureThreshold", 3).max(1),
        })
    }

    /// The time of the probe with this number in a row that begins at or after a moment.
    fn nth_after(&self, moment: Duration, number: u32) -> Duration {
        let passed = moment.saturating_sub(self.first);
        let periods = passed.as_nanos().div_ceil(self.period.as_nanos());
        let periods = u32::try_from(periods).unwrap_or(u32::MAX);
        let periods = periods.saturating_add(number.saturating_sub(1));
        self.first
            .saturating_add(self.period.saturating_mul(periods))
    }

    /// The time at which enough probes since a moment have failed.
    fn failed_after(&self, moment: Duration) -> Duration {
        self.nth_after(moment, self.failures)
    }
}

/// What the probes of a container say that runs for `elapsed`.
pub(super) fn outcome(container: &Value, elapsed: Duration, turn: Option<Turn>) -> Outcome {
    let fails = |probe: Probe| match turn {
        Some(Turn::Fail(failing, since)) if failing == probe => Some(since),
        _ => None,
    };
    let mut outcome = Outcome::default();
    let mut wait = |time: Duration| {
        if time > elapsed && outcome.next.is_none_or(|next| time < next) {
            outcome.next = Some(time);
        }
        time <= elapsed
    };
    let mut started = Duration::ZERO;
    if let Some(startup) = Times::of(container, Probe::Startup, Duration::ZERO) {
        // After the first success there is no further probe.
        if let Some(since) = fails(Probe::Startup).filter(|since| *since <= startup.first) {
            if wait(startup.failed_after(since)) {
                outcome.kills = Some(Probe::Startup);
            }
            return outcome;
        }
        started = startup.first;
    }
    let is_started = wait(started);
    let mut ready = is_started;
    if let Some(readiness) = Times::of(container, Probe::Readiness, started) {
        let begin = match turn {
            Some(Turn::Succeed(since)) => since,
            _ => Duration::ZERO,
        };
        let succeeded = readiness.nth_after(begin, readiness.successes);
        ready = match fails(Probe::Readiness) {
            Some(since) if since <= succeeded => false,
            Some(since) => wait(succeeded) && !wait(readiness.failed_after(since)),
            None => wait(succeeded),
        };
    }
    if let Some(liveness) = Times::of(container, Probe::Liveness, started)
        && let Some(since) = fails(Probe::Liveness)
        && wait(liveness.failed_after(since))
    {
        outcome.kills = Some(Probe::Liveness);
    }
    Outcome {
        started: is_started,
        ready,
        ..outcome
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(container: &Value, seconds: u64, turn: Option<Turn>) -> Outcome {
        outcome(container, Duration::from_secs(seconds), turn)
    }

    #[test]
    fn a_container_without_probes_is_ready_at_once() {
        let found = at(&json!({}), 0, None);
        assert!(found.started && found.ready && found.next.is_none());
    }

    #[test]
    fn readiness_follows_the_start_and_the_thresholds() {
        let container = json!({
            "startupProbe": {"initialDelaySeconds": 5},
            "readinessProbe": {"initialDelaySeconds": 2, "periodSeconds": 4, "successThreshold": 3, "failureThreshold": 2},
        });
        let found = at(&container, 4, None);
        assert!(!found.started && !found.ready);
        assert_eq!(found.next, Some(Duration::from_secs(5)));
        let found = at(&container, 12, None);
        assert!(found.started && !found.ready);
        assert!(at(&container, 13, None).ready);
        // Probes are at 5, 9, 13, 17, 21 and so on. Those at 17 and 21 fail.
        let turn = Some(Turn::Fail(Probe::Readiness, Duration::from_secs(14)));
        assert!(at(&container, 20, turn).ready);
        let found = at(&container, 21, turn);
        assert!(!found.ready && found.started && found.kills.is_none());
        // Those at 25, 29 and 33 succeed.
        let turn = Some(Turn::Succeed(Duration::from_secs(22)));
        assert!(!at(&container, 32, turn).ready);
        assert!(at(&container, 33, turn).ready);
    }

    #[test]
    fn liveness_and_start_kill_after_their_threshold() {
        let container = json!({"livenessProbe": {"initialDelaySeconds": 3, "periodSeconds": 5, "failureThreshold": 2}});
        let turn = Some(Turn::Fail(Probe::Liveness, Duration::from_secs(4)));
        assert_eq!(at(&container, 12, turn).kills, None);
        assert_eq!(at(&container, 13, turn).kills, Some(Probe::Liveness));
        let container = json!({"startupProbe": {"periodSeconds": 2, "failureThreshold": 5}});
        let turn = Some(Turn::Fail(Probe::Startup, Duration::ZERO));
        assert!(!at(&container, 7, turn).started);
        assert_eq!(at(&container, 8, turn).kills, Some(Probe::Startup));
        let late = Some(Turn::Fail(Probe::Startup, Duration::from_secs(1)));
        assert!(
            at(&container, 100, late).started,
            "a container starts only once"
        );
    }
}
