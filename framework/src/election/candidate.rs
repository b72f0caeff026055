use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};

use super::ElectionSettings;

/// What this candidate knows about the Lease, and which request follows from it. No I/O and no clock.
///
/// The age of a record counts from when this process first saw it. The times in the record come from
/// another machine's clock and are never compared with this machine's clock. `now` is read from a
/// clock that counts suspension.
pub(super) struct Candidate {
    identity: String,
    labels: Vec<(String, String)>,
    lease_duration: Duration,
    observed: Option<Observed>,
    deleted: Option<Deleted>,
}

/// A Lease that was deleted while another candidate held it.
struct Deleted {
    holder: String,
    /// The holder renewed for the last time before the deletion was noticed, so its lease has expired
    /// at this time.
    until: Duration,
}

struct Observed {
    lease: Lease,
    /// When this record was first seen.
    since: Duration,
}

/// The next step of an attempt to acquire or renew the Lease.
#[derive(Debug)]
pub(super) enum Attempt {
    /// The Lease does not exist: create this one.
    Create(Lease),
    /// Replace the Lease by this one, if the server still has the resource version that was seen.
    Update(Lease),
    /// Another candidate holds the Lease.
    Held { by: String },
    /// The Lease does not exist, and the candidate that held it may still lead for the time `left`.
    Deleted { holder: String, left: Duration },
}

impl Candidate {
    pub(super) fn new(settings: &ElectionSettings) -> Self {
        Self {
            identity: settings.identity.clone(),
            labels: settings.labels.clone(),
            lease_duration: settings.lease_duration,
            observed: None,
            deleted: None,
        }
    }

    /// The renewed Lease, if this process held it when it was last seen. No read is needed first.
    pub(super) fn renewal(&self, wall: Timestamp) -> Option<Lease> {
        let seen = self.observed.as_ref()?;
        (holder(&seen.lease) == Some(&self.identity))
            .then(|| self.held_by_us(seen.lease.clone(), wall))
    }

    /// Whether the Lease that was last seen names another process as its holder: a leader that releases it removes its name.
    pub(super) fn is_held_by_another(&self) -> bool {
        let seen = self.observed.as_ref();
        let holder = seen.and_then(|seen| holder(&seen.lease));
        holder.is_some_and(|holder| holder != self.identity)
    }

    /// The UID of the Lease that was last seen.
    pub(super) fn uid(&self) -> Option<String> {
        self.observed.as_ref()?.lease.metadata.uid.clone()
    }

    /// Decides what to do with the result of a read of the Lease.
    pub(super) fn next_attempt(
        &mut self,
        found: Option<Lease>,
        now: Duration,
        wall: Timestamp,
    ) -> Attempt {
        let Some(lease) = found else {
            return self.attempt_without_lease(now, wall);
        };
        self.deleted = None;
        let lease = self.observe(lease, now).clone();
        if let Some(holder) = holder(&lease)
            && holder != self.identity
            && !self.has_expired(now)
        {
            return Attempt::Held {
                by: holder.to_owned(),
            };
        }
        Attempt::Update(self.held_by_us(lease, wall))
    }

    /// Decides what to do if the Lease does not exist.
    ///
    /// Another holder may have renewed until just before the deletion, and it leads until its renew
    /// deadline. So the wait counts from when the deletion is noticed, not from the last renewal that
    /// was seen. A Lease that this process held is created again at once: candidates that have seen
    /// this process as the holder wait, and the server lets only one candidate create it.
    fn attempt_without_lease(&mut self, now: Duration, wall: Timestamp) -> Attempt {
        if let Some(seen) = &self.observed {
            match holder(&seen.lease) {
                Some(holder) if holder == self.identity => {
                    let lease = Lease {
                        spec: seen.lease.spec.clone(),
                        ..Lease::default()
                    };
                    return Attempt::Create(self.held_by_us(lease, wall));
                }
                Some(holder) => {
                    self.deleted = Some(Deleted {
                        holder: holder.to_owned(),
                        until: now + self.duration(&seen.lease),
                    });
                }
                None => {}
            }
            self.observed = None;
        }
        if let Some(Deleted { holder, until }) = &self.deleted
            && let Some(left) = until.checked_sub(now).filter(|left| !left.is_zero())
        {
            let holder = holder.clone();
            return Attempt::Deleted { holder, left };
        }
        Attempt::Create(self.held_by_us(Lease::default(), wall))
    }

    /// Remembers the Lease that the server returned for a create or an update.
    pub(super) fn observe_written(&mut self, lease: Lease, now: Duration) {
        self.observe(lease, now);
    }

    /// The Lease without a holder, if this process holds it.
    pub(super) fn released_lease(
        &mut self,
        found: Option<Lease>,
        now: Duration,
        wall: Timestamp,
    ) -> Option<Lease> {
        let mut lease = self.observe(found?, now).clone();
        if holder(&lease) != Some(&self.identity) {
            return None;
        }
        let spec = lease.spec.get_or_insert_default();
        // As client-go does: with an empty holder a candidate may take over at once. The short duration
        // tells the same to programs that read only the duration.
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(MicroTime(wall));
        spec.acquire_time = Some(MicroTime(wall));
        Some(lease)
    }

    /// Remembers the Lease. Its age starts again if its spec changed.
    fn observe(&mut self, lease: Lease, now: Duration) -> &Lease {
        let since = match &self.observed {
            Some(seen) if seen.lease.spec == lease.spec => seen.since,
            _ => now,
        };
        &self.observed.insert(Observed { lease, since }).lease
    }

    fn has_expired(&self, now: Duration) -> bool {
        self.observed
            .as_ref()
            .is_none_or(|seen| seen.since + self.duration(&seen.lease) <= now)
    }

    /// How long the holder of `lease` may keep it without a renewal.
    fn duration(&self, lease: &Lease) -> Duration {
        let spec = lease.spec.as_ref();
        let seconds = spec.and_then(|spec| spec.lease_duration_seconds);
        let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
        // For a Lease without a duration, this candidate's own lease duration counts.
        seconds.map_or(self.lease_duration, Duration::from_secs)
    }

    /// The Lease with this process as the holder and a renew time of now.
    fn held_by_us(&self, mut lease: Lease, wall: Timestamp) -> Lease {
        let is_ours = holder(&lease) == Some(&self.identity);
        let is_new = lease.spec.is_none() && lease.metadata.resource_version.is_none();
        if !self.labels.is_empty() {
            let labels = lease.metadata.labels.get_or_insert_default();
            labels.extend(self.labels.iter().cloned());
        }
        let spec = lease.spec.get_or_insert_default();
        if !is_ours {
            spec.holder_identity = Some(self.identity.clone());
            spec.acquire_time = Some(MicroTime(wall));
            let before = spec.lease_transitions.unwrap_or(0);
            spec.lease_transitions = Some(if is_new { 0 } else { before.saturating_add(1) });
        }
        let seconds = i32::try_from(self.lease_duration.as_secs()).unwrap_or(i32::MAX);
        spec.lease_duration_seconds = Some(seconds);
        spec.renew_time = Some(MicroTime(wall));
        lease
    }
}

/// The holder of a Lease. An empty identity means that no process holds it.
fn holder(lease: &Lease) -> Option<&str> {
    let spec: &LeaseSpec = lease.spec.as_ref()?;
    spec.holder_identity
        .as_deref()
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn candidate() -> Candidate {
        Candidate::new(&ElectionSettings::new("website").identity("me"))
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn wall(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    fn lease(holder: &str, renewed: i64) -> Lease {
        let mut lease = Lease::default();
        lease.metadata.name = Some("website".into());
        lease.metadata.resource_version = Some("7".into());
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(holder.into()),
            lease_duration_seconds: Some(15),
            acquire_time: Some(MicroTime(wall(0))),
            renew_time: Some(MicroTime(wall(renewed))),
            lease_transitions: Some(3),
            ..LeaseSpec::default()
        });
        lease
    }

    fn updated(attempt: Attempt) -> LeaseSpec {
        match attempt {
            Attempt::Update(lease) => {
                assert_eq!(lease.metadata.resource_version.as_deref(), Some("7"));
                lease.spec.unwrap()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn labels_are_added_to_those_that_a_lease_has() {
        let settings = ElectionSettings::new("website").identity("me");
        let mut candidate = Candidate::new(&settings.label("team", "web"));
        let labels = |attempt| match attempt {
            Attempt::Create(lease) | Attempt::Update(lease) => {
                lease.metadata.labels.unwrap_or_default()
            }
            held => panic!("{held:?}"),
        };
        let team = ("team".to_owned(), "web".to_owned());
        let other = ("other".to_owned(), "1".to_owned());
        let created = candidate.next_attempt(None, seconds(0), wall(0));
        assert_eq!(labels(created), BTreeMap::from([team.clone()]));
        let mut present = lease("", 0);
        let stale = ("team".to_owned(), "stale".to_owned());
        present.metadata.labels = Some([other.clone(), stale].into());
        let updated = candidate.next_attempt(Some(present), seconds(0), wall(0));
        assert_eq!(labels(updated), BTreeMap::from([other, team]));
    }

    #[test]
    fn a_missing_lease_is_created() {
        match candidate().next_attempt(None, seconds(0), wall(5)) {
            Attempt::Create(lease) => {
                let spec = lease.spec.unwrap();
                assert_eq!(spec.holder_identity.as_deref(), Some("me"));
                assert_eq!(spec.lease_transitions, Some(0));
                assert_eq!(spec.lease_duration_seconds, Some(15));
                assert_eq!(spec.acquire_time, Some(MicroTime(wall(5))));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn another_holders_lease_is_taken_only_after_its_duration_without_renewal_on_our_clock() {
        let mut candidate = candidate();
        // By the wall clock its times are long past. That must not count.
        let found = |candidate: &mut Candidate, renewed, now| {
            candidate.next_attempt(Some(lease("other", renewed)), seconds(now), wall(9_999))
        };
        assert!(matches!(found(&mut candidate, 1, 100), Attempt::Held { by } if by == "other"));
        assert!(matches!(
            found(&mut candidate, 1, 114),
            Attempt::Held { .. }
        ));
        // The holder renewed, so the duration starts again.
        assert!(matches!(
            found(&mut candidate, 2, 115),
            Attempt::Held { .. }
        ));
        assert!(matches!(
            found(&mut candidate, 2, 129),
            Attempt::Held { .. }
        ));
        let spec = updated(found(&mut candidate, 2, 130));
        assert_eq!(spec.holder_identity.as_deref(), Some("me"));
        assert_eq!(spec.lease_transitions, Some(4));
        assert_eq!(spec.acquire_time, Some(MicroTime(wall(9_999))));
    }

    #[test]
    fn a_longer_duration_of_the_holder_counts() {
        let mut candidate = candidate();
        let mut long = lease("other", 1);
        long.spec.as_mut().unwrap().lease_duration_seconds = Some(60);
        candidate.next_attempt(Some(long.clone()), seconds(0), wall(0));
        let attempt = candidate.next_attempt(Some(long), seconds(59), wall(0));
        assert!(matches!(attempt, Attempt::Held { .. }));
    }

    #[test]
    fn a_shorter_duration_of_the_holder_counts_too() {
        let mut candidate = candidate();
        let mut short = lease("other", 1);
        short.spec.as_mut().unwrap().lease_duration_seconds = Some(5);
        let mut found = |now| candidate.next_attempt(Some(short.clone()), seconds(now), wall(0));
        assert!(matches!(found(10), Attempt::Held { .. }));
        assert!(matches!(found(14), Attempt::Held { .. }));
        assert!(matches!(found(15), Attempt::Update(_)));
    }

    #[test]
    fn our_own_duration_counts_for_a_holder_without_one() {
        let mut candidate = candidate();
        let mut silent = lease("other", 1);
        silent.spec.as_mut().unwrap().lease_duration_seconds = None;
        let mut found = |now| candidate.next_attempt(Some(silent.clone()), seconds(now), wall(0));
        assert!(matches!(found(0), Attempt::Held { .. }));
        assert!(matches!(found(14), Attempt::Held { .. }));
        assert!(matches!(found(15), Attempt::Update(_)));
    }

    #[test]
    fn a_change_of_the_metadata_does_not_restart_the_age_of_a_lease() {
        let mut candidate = candidate();
        candidate.next_attempt(Some(lease("other", 1)), seconds(0), wall(0));
        let mut edited = lease("other", 1);
        edited.metadata.resource_version = Some("8".into());
        edited.metadata.labels = Some([("team".to_owned(), "web".to_owned())].into());
        edited.metadata.annotations = Some([("note".to_owned(), "1".to_owned())].into());
        let attempt = candidate.next_attempt(Some(edited.clone()), seconds(14), wall(0));
        assert!(matches!(attempt, Attempt::Held { .. }));
        match candidate.next_attempt(Some(edited), seconds(15), wall(0)) {
            Attempt::Update(lease) => {
                // The version that was seen last is the one to replace.
                assert_eq!(lease.metadata.resource_version.as_deref(), Some("8"));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_deleted_lease_is_created_after_the_holders_duration_since_the_deletion_was_noticed() {
        let mut candidate = candidate();
        let mut long = lease("other", 1);
        long.spec.as_mut().unwrap().lease_duration_seconds = Some(20);
        candidate.next_attempt(Some(long), seconds(0), wall(0));
        // The holder may have renewed at 99.
        match candidate.next_attempt(None, seconds(100), wall(0)) {
            Attempt::Deleted { holder, left } => {
                assert_eq!((holder.as_str(), left), ("other", seconds(20)));
            }
            other => panic!("{other:?}"),
        }
        let attempt = candidate.next_attempt(None, seconds(119), wall(0));
        assert!(matches!(attempt, Attempt::Deleted { left, .. } if left == seconds(1)));
        let attempt = candidate.next_attempt(None, seconds(120), wall(0));
        assert!(matches!(attempt, Attempt::Create(_)));
        // A failed attempt is repeated without another wait.
        let attempt = candidate.next_attempt(None, seconds(122), wall(0));
        assert!(matches!(attempt, Attempt::Create(_)));
    }

    #[test]
    fn each_deletion_of_a_held_lease_starts_a_new_wait() {
        let mut candidate = candidate();
        candidate.next_attempt(Some(lease("other", 1)), seconds(0), wall(0));
        candidate.next_attempt(None, seconds(10), wall(0));
        // The holder creates it again, and then it is deleted once more.
        let attempt = candidate.next_attempt(Some(lease("other", 2)), seconds(12), wall(0));
        assert!(matches!(attempt, Attempt::Held { .. }));
        let attempt = candidate.next_attempt(None, seconds(20), wall(0));
        assert!(matches!(attempt, Attempt::Deleted { left, .. } if left == seconds(15)));
        // It comes back without a holder.
        let attempt = candidate.next_attempt(Some(lease("", 3)), seconds(22), wall(0));
        assert!(matches!(attempt, Attempt::Update(_)));
        let attempt = candidate.next_attempt(None, seconds(24), wall(0));
        assert!(matches!(attempt, Attempt::Create(_)));
    }

    #[test]
    fn a_leader_recreates_its_deleted_lease_at_once_and_keeps_the_transitions() {
        let mut candidate = candidate();
        candidate.observe_written(lease("me", 1), seconds(0));
        for _ in 0..2 {
            match candidate.next_attempt(None, seconds(50), wall(20)) {
                Attempt::Create(lease) => {
                    assert_eq!(lease.metadata.resource_version, None);
                    let spec = lease.spec.unwrap();
                    assert_eq!(spec.holder_identity.as_deref(), Some("me"));
                    assert_eq!(spec.lease_transitions, Some(3));
                    assert_eq!(spec.acquire_time, Some(MicroTime(wall(0))));
                    assert_eq!(spec.renew_time, Some(MicroTime(wall(20))));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_lease_without_a_holder_is_taken_at_once() {
        let without_record = {
            let mut lease = lease("", 1);
            lease.spec = None;
            lease
        };
        for (unled, transitions) in [(lease("", 1), 4), (without_record, 1)] {
            let spec = updated(candidate().next_attempt(Some(unled), seconds(0), wall(0)));
            assert_eq!(spec.holder_identity.as_deref(), Some("me"));
            assert_eq!(spec.lease_transitions, Some(transitions));
        }
    }

    #[test]
    fn a_renewal_keeps_the_acquire_time_and_the_transitions() {
        let mut candidate = candidate();
        assert!(candidate.renewal(wall(0)).is_none());
        candidate.observe_written(lease("me", 1), seconds(0));
        let renewed = candidate.renewal(wall(20)).unwrap();
        assert_eq!(renewed.metadata.resource_version.as_deref(), Some("7"));
        let spec = renewed.spec.unwrap();
        assert_eq!(spec.renew_time, Some(MicroTime(wall(20))));
        assert_eq!(spec.acquire_time, Some(MicroTime(wall(0))));
        assert_eq!(spec.lease_transitions, Some(3));
        // After a read from the server the result is the same.
        let spec = updated(candidate.next_attempt(Some(lease("me", 1)), seconds(50), wall(20)));
        assert_eq!(spec.lease_transitions, Some(3));
    }

    #[test]
    fn configured_labels_are_added_to_the_labels_of_a_found_lease() {
        let settings = ElectionSettings::new("website").label("ours", "1");
        let mut candidate = Candidate::new(&settings);
        let mut found = lease("", 1);
        found.metadata.labels = Some([("theirs".to_owned(), "2".to_owned())].into());
        match candidate.next_attempt(Some(found), seconds(0), wall(0)) {
            Attempt::Update(lease) => assert_eq!(lease.metadata.labels.unwrap().len(), 2),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_our_own_lease_is_released() {
        let mut candidate = candidate();
        let wall = wall(30);
        let back = candidate.released_lease(Some(lease("me", 1)), seconds(0), wall);
        let spec = back.unwrap().spec.unwrap();
        assert_eq!(spec.holder_identity.as_deref(), Some(""));
        assert_eq!(spec.lease_duration_seconds, Some(1));
        assert_eq!(spec.lease_transitions, Some(3));
        assert!(
            candidate
                .released_lease(Some(lease("other", 1)), seconds(0), wall)
                .is_none()
        );
        assert!(candidate.released_lease(None, seconds(0), wall).is_none());
    }
}
