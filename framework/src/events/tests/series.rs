use super::*;
use crate::events::series::Series;

const DROPPED_AS_SPAM: Recorded = Recorded::Dropped(Dropped::Spam);

#[test]
fn the_second_of_the_same_is_told_at_once_and_makes_a_series() {
    let mut world = World::new();
    assert_eq!(world.record(key("a", "Created"), "one"), Recorded::Started);
    assert_eq!(world.send(), ["create x1 one"]);
    assert_eq!(world.record(key("a", "Created"), "one"), Recorded::Repeated);
    assert_eq!(world.send(), ["patch x2"]);
}

#[test]
fn what_differs_in_anything_but_the_note_is_another_series() {
    let base = || key("a", "Created");
    let reporter = |controller: &str, instance: &str| {
        Arc::new(Reporter {
            controller: controller.into(),
            instance: instance.into(),
        })
    };
    let other = |change: fn(&mut Key)| {
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
        Key {
            reporter: reporter("tests/others", "tests/maps-0"),
            ..base()
        },
        Key {
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
    // Both at once: what was not sent yet is one request.
    assert_eq!(world.send(), vec!["create x2 y"; 8]);
}

/// In kube-rs the note of the first one stayed (row w).
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
fn a_series_is_told_ever_more_seldom_but_at_least_every_half_hour() {
    let mut world = World::new();
    let mut told = Vec::new();
    for second in 0..4 * 3600 {
        world.record(key("a", "Failed"), "again");
        for line in world.send() {
            told.push((second, line));
        }
        world.pass(seconds(1));
    }
    let times: Vec<_> = told.iter().map(|(second, _)| *second).collect();
    assert_eq!(
        times,
        [
            0, 1, 11, 31, 71, 151, 311, 631, 1271, 2551, 4351, 6151, 7951, 9751, 11551, 13351
        ]
    );
    assert_eq!(told.last().unwrap().1, "patch x13352");
}

#[test]
fn a_series_that_went_quiet_gets_its_last_count_and_the_next_is_a_new_one() {
    let mut world = World::new();
    for _ in 0..6 {
        world.record(key("a", "Failed"), "again");
        world.send();
        world.pass(seconds(20));
    }
    // The pace alone would let it wait for longer.
    for _ in 0..3 {
        world.record(key("a", "Failed"), "again");
    }
    let mut told = world.send();
    let end = world.now + Series::IDLE;
    while let Some(due) = world.correlator.due().filter(|due| *due <= end) {
        world.now = due;
        told.append(&mut world.send());
    }
    assert_eq!(told.last().unwrap(), "patch x9");
    assert_eq!(world.correlator.sizes()[..4], [0; 4]);
    assert_eq!(world.record(key("a", "Failed"), "again"), Recorded::Started);
    assert_eq!(world.send(), ["create x1 again"]);
}

/// In kube-rs the event was lost (row x).
#[test]
fn an_event_that_is_gone_is_created_anew_with_its_count() {
    let mut world = World::new();
    world.record(key("a", "Failed"), "one");
    world.send();
    world.record(key("a", "Failed"), "two");
    let patch = world.next().unwrap();
    assert_eq!(world.ended(&patch, Outcome::Lost), None);
    assert_eq!(world.send(), ["create x2 two"]);
}

#[test]
fn an_attempt_of_which_nothing_is_known_is_made_good() {
    let mut world = World::new();
    world.record(key("a", "Failed"), "one");
    let create = world.next().unwrap();
    // It was done, but the answer was lost, and the event was repeated meanwhile.
    world.ended(&create, Outcome::Later(Duration::ZERO));
    world.record(key("a", "Failed"), "two");
    world.pass(seconds(2));
    let again = world.next().unwrap();
    assert_eq!(again.name, create.name);
    world.ended(&again, Outcome::Exists);
    assert_eq!(world.send(), ["patch x2 two"]);
}

#[test]
fn a_note_that_may_have_been_changed_is_changed_back() {
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
fn a_note_that_may_not_be_changed_keeps_nothing_else_back() {
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
fn a_failure_is_tried_again_with_growing_pauses_and_twelve_times_at_most() {
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
    assert_eq!(dropped, Some(Dropped::Failed));
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
fn the_servers_wish_to_wait_is_heard() {
    let mut world = World::new();
    world.record(key("a", "Failed"), "one");
    let write = world.next().unwrap();
    world.ended(&write, Outcome::Later(seconds(40)));
    assert_eq!(world.correlator.due(), Some(seconds(40)));
}

#[test]
fn a_failing_event_holds_up_no_other() {
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
fn what_the_server_refuses_is_dropped_and_not_tried_again() {
    for (outcome, why) in [
        (Outcome::Refused, Dropped::Refused),
        (Outcome::NamespaceGone, Dropped::Namespace),
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
fn too_many_different_events_about_one_object_are_dropped_and_repeats_cost_nothing() {
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
fn when_it_is_full_what_the_server_knows_makes_room_and_nothing_unsent_does() {
    let mut world = World::with_capacity(3);
    for object in ["a", "b", "c"] {
        world.record(key(object, "x"), "");
    }
    assert_eq!(
        world.record(key("d", "x"), ""),
        Recorded::Dropped(Dropped::Full)
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
fn at_the_end_all_that_is_unsent_is_sent_whatever_it_waits_for() {
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
        Recorded::Dropped(Dropped::Stopped)
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
fn what_it_needs_to_be_allowed_is_said() {
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
