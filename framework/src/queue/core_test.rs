//! The state machine against a model that is too simple to be wrong.

use std::{collections::BTreeMap, time::Duration};

use proptest::prelude::*;

use super::core::{Core, Next};

#[derive(Clone, Debug)]
enum Step {
    Add(u8),
    AddAt(u8, u64),
    Take,
    Done(u8),
    Fail(u8),
    Forget(u8),
    Pass(u64),
    ShutDown,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0..4_u8;
    let step = prop_oneof![
        4 => key.clone().prop_map(Step::Add),
        4 => (key.clone(), 0..50_u64).prop_map(|(key, after)| Step::AddAt(key, after)),
        6 => Just(Step::Take),
        4 => key.clone().prop_map(Step::Done),
        1 => key.clone().prop_map(Step::Fail),
        1 => key.prop_map(Step::Forget),
        3 => (1..40_u64).prop_map(Step::Pass),
        1 => prop_oneof![9 => Just(Step::Pass(1)), 1 => Just(Step::ShutDown)],
    ];
    proptest::collection::vec(step, 0..80)
}

/// One key as a user would describe it.
#[derive(Clone, Debug, Default)]
struct Key {
    /// Its turn, if it waits.
    waits: Option<u64>,
    runs: bool,
    dirty: bool,
    deadline: Option<(u64, u64)>,
    failures: u32,
}

#[derive(Default)]
struct Model {
    keys: BTreeMap<u8, Key>,
    turns: u64,
    closed: bool,
    now: u64,
}

impl Model {
    fn wake(&mut self, key: u8) {
        self.turns += 1;
        let turn = self.turns;
        let key = self.keys.entry(key).or_default();
        if key.runs {
            key.dirty = true;
        } else if key.waits.is_none() {
            key.waits = Some(turn);
        }
        key.deadline = None;
    }

    fn add_at(&mut self, key: u8, when: u64) {
        if when <= self.now {
            return self.wake(key);
        }
        self.turns += 1;
        let turn = self.turns;
        let key = self.keys.entry(key).or_default();
        if key.waits.is_none() && !key.dirty && key.deadline.is_none_or(|(at, _)| when < at) {
            key.deadline = Some((when, turn));
        }
    }

    fn take(&mut self) -> Option<u8> {
        let now = self.now;
        while let Some((_, key)) = self
            .keys
            .iter()
            .filter_map(|(key, state)| Some((state.deadline.filter(|(at, _)| *at <= now)?, *key)))
            .min()
        {
            self.wake(key);
        }
        let (_, key) = self
            .keys
            .iter()
            .filter_map(|(key, state)| Some((state.waits?, *key)))
            .min()?;
        let state = self.keys.entry(key).or_default();
        (state.waits, state.runs) = (None, true);
        Some(key)
    }

    fn done(&mut self, key: u8) -> bool {
        let state = self.keys.entry(key).or_default();
        if !std::mem::take(&mut state.runs) {
            return false;
        }
        if std::mem::take(&mut state.dirty) {
            self.wake(key);
        }
        true
    }

    fn remembered(&self) -> usize {
        let at_rest = |key: &&Key| {
            key.waits.is_some() || key.runs || key.deadline.is_some() || key.failures > 0
        };
        self.keys.values().filter(at_rest).count()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_does_what_the_model_does(steps in steps()) {
        let (mut core, mut model) = (Core::new(), Model::default());
        for step in steps {
            let now = Duration::from_millis(model.now);
            match step {
                Step::Add(key) => {
                    core.add(key, now);
                    if !model.closed { model.wake(key); }
                }
                Step::AddAt(key, after) => {
                    core.add_at(key, now + Duration::from_millis(after), now);
                    if !model.closed { model.add_at(key, model.now + after); }
                }
                Step::Take => {
                    let expected_key = model.take();
                    let got = match core.next(now) {
                        Next::Work { key, .. } => Some(key),
                        Next::Wait(deadline) => {
                            let expected = model.keys.values().filter_map(|key| key.deadline).min();
                            prop_assert_eq!(deadline, expected.map(|(at, _)| Duration::from_millis(at)));
                            None
                        }
                        Next::Closed => {
                            prop_assert!(model.closed && model.keys.values().all(|key| !key.runs));
                            None
                        }
                    };
                    prop_assert_eq!(got, expected_key);
                }
                Step::Done(key) => prop_assert_eq!(core.done(&key, now).is_some(), model.done(key)),
                Step::Fail(key) => {
                    let state = model.keys.entry(key).or_default();
                    state.failures += 1;
                    prop_assert_eq!(core.fail(&key), state.failures);
                }
                Step::Forget(key) => {
                    core.forget(&key);
                    model.keys.entry(key).or_default().failures = 0;
                }
                Step::Pass(millis) => model.now += millis,
                Step::ShutDown => {
                    core.shut_down();
                    model.closed = true;
                    model.keys.values_mut().for_each(|key| key.deadline = None);
                }
            }
            prop_assert_eq!(core.remembered(), model.remembered());
            prop_assert_eq!(core.len(), model.keys.values().filter(|key| key.waits.is_some()).count());
            prop_assert_eq!(core.running_since().count(), model.keys.values().filter(|key| key.runs).count());
        }
    }
}

#[test]
fn a_burst_gives_its_memory_back() {
    let mut core = Core::new();
    for key in 0..10_000 {
        core.add(key, Duration::ZERO);
    }
    while let Next::Work { key, .. } = core.next(Duration::ZERO) {
        core.done(&key, Duration::ZERO);
    }
    assert_eq!(core.remembered(), 0);
}

#[test]
fn a_failure_count_that_is_never_forgotten_is_all_that_stays() {
    let mut core = Core::new();
    core.fail(&1);
    core.add(1, Duration::ZERO);
    assert!(matches!(
        core.next(Duration::ZERO),
        Next::Work { key: 1, .. }
    ));
    core.done(&1, Duration::ZERO);
    assert_eq!((core.remembered(), core.failures(&1)), (1, 1));
    core.forget(&1);
    assert_eq!(core.remembered(), 0);
}
