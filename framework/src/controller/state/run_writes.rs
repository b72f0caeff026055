use std::borrow::Cow;

use crate::{
    controller::cause::{Cause, Causes},
    queue::Priority,
    resource::{ApiResource, ObjectKey, ObjectMeta},
};

/// Group, plural and key of an object. The Rust type does not matter: one kind may be read and written as several types.
pub(crate) type ObjectId = (Cow<'static, str>, Cow<'static, str>, ObjectKey);

pub(crate) fn object_id(resource: &ApiResource, key: &ObjectKey) -> ObjectId {
    (resource.group.clone(), resource.plural.clone(), key.clone())
}

/// What one run for a key wrote to other objects, to tell the events of these writes from other changes (R2).
///
/// An event is an echo if its UID and resource version are those of the server's answer to a write of the last run, and that
/// run succeeded. The watch is often faster than the answer, and both are faster than the end of the run. So an event of an
/// object that the run writes is parked, and judged at the end of the run.
///
/// It never hides a change: whatever it cannot judge counts as one.
#[derive(Debug)]
pub(crate) struct RunWrites {
    run: u64,
    has_ended: bool,
    writes: Vec<RunWrite>,
    parked: Vec<ParkedEvent>,
}

#[derive(Debug)]
struct RunWrite {
    object: ObjectId,
    /// The UID and the resource version in the server's answer. `None` while there is no answer, and if the write failed.
    answer: Option<(String, String)>,
}

/// The version of an object that an event shows.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'a> {
    pub(crate) resource: &'a ApiResource,
    pub(crate) metadata: &'a ObjectMeta,
}

/// An event that is judged at the end of the run.
#[derive(Debug)]
pub(crate) struct ParkedEvent {
    write: usize,
    uid: String,
    version: String,
    pub(crate) priority: Priority,
    pub(crate) cause: Cause,
    /// The same, with the time of the event.
    pub(crate) causes: Causes,
    /// What changed, if somebody wants to know.
    pub(crate) what: Option<String>,
}

/// Whether an event shows more than what the last run wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventVerdict {
    Change,
    Echo,
    /// The event is judged when the run ends.
    Parked,
}

/// So many writes of one run are remembered. The events of further ones count as changes.
const WRITES: usize = 64;
/// So many events are parked. Further ones count as changes.
const PARKED: usize = 64;

impl RunWrites {
    pub(crate) fn new(run: u64) -> Self {
        Self {
            run,
            has_ended: false,
            writes: Vec::with_capacity(1),
            parked: Vec::new(),
        }
    }

    pub(crate) fn is_of(&self, run: u64) -> bool {
        self.run == run && !self.has_ended
    }

    /// The run sends a write of `object`.
    pub(crate) fn begin(&mut self, object: ObjectId) {
        if self.writes.len() < WRITES {
            let answer = None;
            self.writes.push(RunWrite { object, answer });
        }
    }

    /// The server answered a write of `object`.
    pub(crate) fn answered(&mut self, object: &ObjectId, uid: &str, version: &str) {
        let mut writes = self.writes.iter_mut();
        if let Some(write) = writes.find(|one| one.object == *object && one.answer.is_none()) {
            write.answer = Some((uid.to_owned(), version.to_owned()));
        }
    }

    /// Judges an event that leads to the key. `what` tells what changed, if somebody wants to know.
    pub(crate) fn judge(
        &mut self,
        shown: Shown<'_>,
        priority: Priority,
        cause: Cause,
        what: impl FnOnce() -> Option<String>,
    ) -> EventVerdict {
        let metadata = shown.metadata;
        let (Some(uid), Some(version)) = (&metadata.uid, &metadata.resource_version) else {
            return EventVerdict::Change;
        };
        let mut writes = self.writes.iter();
        let Some(write) = writes.position(|write| write.is_of(shown)) else {
            return EventVerdict::Change;
        };
        if self.has_ended {
            if !self.writes[write].has_led_to(uid, version) {
                return EventVerdict::Change;
            }
            self.writes.swap_remove(write);
            return EventVerdict::Echo;
        }
        if self.parked.len() == PARKED {
            return EventVerdict::Change;
        }
        self.parked.push(ParkedEvent {
            write,
            uid: uid.clone(),
            version: version.clone(),
            priority,
            cause,
            causes: cause.into(),
            what: what(),
        });
        EventVerdict::Parked
    }

    /// The run has ended. `is_spared` says for which objects its writes are no changes for the key. Returns the number of parked
    /// events that were echoes, and the other ones.
    pub(crate) fn end(
        &mut self,
        is_spared: impl Fn(&ObjectId) -> bool,
    ) -> (usize, Vec<ParkedEvent>) {
        self.has_ended = true;
        for write in &mut self.writes {
            write.answer.take_if(|_| !is_spared(&write.object));
        }
        let (echoes, changes): (Vec<_>, Vec<_>) = std::mem::take(&mut self.parked)
            .into_iter()
            .partition(|event| self.writes[event.write].has_led_to(&event.uid, &event.version));
        for event in &echoes {
            self.writes[event.write].answer = None;
        }
        self.writes.retain(|write| write.answer.is_some());
        (echoes.len(), changes)
    }

    /// Whether no event can be an echo any more.
    pub(crate) fn is_over(&self) -> bool {
        self.has_ended && self.writes.is_empty()
    }
}

impl RunWrite {
    fn is_of(&self, Shown { resource, metadata }: Shown<'_>) -> bool {
        let (group, plural, key) = &self.object;
        Some(key.name()) == metadata.name.as_deref()
            && key.namespace() == metadata.namespace.as_deref()
            && *plural == resource.plural
            && *group == resource.group
    }

    fn has_led_to(&self, uid: &str, version: &str) -> bool {
        let answer = self.answer.as_ref();
        answer.is_some_and(|answer| answer.0 == uid && answer.1 == version)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use k8s_openapi::api::core::v1::ConfigMap;
    use proptest::prelude::*;

    use super::*;

    /// A step of a run, of others, or of the watch.
    #[derive(Clone, Debug)]
    enum Step {
        Write { object: usize, answered: bool },
        ForeignWrite { object: usize },
        Event,
        End { succeeded: bool },
    }

    /// A version of an object, and the run that wrote it and got the answer.
    #[derive(Clone, Debug)]
    struct Version {
        object: usize,
        version: u64,
        own: Option<u64>,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let object = 0..3_usize;
        let step = prop_oneof![
            (object.clone(), any::<bool>())
                .prop_map(|(object, answered)| Step::Write { object, answered }),
            object.prop_map(|object| Step::ForeignWrite { object }),
            Just(Step::Event),
            Just(Step::Event),
            any::<bool>().prop_map(|succeeded| Step::End { succeeded }),
        ];
        proptest::collection::vec(step, 0..60)
    }

    fn id(object: usize) -> ObjectId {
        let key = ObjectKey::namespaced("default", &format!("o{object}"));
        object_id(&ApiResource::of::<ConfigMap>(), &key)
    }

    /// The third object stands for those whose kind the run read.
    fn is_spared(object: &ObjectId) -> bool {
        object.2.name() != "o2"
    }

    /// Judges the event of a version. A change is noted. Returns whether it is an echo.
    fn judge(writes: Option<&mut RunWrites>, event: &Version, changes: &mut Vec<u64>) -> bool {
        let resource = ApiResource::of::<ConfigMap>();
        let metadata = ObjectMeta {
            name: Some(format!("o{}", event.object)),
            namespace: Some("default".into()),
            uid: Some(format!("uid-{}", event.object)),
            resource_version: Some(event.version.to_string()),
            ..ObjectMeta::default()
        };
        let shown = Shown {
            resource: &resource,
            metadata: &metadata,
        };
        let verdict = writes.map(|writes| {
            writes.judge(shown, Priority::Normal, Cause::Owned, || {
                Some(event.version.to_string())
            })
        });
        let verdict = verdict.unwrap_or(EventVerdict::Change);
        if verdict == EventVerdict::Change {
            changes.push(event.version);
        }
        verdict == EventVerdict::Echo
    }

    proptest! {
        /// In each run at most one write per object, as the caller ensures.
        #[test]
        fn each_version_is_a_change_unless_a_run_wrote_it_and_nothing_began_since(steps in steps()) {
            let mut versions = 0;
            let mut under_way: VecDeque<Version> = VecDeque::new();
            let (mut run, mut ended, mut written) = (1, None, Vec::new());
            let mut writes: Option<RunWrites> = None;
            let (mut changes, mut echoes) = (Vec::new(), 0);
            let (mut expected_changes, mut expected_echoes) = (Vec::new(), 0);
            // Events that came during the run, until it is known how the run ends.
            let mut early: Vec<Version> = Vec::new();
            for step in steps.into_iter().chain([Step::End { succeeded: true }]) {
                if matches!(step, Step::Write { .. } | Step::End { .. }) && ended.is_some() {
                    (run, ended, writes) = (run + 1, None, None);
                    written.clear();
                }
                match step {
                    Step::Write { object, answered } if !written.contains(&object) => {
                        written.push(object);
                        versions += 1;
                        let writes = writes.get_or_insert_with(|| RunWrites::new(run));
                        writes.begin(id(object));
                        let own = answered.then_some(run);
                        under_way.push_back(Version { object, version: versions, own });
                        if answered {
                            writes.answered(&id(object), &format!("uid-{object}"), &versions.to_string());
                        }
                    }
                    Step::Write { .. } => {}
                    Step::ForeignWrite { object } => {
                        versions += 1;
                        under_way.push_back(Version { object, version: versions, own: None });
                    }
                    Step::Event => {
                        let Some(event) = under_way.pop_front() else { continue };
                        echoes += usize::from(judge(writes.as_mut(), &event, &mut changes));
                        let is_own = event.own == Some(run) && event.object != 2;
                        match ended {
                            Some(true) if is_own => expected_echoes += 1,
                            Some(_) => expected_changes.push(event.version),
                            None => early.push(event),
                        }
                    }
                    Step::End { succeeded } => {
                        if let Some(writes) = &mut writes {
                            let (more, parked) = writes.end(|object| succeeded && is_spared(object));
                            echoes += more;
                            changes.extend(parked.into_iter().map(|one| one.what.unwrap().parse::<u64>().unwrap()));
                        }
                        for event in early.drain(..) {
                            match succeeded && event.own == Some(run) && event.object != 2 {
                                true => expected_echoes += 1,
                                false => expected_changes.push(event.version),
                            }
                        }
                        ended = Some(succeeded);
                    }
                }
            }
            changes.sort_unstable();
            expected_changes.sort_unstable();
            prop_assert_eq!((changes, echoes), (expected_changes, expected_echoes));
        }
    }

    #[test]
    fn what_is_too_much_to_remember_counts_as_a_change() {
        let mut writes = RunWrites::new(1);
        for object in 0..=WRITES {
            writes.begin(id(object));
            writes.answered(&id(object), &format!("uid-{object}"), "1");
        }
        let mut changes = Vec::new();
        for object in 0..=WRITES {
            let version = Version {
                object,
                version: object as u64,
                own: None,
            };
            judge(Some(&mut writes), &version, &mut changes);
        }
        assert_eq!(changes, [WRITES as u64]);
        let other = Version {
            object: 0,
            version: 1,
            own: None,
        };
        judge(Some(&mut writes), &other, &mut changes);
        assert_eq!(changes, [WRITES as u64, 1], "no more is parked");
        assert_eq!(writes.parked.len(), PARKED);
    }
}
