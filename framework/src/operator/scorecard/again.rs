use std::{collections::BTreeMap, time::Duration};

use pilothouse_sandbox::RecordedRequest;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{
    restless::Restless,
    trial::{Trial, Written, if_there, place},
};
use crate::{
    client::{Patch, PatchParams},
    controller::{ObjectReport, ReconcileReport, annotations::RECONCILE_NOW},
    operator::{OperatorError, Running},
    resource::{DynamicObject, Object, ObjectKey},
};

/// What this many reconciles in a row write is a finding. One of them may meet a change of the world.
const TRIES: usize = 3;
/// Reconciles that time has asked for, too, do not count. After this many tries nothing is known.
const MOST_TRIES: usize = 6;
/// An object that is not reconciled in this time, for example because it is paused, is left out.
const LIMIT: Duration = Duration::from_secs(10);
/// Between two tries, and until the writes after a reconcile, such as its conditions, are recorded.
const PAUSE: Duration = Duration::from_millis(200);

/// What one more reconcile did.
struct Again {
    writes: Vec<RecordedRequest>,
    /// Why the writes are too many, by their place.
    reasons: BTreeMap<String, Restless>,
    by_time: bool,
}

impl Trial {
    /// Reconciles each object again while nothing changes. Returns the places that each of these reconciles writes, and why that is too much.
    pub(super) async fn reconcile_again(
        &mut self,
        running: &Running,
    ) -> Result<BTreeMap<String, Restless>, OperatorError> {
        let mut repeated = BTreeMap::new();
        for example in self.examples.clone() {
            let (mut tries, mut reasons) = (Vec::new(), BTreeMap::new());
            for number in 0..MOST_TRIES {
                let Some(again) = self.again(running, &example, number).await? else {
                    break;
                };
                if again.writes.is_empty() {
                    break;
                }
                if !again.by_time {
                    tries.push(again.writes);
                    reasons.extend(again.reasons);
                }
                if tries.len() == TRIES {
                    for (place, why) in in_all(&tries) {
                        let known = reasons.remove(&place).filter(|_| why == Restless::Same);
                        repeated.insert(place, known.unwrap_or(why));
                    }
                    break;
                }
            }
        }
        Ok(repeated)
    }

    /// Whether time has asked for a reconcile of an object until now.
    pub(super) fn is_driven_by_time(&self, running: &Running) -> bool {
        let mut reports = self.examples.iter().flat_map(|one| reports(running, one));
        reports.any(|report| report.reconciles.iter().any(is_by_time))
    }

    /// Reconciles an object. Returns `None` if it is not reconciled.
    async fn again(
        &mut self,
        running: &Running,
        example: &DynamicObject,
        number: usize,
    ) -> Result<Option<Again>, OperatorError> {
        sleep(PAUSE).await;
        self.remember();
        let before = self.contents().await?;
        self.sandbox.clear_requests();
        let begun = Instant::now();
        let value = format!("scorecard-{number}");
        let now = json!({"metadata": {"annotations": {RECONCILE_NOW: value}}});
        let api = self.mapper.api_for(example).await?;
        let params = PatchParams::default();
        let patched = api.patch(example.name(), &params, &Patch::Merge(now)).await;
        if if_there(patched)?.is_none() {
            return Ok(None);
        }
        loop {
            sleep(PAUSE / 10).await;
            let since = begun.elapsed().as_secs_f64();
            let reports = reports(running, example);
            let ended: Vec<_> = reports
                .iter()
                .filter_map(|report| ended(report, since))
                .collect();
            if !ended.is_empty() && ended.len() == reports.len() {
                let by_time = ended.iter().any(|one| is_by_time(one));
                sleep(PAUSE).await;
                self.remember();
                let (writes, after) = (self.writes(), self.contents().await?);
                let reason = |write: &RecordedRequest| {
                    let object = Written::of(write);
                    let (before, after) = (before.get(&object)?, after.get(&object)?);
                    let of_status = write.subresource == "status";
                    Some((place(write), Restless::between(before, after, of_status)))
                };
                let reasons = writes.iter().filter_map(reason).collect();
                return Ok(Some(Again {
                    writes,
                    reasons,
                    by_time,
                }));
            }
            if begun.elapsed() > LIMIT {
                return Ok(None);
            }
        }
    }
}

/// What the controllers of the object's kind tell of it.
fn reports(running: &Running, example: &DynamicObject) -> Vec<ObjectReport> {
    let report = running.debug_report();
    let all = report.controllers.iter();
    let of_kind = all.filter(|controller| controller.kind == example.types.kind);
    let key = ObjectKey::new(example.metadata.namespace.as_deref(), example.name());
    let reports = of_kind.map(|controller| running.object_report(&controller.name, &key));
    reports.flatten().collect()
}

/// The reconcile that the annotation asked for within these seconds, when it has ended.
fn ended(report: &ObjectReport, since: f64) -> Option<&ReconcileReport> {
    let mut reconciles = report.reconciles.iter();
    reconciles.find(|one| {
        let mut causes = one.causes.iter();
        one.seconds_ago <= since
            && one.outcome.is_some()
            && causes.any(|cause| cause.cause == "reconcile-now")
    })
}

/// Whether something else than a change of an object asked for it.
fn is_by_time(reconcile: &ReconcileReport) -> bool {
    let mut causes = reconcile.causes.iter();
    causes.any(|cause| matches!(cause.cause, "requeue" | "resync" | "source"))
}

/// What is written in each of the tries: the same object, or another object of the same kind and namespace.
fn in_all(tries: &[Vec<RecordedRequest>]) -> BTreeMap<String, Restless> {
    let collection = |one: &RecordedRequest| {
        let (resource, subresource) = (one.resource.clone(), one.subresource.clone());
        (
            one.verb.clone(),
            one.namespace.clone(),
            resource,
            subresource,
        )
    };
    let in_each =
        |is: &dyn Fn(&RecordedRequest) -> bool| tries.iter().all(|writes| writes.iter().any(is));
    let (mut found, mut others) = (BTreeMap::new(), BTreeMap::new());
    let mut named = Vec::new();
    for one in tries.iter().flatten() {
        if in_each(&|other| place(other) == place(one)) {
            found.insert(place(one), Restless::Same);
            named.push(collection(one));
        }
    }
    // An object with another name each time is shown once.
    for one in tries.iter().flatten() {
        let same = collection(one);
        if !named.contains(&same) && in_each(&|other| collection(other) == same) {
            others.insert(place(one), Restless::OtherName);
            named.push(same);
        }
    }
    found.extend(others);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tries(paths: &[&[&str]]) -> Vec<Vec<RecordedRequest>> {
        let write = |path: &&str| {
            let mut write = RecordedRequest::default();
            let (resource, _) = path.split_once('/').unwrap();
            (write.verb, write.resource) = ("patch".into(), resource.into());
            write.path = (*path).to_owned();
            write
        };
        let writes = |paths: &&[&str]| paths.iter().map(write).collect();
        paths.iter().map(writes).collect()
    }

    #[test]
    fn a_repeated_write_is_one_of_each_try() {
        for (paths, expected) in [
            // A change of the world in one of them.
            (
                &[&["maps/a", "maps/b"][..], &["maps/a"], &["maps/a"]],
                &["patch maps/a"][..],
            ),
            (&[&["maps/a"], &["pods/a"], &["maps/a"]], &[]),
            // Another name each time.
            (&[&["maps/1"], &["maps/2"], &["maps/3"]], &["patch maps/1"]),
        ] {
            let found = in_all(&tries(paths));
            assert_eq!(Vec::from_iter(found.keys()), expected, "{paths:?}");
        }
    }
}
