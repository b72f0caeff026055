use super::*;
use crate::events::series::Series;

const DROPPED_AS_SPAM: Recorded = Recorded::Dropped(DropReason::Spam);

#[test]
fn the_first_repetition_is_written_at_once_and_makes_a_series() {
    let mut world = World::new();
    assert_eq!(world.record(key("a", "Created"), "one"), Recorded::Started);
    assert_eq!(world.send(), ["create x1 one"]);
    assert_eq!(world.record(key("a", "Created"), "one"), Recorded::Repeated);
    assert_eq!(world.send(), ["patch x2"]);
}

#[test]
fn a_difference_in_anything_but_the_note_makes_another_series() {
    let base = || key("a", "Created");
    let reporter = |controller: &str, instance: &str| {
        Arc::new(Reporter {
            controller: controller.into(),
            instance: instance.into(),
        })
    };
    let other = |change: fn(&mut SeriesKey)| {
        let mut key = base();
        change(&mut key);
        key
    };
    let keys = [
        base(),
        other(|key| key.kind = EventType::Warning),
        other(|key| key.reason = "Deleted".into()),
        other(|key| key.action = "Other".into()),
        other(|key| key.related = Some(key.regarding.clone())),
        key("b", "Created"),
        SeriesKey {
            reporter: reporter("tests/others", "tests/maps-0"),
            ..base()
        },
        SeriesKey {
            reporter: reporter("tests/maps", "tests/maps-1"),
            ..base()
        },
    ];
    let mut world = World::new();
    for key in &keys {
        assert_eq!(world.record(key.clone(), "x"), Recorded::Started, "{key:?}");
    }
    for key in keys {
        assert_eq!(world.record(key, "y"), Recorded::Repeated);
    }
    // Both events of a series are one request, because neither was sent before.
    assert_eq!(world.send(), vec!["create x2 y"; 8]);
}

/// In kube-rs the note of the first event stays (row w).
#[test]
fn the_newest_note_is_kept() {
    let mut world = World::new();
    world.record(key("a", "Scaled"), "1 of 3");
    world.send();
    world.record(key("a", "Scaled"), "2 of 3");
    assert_eq!(world.send(), ["patch x2 2 of 3"]);
    world.record(key("a", "Scaled"), "3 of 3");
    world.pass(seconds(10));
    assert_eq!(world.send(), ["patch x3 3 of 3"]);
}

#[test]
fn another_note_is_written_at_once_although_the_pace_of_the_series_is_slow() {
    let mut world = World::new();
    for _ in 0..5 {
        world.record(key("a", "Failed"), "apply refused");
        world.send();
        world.pass(minutes(5));
    }
    world.record(key("a", "Failed"), "apply refused");
    assert_eq!(world.send(), ["patch x6"]);
    world.record(key("a", "Failed"), "apply refused");
    assert_eq!(world.send(), [] as [&str; 0], "the pace");
    world.record(key("a", "Failed"), "Secret missing");
    assert_eq!(world.send(), ["patch x8 Secret missing"]);
    world.record(key("a", "Failed"), "Secret missing");
    assert_eq!(world.send(), [] as [&str; 0], "the pace again");
}

#[test]
fn another_note_that_arrives_while_a_write_runs_is_written_after_it() {
    let mut world = World::new();
    world.record(key("a", "Failed"), "one");
    world.send();
    world.record(key("a", "Failed"), "two");
    let patch = world.next().unwrap();
    world.record(key("a", "Failed"), "three");
    assert!(world.next().is_none());
    world.ended(&patch, Outcome::Done);
    assert_eq!(world.send(), ["patch x3 three"]);
}

#[test]
fn notes_that_change_each_time_are_written_25_times_at_once_and_then_rarely() {
    let mut world = World::new();
    let mut written = Vec::new();
    for second in 0..3600 {
        let note = format!("failed after {second} tries");
        world.record(key("a", "Failed"), &note);
        written.extend(world.send().iter().map(|_| second));
        world.pass(seconds(1));
    }
    // The first repetition is written at once by the pace, too.
    assert_eq!(written[..26], Vec::from_iter(0..26)[..]);
    // One each 300 s, and one by the pace of 30 min.
    assert!(written.len() <= 26 + 12 + 2, "{written:?}");
    // Another object has a limit of its own, and new series have another limit.
    world.record(key("b", "Failed"), "one");
    world.record(key("a", "Deleted"), "one");
    assert_eq!(world.send(), ["create x1 one"; 2]);
    world.record(key("b", "Failed"), "two");
    world.send();
    world.record(key("b", "Failed"), "three");
    assert_eq!(world.send(), ["patch x3 three"]);
}

#[test]
fn a_series_is_written_less_and_less_often_but_at_least_every_half_hour() {
    let mut world = World::new();
    let mut content = Vec::new();
    for second in 0..4 * 3600 {
        world.record(key("a", "Failed"), "again");
        for line in world.send() {
            content.push((second, line));
        }
        world.pass(seconds(1));
    }
    let times: Vec<_> = content.iter().map(|(second, _)| *second).collect();
    assert_eq!(
        times,
        [
            0, 1, 11, 31, 71, 151, 311, 631, 1271, 2551, 4351, 6151, 7951, 9751, 11551, 13351
        ]
    );
    assert_eq!(content.last().unwrap().1, "patch x13352");
}

#[test]
fn a_quiet_series_gets_its_last_count_and_the_next_event_starts_a_new_one() {
    let mut world = World::new();
    for _ in 0..6 {
        world.record(key("a", "Failed"), "again");
        world.send();
        world.pass(seconds(20));
    }
    // By the pace alone the write would wait longer.
    for _ in 0..3 {
        world.record(key("a", "Failed"), "again");
    }
    let mut content = world.send();
    let end = world.now + Series::IDLE;
    while let Some(due) = world.correlator.due().filter(|due| *due <= end) {
        world.now = due;
        content.append(&mut world.send());
    }
    assert_eq!(content.last().unwrap(), "patch x9");
    assert_eq!(world.correlator.sizes()[..4], [0; 4]);
    assert_eq!(world.record(key("a", "Failed"), "again"), Recorded::Started);
    assert_eq!(world.send(), ["create x1 again"]);
}

/// In kube-rs the event is lost (row x).
#[test]
fn a_deleted_event_is_created_again_with_its_count() {
    let mut world = World::new();
    world.record(key("a", "Failed"), "one");
    world.send();
    world.record(key("a", "Failed"), "two");
    let patch = world.next().unwrap();
    assert_eq!(world.ended(&patch, Outcome::Lost), None);
    assert_eq!(world.send(), ["create x2 two"]);
}

#[test]
fn an_attempt_with_an_unknown_outcome_is_completed() {
    let mut world = World::new();
    world.record(key("a", "Failed"), "one");
    let create = world.next().unwrap();
    // The server applied the request, the response was lost, and the event was repeated meanwhile.
    world.ended(&create, Outcome::Later(Duration::ZERO));
    world.record(key("a", "Failed"), "two");
    world.pass(seconds(2));
    let again = world.next().unwrap();
    assert_eq!(again.name, create.name);
    world.ended(&again, Outcome::Exists);
    assert_eq!(world.send(), ["patch x2 two"]);
}

#[test]
fn a_note_that_may_have_been_written_is_written_again() {
    let mut world = World::new();
    world.record(key("a", "Failed"), "one");
    world.send();
    world.record(key("a", "Failed"), "two");
    let patch = world.next().unwrap();
    world.ended(&patch, Outcome::Later(Duration::ZERO));
    world.record(key("a", "Failed"), "one");
    world.pass(seconds(2));
    assert_eq!(world.send(), ["patch x3 one"]);
}

#[test]
fn a_refused_note_does_not_hold_back_the_count() {
    let mut world = World::new();
    world.record(key("a", "Failed"), "one");
    world.send();
    world.record(key("a", "Failed"), "two");
    let patch = world.next().unwrap();
    assert_eq!(patch.verb, Verb::Patch { note: true });
    world.ended(&patch, Outcome::NoteRefused);
    assert_eq!(world.send(), ["patch x2"]);
    assert_eq!(world.correlator.unsent(), 0);
}

#[test]
fn a_failing_write_is_sent_at_most_twelve_times_with_growing_pauses() {
    let mut world = World::new();
    world.record(key("a", "Failed"), "one");
    let mut times = Vec::new();
    let dropped = loop {
        let write = world.next().unwrap();
        times.push(world.now.as_secs_f64());
        let dropped = world.ended(&write, Outcome::Later(Duration::ZERO));
        if dropped.is_some() {
            break dropped;
        }
        world.now = world.correlator.due().unwrap();
    };
    assert_eq!(dropped, Some(DropReason::Failed));
    assert_eq!(times.len(), 12);
    for (pause, pair) in [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]
        .into_iter()
        .zip(times.windows(2))
    {
        let (pause, waited) = (f64::from(pause), pair[1] - pair[0]);
        assert!((pause..=pause * 1.26).contains(&waited), "{pause} {waited}");
    }
    assert_eq!(world.correlator.len(), 0);
}

#[test]
fn a_success_resets_the_count_of_failed_writes() {
    let mut world = World::new();
    for _ in 0..20 {
        for outcome in [Outcome::Later(Duration::ZERO), Outcome::Done] {
            let write = loop {
                world.record(key("a", "Failed"), "again");
                match world.next() {
                    Some(write) => break write,
                    None => world.pass(minutes(1)),
                }
            };
            assert_eq!(world.ended(&write, outcome), None);
        }
    }
}

#[test]
fn a_retry_after_of_the_server_is_obeyed() {
    let mut world = World::new();
    world.record(key("a", "Failed"), "one");
    let write = world.next().unwrap();
    world.ended(&write, Outcome::Later(seconds(40)));
    assert_eq!(world.correlator.due(), Some(seconds(40)));
}

#[test]
fn a_failing_event_does_not_delay_others() {
    let mut world = World::new();
    world.record(key("a", "Failed"), "one");
    let stuck = world.next().unwrap();
    world.record(key("b", "Failed"), "other");
    assert_eq!(world.send(), ["create x1 other"]);
    world.ended(&stuck, Outcome::Later(minutes(5)));
    world.record(key("c", "Failed"), "third");
    assert_eq!(world.send(), ["create x1 third"]);
}

#[test]
fn a_refused_event_is_dropped_and_not_retried() {
    for (outcome, why) in [
        (Outcome::Refused, DropReason::Refused),
        (Outcome::NamespaceGone, DropReason::Namespace),
    ] {
        let mut world = World::new();
        world.record(key("a", "Failed"), "one");
        let write = world.next().unwrap();
        assert_eq!(world.ended(&write, outcome), Some(why));
        assert_eq!(world.correlator.len(), 0);
        assert_eq!(world.correlator.due(), None);
    }
}

#[test]
fn too_many_different_events_about_one_object_are_dropped_but_repetitions_are_not() {
    let mut world = World::new();
    for number in 0..25 {
        let recorded = world.record(key("a", &number.to_string()), "x");
        assert_eq!(recorded, Recorded::Started);
    }
    assert_eq!(world.record(key("a", "25"), "x"), DROPPED_AS_SPAM);
    assert_eq!(world.record(key("a", "24"), "x"), Recorded::Repeated);
    assert_eq!(world.record(key("b", "25"), "x"), Recorded::Started);
    world.pass(minutes(5));
    assert_eq!(world.record(key("a", "25"), "x"), Recorded::Started);
    assert_eq!(world.record(key("a", "26"), "x"), DROPPED_AS_SPAM);
}

#[test]
fn a_full_correlator_forgets_completely_sent_series_but_no_unsent_ones() {
    let mut world = World::with_capacity(3);
    for object in ["a", "b", "c"] {
        world.record(key(object, "x"), "");
    }
    assert_eq!(
        world.record(key("d", "x"), ""),
        Recorded::Dropped(DropReason::Full)
    );
    assert_eq!(world.record(key("a", "x"), ""), Recorded::Repeated);
    world.send();
    world.pass(seconds(1));
    world.record(key("a", "x"), "");
    world.send();
    assert_eq!(world.record(key("d", "x"), ""), Recorded::Started);
    assert_eq!(world.correlator.len(), 3);
    assert_eq!(
        world.record(key("a", "x"), ""),
        Recorded::Repeated,
        "newest"
    );
    assert_eq!(world.record(key("b", "x"), ""), Recorded::Started, "oldest");
}

#[test]
fn closing_sends_all_unsent_events_without_further_waiting() {
    let mut world = World::new();
    world.record(key("paced", "x"), "");
    world.send();
    for _ in 0..3 {
        world.record(key("paced", "x"), "");
        world.send();
    }
    world.record(key("failed", "x"), "");
    let write = world.next().unwrap();
    world.ended(&write, Outcome::Later(minutes(5)));
    assert_eq!(world.send(), [] as [&str; 0]);
    world.correlator.close();
    assert_eq!(
        world.record(key("late", "x"), ""),
        Recorded::Dropped(DropReason::Stopped)
    );
    let mut sent = world.send();
    sent.sort();
    assert_eq!(sent, ["create x1 ", "patch x4"]);
    assert_eq!(world.correlator.unsent(), 0);
}

#[test]
fn names_differ_even_at_the_same_time() {
    let mut world = World::new();
    let mut names: Vec<_> = (0..20)
        .map(|number| {
            world.record(key("a", &number.to_string()), "");
            world.next().unwrap().name
        })
        .collect();
    names.dedup();
    assert_eq!(names.len(), 20);
    assert_eq!(names[0], "a.1");
}

#[test]
fn a_recorder_states_the_permissions_that_it_needs() {
    let access = crate::events::Recorder::access();
    let rules = access.policy_rules(|scope| *scope == crate::resource::AccessScope::Operator);
    let rules: Vec<_> = rules
        .into_iter()
        .map(|rule| {
            (
                rule.api_groups.unwrap(),
                rule.resources.unwrap(),
                rule.verbs,
            )
        })
        .collect();
    let rule = |group: &str, verbs: &[&str]| {
        let verbs = verbs.iter().map(|verb| verb.to_string()).collect();
        (vec![group.to_owned()], vec!["events".to_owned()], verbs)
    };
    assert_eq!(
        rules,
        [
            rule("", &["patch"]),
            rule("events.k8s.io", &["create", "patch"])
        ]
    );
}
