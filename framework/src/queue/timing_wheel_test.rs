//! The wheel compared with a sorted map.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::timing_wheel::TimingWheel;

#[derive(Clone, Debug)]
enum Step {
    Set(u32, u64),
    Clear(u32),
    Pass(u64),
    Move(u32, u32),
    TakeAll,
}

const YEAR: u64 = 365 * 24 * 3600 * 1000;

/// Short and long ones, and those where the digits of the wheel overflow.
fn ticks() -> impl Strategy<Value = u64> {
    let edge = (0..7_u32, 0..3_u64).prop_map(|(level, off)| (1_u64 << (6 * level)) - 1 + off);
    prop_oneof![0..200_u64, 0..300_000_u64, 0..YEAR, edge]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = 0..40_u32;
    let step = prop_oneof![
        10 => (place.clone(), ticks()).prop_map(|(place, after)| Step::Set(place, after)),
        2 => place.clone().prop_map(Step::Clear),
        4 => ticks().prop_map(Step::Pass),
        1 => (place.clone(), place).prop_map(|(from, to)| Step::Move(from, to)),
        1 => prop_oneof![19 => Just(Step::Pass(1)), 1 => Just(Step::TakeAll)],
    ];
    proptest::collection::vec(step, 0..150)
}

/// By deadline and by order of setting.
#[derive(Default)]
struct Model {
    deadlines: BTreeMap<(u64, u64), u32>,
    set: u64,
    now: u64,
}

impl Model {
    fn at(&self, place: u32) -> Option<(u64, u64)> {
        let mut all = self.deadlines.iter();
        all.find_map(|(at, other)| (*other == place).then_some(*at))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 750, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_wheel_is_as_a_sorted_map(steps in steps()) {
        let (mut wheel, mut model) = (TimingWheel::new(), Model::default());
        for step in steps {
            match step {
                Step::Set(place, after) if model.at(place).is_none() => {
                    wheel.set(place, model.now + after);
                    model.set += 1;
                    model.deadlines.insert((model.now + after, model.set), place);
                }
                Step::Set(place, _) | Step::Clear(place) => {
                    let at = model.at(place);
                    prop_assert_eq!(wheel.clear(place), at.is_some());
                    at.map(|at| model.deadlines.remove(&at));
                }
                Step::Pass(ticks) => {
                    model.now += ticks;
                    while let Some(entry) = model.deadlines.first_entry()
                        && entry.key().0 <= model.now
                    {
                        prop_assert_eq!(wheel.pop(model.now), Some(entry.remove()));
                    }
                    prop_assert_eq!(wheel.pop(model.now), None);
                    let next = model.deadlines.keys().next().map(|(at, _)| *at);
                    prop_assert_eq!(wheel.next().is_some(), next.is_some());
                    prop_assert!(wheel.next() <= next);
                    prop_assert!(wheel.next().is_none_or(|at| at > model.now));
                }
                Step::Move(from, to) => {
                    if let Some(at) = model.at(from)
                        && model.at(to).is_none()
                        && to < from
                    {
                        wheel.renumber(from, to);
                        model.deadlines.insert(at, to);
                    }
                }
                Step::TakeAll => {
                    let taken: BTreeSet<_> = wheel.take_all().into_iter().collect();
                    let all = std::mem::take(&mut model.deadlines);
                    prop_assert_eq!(taken, all.into_values().collect());
                    prop_assert_eq!(wheel.next(), None);
                }
            }
            for place in 0..40 {
                prop_assert_eq!(wheel.get(place), model.at(place).map(|(at, _)| at));
            }
        }
    }
}

#[test]
fn a_deadline_beyond_the_wheel_becomes_its_last_tick() {
    let mut wheel = TimingWheel::new();
    wheel.set(3, u64::MAX - 1);
    let last = wheel.get(3).unwrap();
    assert!(last > 130 * YEAR);
    assert_eq!((wheel.pop(last - 1), wheel.pop(last)), (None, Some(3)));
}

#[test]
fn unneeded_memory_is_freed() {
    let mut wheel = TimingWheel::new();
    wheel.set(9, 50);
    wheel.set(1, 70);
    wheel.clear(9);
    wheel.shrink(2);
    assert_eq!((wheel.get(9), wheel.get(1)), (None, Some(70)));
    wheel.set(9, 60);
    assert_eq!((wheel.pop(60), wheel.pop(70)), (Some(9), Some(1)));
}
