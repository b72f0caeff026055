//! The state machine compared with a model that is too simple to be wrong.

use std::{collections::BTreeMap, time::Duration};

use proptest::prelude::*;

use super::{
    KeyState, Note, Priority, QueuedKey,
    core::Core,
    run::{End, Next, Request, Run},
};

#[derive(Clone, Debug)]
enum Step {
    Add(u8, Priority),
    AddAt(u8, u64, Priority),
    Take,
    /// Ends the run that began first, second, ….
    End(usize, bool),
    /// Returns that run instead.
    PutBack(usize),
    AddAgain(usize, u64, Priority),
    FailAgain(usize, u64),
    Fail(u8, u64),
    Forget(u8),
    Pass(u64),
    ShutDown,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0..8_u8;
    let after = prop_oneof![0..50_u64, 0..100_000_u64];
    let priority = prop_oneof![
        Just(Priority::Low),
        Just(Priority::Normal),
        Just(Priority::High)
    ];
    let run = 0..3_usize;
    let step = prop_oneof![
        6 => (key.clone(), priority.clone()).prop_map(|(key, priority)| Step::Add(key, priority)),
        4 => (key.clone(), after.clone(), priority.clone())
            .prop_map(|(key, after, priority)| Step::AddAt(key, after, priority)),
        6 => Just(Step::Take),
        4 => (run.clone(), any::<bool>()).prop_map(|(run, success)| Step::End(run, success)),
        1 => run.clone().prop_map(Step::PutBack),
        1 => (run.clone(), after.clone(), priority)
            .prop_map(|(run, after, priority)| Step::AddAgain(run, after, priority)),
        1 => (run, after.clone()).prop_map(|(run, after)| Step::FailAgain(run, after)),
        1 => (key.clone(), after).prop_map(|(key, after)| Step::Fail(key, after)),
        1 => key.prop_map(Step::Forget),
        3 => (1..40_u64).prop_map(Step::Pass),
        1 => (1..30_000_u64).prop_map(Step::Pass),
        1 => prop_oneof![19 => Just(Step::Take), 1 => Just(Step::ShutDown)],
    ];
    proptest::collection::vec(step, 0..120)
}

/// Every add, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Adds(Vec<u32>);

impl Note for Adds {
    fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }
}

/// One key as a user would describe it.
#[derive(Clone, Debug, Default)]
struct Key {
    waits: Option<u64>,
    runs: Option<u64>,
    dirty: Option<u64>,
    deadline: Option<(u64, u64)>,
    failures: u32,
    asked: Option<Priority>,
    note: Adds,
}

#[derive(Default)]
struct Model {
    keys: BTreeMap<u8, Key>,
    /// Which keys come next, by priority: the groups, each with its keys.
    rings: [Vec<(u8, Vec<u8>)>; 3],
    /// The same keys, by priority; the age of the first one counts.
    ages: [Vec<(u64, u8)>; 3],
    last_was_overdue: bool,
    turns: u64,
    closed: bool,
    now: u64,
}

fn group(key: u8) -> u8 {
    key % 3
}

impl Model {
    fn line_up(&mut self, key: u8, priority: Priority, first: bool) {
        let since = self.keys[&key].waits.unwrap();
        let ages = &mut self.ages[priority as usize];
        let older = ages.first().is_some_and(|(first, _)| since < *first);
        ages.insert(if older { 0 } else { ages.len() }, (since, key));
        let ring = &mut self.rings[priority as usize];
        match ring.iter_mut().find(|(other, _)| *other == group(key)) {
            Some((_, keys)) if first => keys.insert(0, key),
            Some((_, keys)) => keys.push(key),
            None => ring.push((group(key), vec![key])),
        }
    }

    fn wake(&mut self, key: u8, since: u64) {
        let state = self.keys.entry(key).or_default();
        state.deadline = None;
        if state.runs.is_some() {
            state.dirty.get_or_insert(since);
        } else if state.waits.is_none() {
            state.waits = Some(since);
            let priority = state.asked.unwrap();
            self.line_up(key, priority, false);
        }
    }

    fn ask(&mut self, key: u8, when: u64, priority: Priority, note: Adds) {
        if self.closed {
            return;
        }
        self.turns += 1;
        let turn = self.turns;
        let state = self.keys.entry(key).or_default();
        state.note.merge(note);
        let before = state.asked;
        let asked = before.unwrap_or(priority).max(priority);
        state.asked = Some(asked);
        if state.waits.is_some() {
            if Some(asked) != before {
                for ring in &mut self.rings {
                    ring.iter_mut()
                        .for_each(|(_, keys)| keys.retain(|other| *other != key));
                    ring.retain(|(_, keys)| !keys.is_empty());
                }
                self.forget_age(key);
                self.line_up(key, asked, false);
            }
        } else if when <= self.now {
            self.wake(key, self.now);
        } else if state.dirty.is_none() && state.deadline.is_none_or(|(at, _)| when < at) {
            state.deadline = Some((when, turn));
        }
    }

    fn forget_age(&mut self, key: u8) {
        for ages in &mut self.ages {
            ages.retain(|(_, other)| *other != key);
        }
    }

    fn take(&mut self) -> Option<(u8, Priority, u64, u32, Adds)> {
        let now = self.now;
        while let Some((_, key)) = self
            .keys
            .iter()
            .filter_map(|(key, state)| Some((state.deadline.filter(|(at, _)| *at <= now)?, *key)))
            .min()
        {
            self.wake(key, now);
        }
        let highest = self.rings.iter().rposition(|ring| !ring.is_empty())?;
        let overdue = (0..highest)
            .filter_map(|level| Some((self.ages[level].first()?.0, level)))
            .filter(|(since, _)| since + 25_000 <= now)
            .min()
            .filter(|_| !self.last_was_overdue);
        self.last_was_overdue = overdue.is_some();
        let level = overdue.map_or(highest, |(_, level)| level);
        let (group, mut keys) = self.rings[level].remove(0);
        let key = keys.remove(0);
        if !keys.is_empty() {
            self.rings[level].push((group, keys));
        }
        self.forget_age(key);
        let state = self.keys.entry(key).or_default();
        let since = state.waits.take().unwrap();
        state.runs = Some(now);
        let priority = state.asked.take().unwrap();
        let note = std::mem::take(&mut state.note);
        Some((key, priority, now - since, state.failures, note))
    }

    fn put_back(&mut self, key: u8, waited: u64, priority: Priority, note: Adds) {
        let state = self.keys.entry(key).or_default();
        state.waits = state.runs.take().map(|since| since - waited);
        (state.dirty, state.deadline) = (None, None);
        let later = std::mem::replace(&mut state.note, note);
        state.note.merge(later);
        let asked = state.asked.unwrap_or(priority).max(priority);
        state.asked = Some(asked);
        self.line_up(key, asked, true);
    }

    fn end(&mut self, key: u8, success: bool) -> u64 {
        let state = self.keys.entry(key).or_default();
        let since = state.runs.take().unwrap();
        if success {
            state.failures = 0;
        }
        if let Some(asked) = state.dirty.take() {
            self.wake(key, asked);
        }
        self.now - since
    }

    fn fail(&mut self, key: u8) -> u32 {
        let state = self.keys.entry(key).or_default();
        state.failures += 1;
        state.failures
    }

    fn remembered(&self) -> usize {
        let busy = |key: &&Key| {
            key.waits.is_some() || key.runs.is_some() || key.deadline.is_some() || key.failures > 0
        };
        self.keys.values().filter(busy).count()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_does_what_the_model_does(steps in steps()) {
        let mut core = Core::<u8, Adds>::new(Some(Box::new(|key| group(*key).into())));
        let mut model = Model::default();
        let mut runs: Vec<(u8, Run<u8, Adds>)> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            let now = Duration::from_millis(model.now);
            let note = Adds(vec![number as u32]);
            let after = |after| (now + Duration::from_millis(after), model.now + after);
            match step {
                Step::Add(key, priority) => {
                    core.add(key, Request { priority, note: note.clone() }, now);
                    model.ask(key, model.now, priority, note);
                }
                Step::AddAt(key, delay, priority) => {
                    let (at, when) = after(delay);
                    core.add_at(key, at, Request { priority, note: note.clone() }, now);
                    model.ask(key, when, priority, note);
                }
                Step::Take => match (core.next(now), model.take()) {
                    (Next::Work(run), Some((key, priority, waited, failures, note))) => {
                        let waited = Duration::from_millis(waited);
                        prop_assert_eq!(
                            (run.key, run.priority, run.waited, run.failures, &run.note),
                            (key, priority, waited, failures, &note)
                        );
                        runs.push((key, run));
                    }
                    (Next::Wait(deadline), None) => {
                        let expected = model.keys.values().filter_map(|key| key.deadline).min();
                        let expected = expected.map(|(at, _)| Duration::from_millis(at));
                        prop_assert_eq!(deadline.is_some(), expected.is_some());
                        prop_assert!(deadline <= expected && deadline.is_none_or(|at| at > now));
                    }
                    (Next::Closed, None) => prop_assert!(model.closed && runs.is_empty()),
                    (next, expected) => prop_assert!(false, "{:?} for {:?}", next, expected),
                },
                Step::End(run, success) if run < runs.len() => {
                    let (key, Run { token, .. }) = runs.remove(run);
                    let end = if success { End::Success } else { End::KeepFailures };
                    let worked = Duration::from_millis(model.end(key, success));
                    prop_assert_eq!(core.end(token, end, now), worked);
                }
                Step::AddAgain(run, delay, priority) if run < runs.len() => {
                    let (key, Run { token, .. }) = &runs[run];
                    let (at, when) = after(delay);
                    core.add_running(token, at, Request { priority, note: note.clone() }, now);
                    model.ask(*key, when, priority, note);
                }
                Step::FailAgain(run, delay) if run < runs.len() => {
                    let (key, Run { token, .. }) = &runs[run];
                    let request = Request { priority: Priority::Low, note: note.clone() };
                    let retry = core.fail_running(token, request, now, Duration::from_millis(delay));
                    prop_assert_eq!(retry.attempt, model.fail(*key));
                    model.ask(*key, model.now + delay, Priority::Low, note);
                }
                Step::PutBack(run) if run < runs.len() => {
                    let (key, run) = runs.remove(run);
                    let waited = run.waited.as_millis() as u64;
                    model.put_back(key, waited, run.priority, run.note.clone());
                    core.put_back(run);
                }
                Step::PutBack(..) | Step::End(..) | Step::AddAgain(..) | Step::FailAgain(..) => {}
                Step::Fail(key, delay) => {
                    let request = Request { priority: Priority::Low, note: note.clone() };
                    let retry = core.fail(key, request, now, |failures, _| {
                        Duration::from_millis(delay + u64::from(failures))
                    });
                    let failures = model.fail(key);
                    prop_assert_eq!(retry.attempt, failures);
                    prop_assert_eq!(retry.delay, Duration::from_millis(delay + u64::from(failures)));
                    model.ask(key, model.now + delay + u64::from(failures), Priority::Low, note);
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
            prop_assert_eq!(core.is_open(), !model.closed);
            prop_assert_eq!(core.remembered(), model.remembered());
            let depth = [0, 1, 2].map(|level| {
                let keys = model.rings[level].iter().map(|(_, keys)| keys.len());
                keys.sum::<usize>()
            });
            prop_assert_eq!(core.depth(), depth);
            prop_assert_eq!(core.len(), depth.iter().sum::<usize>());
            prop_assert_eq!(core.running_since().count(), runs.len());
            prop_assert_eq!(core.is_drained(), core.len() == 0 && runs.is_empty());
            for (key, state) in &model.keys {
                prop_assert_eq!(core.failures(key), state.failures);
            }
        }
    }
}

const NOW: Duration = Duration::ZERO;

fn queue<N: Note>() -> Core<u32, N> {
    Core::new(None)
}

fn run<N: Note>(core: &mut Core<u32, N>, now: Duration) -> Run<u32, N> {
    match core.next(now) {
        Next::Work(run) => run,
        _ => panic!("nothing is ready"),
    }
}

#[test]
fn the_memory_of_a_burst_is_freed_while_some_keys_stay() {
    let mut core = queue::<()>();
    let hour = Duration::from_secs(3600);
    // One of a hundred stays: waiting, delayed, or failed.
    for key in 0..20_000 {
        core.add(key, Request::default(), NOW);
    }
    for _ in 0..20_000 {
        let run = run(&mut core, NOW);
        let again = Request::default();
        match run.key % 300 {
            0 => core.add_running(&run.token, NOW, again, NOW),
            100 => core.add_running(&run.token, hour, again, NOW),
            200 => drop(core.fail_running(&run.token, again, NOW, 2 * hour)),
            _ => {}
        }
        core.end(run.token, End::KeepFailures, NOW);
    }
    assert_eq!(core.remembered(), 200);
    assert!(core.room() < 2048, "{}", core.room());

    let mut keys = Vec::new();
    for now in [NOW, hour, 2 * hour] {
        while let Next::Work(run) = core.next(now) {
            keys.push(run.key);
            core.end(run.token, End::Success, now);
        }
    }
    let of = |rest: u32| (0..20_000).filter(move |key| key % 300 == rest);
    assert_eq!(
        keys,
        of(0).chain(of(100)).chain(of(200)).collect::<Vec<_>>()
    );
    assert_eq!(core.remembered(), 0);
}

#[test]
fn running_keys_stay_with_their_workers_when_memory_is_freed() {
    let mut core = queue::<()>();
    for key in 0..20_000 {
        core.add(key, Request::default(), NOW);
    }
    let mut late = Vec::new();
    while let Next::Work(run) = core.next(NOW) {
        match run.key % 1000 {
            999 => late.push(run),
            _ => drop(core.end(run.token, End::Success, NOW)),
        }
    }
    assert!(core.room() < 2048, "{}", core.room());
    for run in late {
        core.add(run.key, Request::default(), NOW);
        core.end(run.token, End::Success, NOW);
        let again = self::run(&mut core, NOW);
        assert_eq!(again.key, run.key);
        core.end(again.token, End::Success, NOW);
    }
    assert_eq!(core.remembered(), 0);
}

#[test]
fn memory_is_freed_when_three_of_four_slots_of_a_large_slab_are_free() {
    let full = |keys| {
        let mut core = queue::<()>();
        (0..keys).for_each(|key| core.add(key, Request::default(), NOW));
        core
    };
    let work = |core: &mut Core<u32, ()>, times| {
        for _ in 0..times {
            let run = run(core, NOW);
            core.end(run.token, End::Success, NOW);
        }
    };
    let mut core = full(8192);
    for times in [10, 8192 * 3 / 4 - 11] {
        work(&mut core, times);
        assert!(core.room() >= 8192);
    }
    work(&mut core, 1);
    let room = core.room();
    assert!((2 * 2048..8192).contains(&room), "{room}");

    let mut few = full(1023);
    work(&mut few, 1023);
    assert!(few.room() >= 1023);
    let mut many = full(1024);
    work(&mut many, 1024);
    assert!(many.room() < 1024, "{}", many.room());
}

#[test]
fn only_a_failure_count_that_is_never_forgotten_stays() {
    let mut core = queue::<()>();
    core.fail(1, Request::default(), NOW, |_, _| NOW);
    let run = run(&mut core, NOW);
    core.end(run.token, End::KeepFailures, NOW);
    assert_eq!((core.remembered(), core.failures(&1)), (1, 1));
    core.forget(&1);
    assert_eq!(core.remembered(), 0);
}

#[test]
fn deadlines_come_at_most_a_millisecond_late_and_never_early() {
    for (when, comes) in [
        (1_000_000, 1_000_000),
        (1_000_001, 2_000_000),
        (1, 1_000_000),
    ] {
        let mut core = queue::<()>();
        let (when, comes) = (Duration::from_nanos(when), Duration::from_nanos(comes));
        core.add_at(1, when, Request::default(), NOW);
        let before = comes - Duration::from_nanos(1);
        assert_eq!(core.next(before), Next::Wait(Some(comes)));
        assert_eq!(run(&mut core, comes).key, 1);
    }
    let mut core = queue::<()>();
    let now = Duration::from_nanos(1_000_001);
    core.add_at(1, now, Request::default(), now);
    assert_eq!(
        run(&mut core, now).waited,
        NOW,
        "a key that is due now comes now"
    );
}

#[test]
fn a_delay_is_given_back_only_if_something_else_brings_a_failed_key_earlier() {
    let second = Duration::from_secs(1);
    let failed = |delay| {
        let mut core = queue::<()>();
        core.add(1, Request::default(), NOW);
        let run = run(&mut core, NOW);
        core.fail_running(&run.token, Request::default(), NOW, delay);
        core.end(run.token, End::KeepFailures, NOW);
        core
    };
    let mut waited = failed(second);
    assert_eq!(run(&mut waited, second).key, 1);
    assert_eq!(waited.take_unused(), [0; 0], "the delay was waited for");

    let mut at_once = failed(NOW);
    assert_eq!(run(&mut at_once, NOW).key, 1);
    assert_eq!(at_once.take_unused(), [0; 0], "there was no delay");

    let mut earlier = failed(second);
    earlier.add(1, Request::default(), NOW);
    assert_eq!(
        earlier.take_unused(),
        [0],
        "the group of a queue without groups"
    );

    // What brings the key earlier has no delay after a failure, which could be taken back once more.
    let mut requested = failed(second);
    requested.add(1, Request::default(), NOW);
    assert_eq!(requested.take_unused(), [0]);
    let again = run(&mut requested, NOW);
    requested.add_running(&again.token, second, Request::default(), NOW);
    requested.end(again.token, End::KeepFailures, NOW);
    requested.add(1, Request::default(), NOW);
    assert_eq!(requested.take_unused(), [0; 0]);

    let mut never_failed = queue::<()>();
    never_failed.add_at(1, second, Request::default(), NOW);
    never_failed.add(1, Request::default(), NOW);
    assert_eq!(never_failed.take_unused(), [0; 0]);
}

#[test]
fn everything_that_is_remembered_can_be_looked_at() {
    let second = Duration::from_secs(1);
    let mut core = queue::<()>();
    core.add(1, Request::default(), NOW);
    let run = run(&mut core, NOW);
    core.add(1, Request::default(), NOW);
    core.add(2, Request::default(), NOW);
    core.add_at(3, 3 * second, Request::default(), NOW);
    core.fail(3, Request::default(), NOW, |_, _| 3 * second);
    let found: Vec<_> = core.keys(second).map(QueuedKey::cloned).collect();
    let states = found
        .iter()
        .map(|key| (key.key, key.state, key.due_in, key.failures));
    let running = KeyState::Running {
        since: second,
        again: true,
    };
    let expected = [
        (1, running, None, 0),
        (2, KeyState::Waiting, None, 0),
        (3, KeyState::Idle, Some(2 * second), 1),
    ];
    assert_eq!(states.collect::<Vec<_>>(), expected);
    let notable: Vec<_> = found.iter().map(QueuedKey::is_notable).collect();
    assert_eq!(notable, [true, false, true]);
    core.end(run.token, End::Success, second);
}
