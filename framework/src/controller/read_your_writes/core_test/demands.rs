use super::*;

#[test]
fn a_version_is_met_by_the_object_or_the_collection_at_that_version_or_later() {
    for (caches, expected) in [
        (Hand::new().at("19"), false),
        (Hand::new().at("20"), true),
        (Hand::new().at("100"), true),
        (Hand::new().at("9"), false),
        (Hand::new().at("5").has(1, "uid", "19"), false),
        (Hand::new().at("5").has(1, "uid", "20"), true),
        (Hand::new().at("5").has(1, "uid", "100"), true),
        (Hand::new().at("5").has(1, "other", "21"), true),
        (Hand::new().at("5").has(2, "uid", "20"), false),
        (Hand::new(), false),
    ] {
        assert_eq!(
            is_open(&mut after(at("20")), &caches),
            expected,
            "{caches:?}"
        );
    }
}

#[test]
fn a_write_that_the_cache_has_already_is_not_waited_for() {
    let mut core = core();
    core.demand(&KEY, (0, 0), &1, at("5"), &Hand::new().at("5"), 0);
    assert_eq!(core.len(), 0);
}

#[test]
fn versions_that_are_not_integers_are_compared_for_equality_on_the_object_only() {
    for (caches, expected) in [
        (Hand::new().at("b"), false),
        (Hand::new().at("20").has(1, "uid", "30"), false),
        (Hand::new().has(1, "uid", "b"), true),
        (Hand::new().has(1, "uid", "c"), false),
    ] {
        assert_eq!(
            is_open(&mut after(at("b")), &caches),
            expected,
            "{caches:?}"
        );
    }
    // A later version is enough.
    let mut core = after(at("b"));
    core.heard(0, &1, CacheChange::Seen(Some("uid"), "b"));
    assert!(is_open(&mut core, &Hand::new().has(1, "uid", "c")));
}

#[test]
fn only_the_deletion_of_the_written_object_ends_the_wait() {
    for demand in [at("b"), Demand::gone("uid", None, false)] {
        let mut core = after(demand);
        core.heard(0, &1, CacheChange::Deleted("other"));
        core.heard(0, &2, CacheChange::Deleted("uid"));
        core.heard(1, &1, CacheChange::Deleted("uid"));
        assert!(!is_open(&mut core, &Hand::new()));
        core.heard(0, &1, CacheChange::Deleted("uid"));
        assert_eq!(core.wake(0, false, &Hand::new(), 0).len(), 1);
    }
}

#[test]
fn a_deletion_is_waited_for_until_the_cache_cannot_have_the_object() {
    let gone = |existed, had| Demand::gone("uid", existed, had);
    for (demand, caches, expected) in [
        (gone(None, true), Hand::new().has(1, "uid", "5"), false),
        (gone(None, true), Hand::new(), true),
        (gone(None, false), Hand::new(), false),
        // An older or a newer object of the same name.
        (gone(None, false), Hand::new().has(1, "other", "9"), false),
        (
            gone(Some("7"), false),
            Hand::new().has(1, "other", "6"),
            false,
        ),
        (
            gone(Some("7"), false),
            Hand::new().has(1, "other", "9"),
            true,
        ),
        (gone(Some("7"), false), Hand::new().at("6"), false),
        (gone(Some("7"), false), Hand::new().at("7"), true),
        (
            gone(Some("7"), false),
            Hand::new().at("7").has(1, "uid", "7"),
            false,
        ),
    ] {
        let mut core = core();
        let had = matches!(demand, Demand::Gone { seen: true, .. });
        let before = if had {
            Hand::new().has(1, "uid", "5")
        } else {
            Hand::new()
        };
        core.demand(&KEY, (0, 0), &1, demand.clone(), &before, 0);
        assert_eq!(
            is_open(&mut core, &caches),
            expected,
            "{demand:?} {caches:?}"
        );
    }
    // The same key created and deleted the object: the creation shows a version at which it existed.
    let mut core = after(at("7"));
    core.demand(&KEY, (0, 0), &1, gone(None, false), &Hand::new().at("5"), 0);
    assert!(!is_open(&mut core, &Hand::new().at("6")));
    assert!(is_open(&mut core, &Hand::new().at("8")));
    // The deletion of another object of the name does not.
    let mut core = after(Demand::at(Some("before"), "7"));
    core.demand(&KEY, (0, 0), &1, gone(None, false), &Hand::new().at("5"), 0);
    assert!(!is_open(&mut core, &Hand::new().at("8")));
}

#[test]
fn the_newer_of_two_writes_of_an_object_counts_in_any_order_of_the_answers() {
    for versions in [["20", "30"], ["30", "20"]] {
        let mut core = core();
        for version in versions {
            core.demand(&KEY, (0, 0), &1, at(version), &Hand::new(), 0);
        }
        assert_eq!(core.tokens(), 1);
        assert!(!is_open(&mut core, &Hand::new().at("29")));
        assert!(is_open(&mut core, &Hand::new().at("30")));
    }
    // Another object of the name: earlier versions do not count.
    let mut core = after(at("30"));
    core.demand(
        &KEY,
        (0, 0),
        &1,
        Demand::at(Some("new"), "20"),
        &Hand::new(),
        0,
    );
    assert!(is_open(&mut core, &Hand::new().at("20")));
}

#[test]
fn each_informer_that_may_hold_the_object_is_waited_for() {
    let mut core = after(at("20"));
    core.demand(&KEY, (1, 0), &1, at("20"), &Hand::new(), 0);
    let mut caches = Hand::new().at("20");
    assert!(!is_open(&mut core, &caches));
    caches.0[1].collection = Some("20".into());
    assert!(is_open(&mut core, &caches));
}

#[test]
fn versions_that_go_backwards_end_all_demands_on_that_informer() {
    let mut core = after(at("20"));
    core.demand(&7, (0, 0), &2, at("21"), &Hand::new(), 0);
    core.demand(&7, (1, 1), &2, at("21"), &Hand::new(), 0);
    core.demand(&8, (0, 0), &3, Demand::Unknown, &Hand::new(), 0);
    ask(&mut core, 0, &Hand::new(), 0);
    let woken = core.went_back(0, 10);
    assert_eq!(woken.iter().map(|one| one.key).collect::<Vec<_>>(), [KEY]);
    assert_eq!(
        (core.tokens(), core.take_dropped(), core.take_dropped()),
        (4, 2, 0)
    );
    assert!(is_open(&mut core, &Hand::new()));
    // The list shows whether the written object exists at all.
    let caches = Hand::new().has(1, "uid", "3").at("4");
    assert!(core.wake(0, true, &caches, 10).is_empty());
    assert_eq!((core.tokens(), core.take_missing()), (2, [7].into()));
}

#[test]
fn a_later_object_of_the_same_name_is_another_object() {
    let mut core = after(at("20"));
    core.heard(0, &1, CacheChange::Seen(Some("other"), "19"));
    assert_eq!((core.tokens(), core.take_missing()), (1, [].into()));
    core.heard(0, &1, CacheChange::Seen(Some("other"), "21"));
    assert_eq!((core.tokens(), core.take_missing()), (0, [KEY].into()));
    // Also if the answer comes later, for a key without other demands.
    let caches = Hand::new().has(1, "other", "21");
    core.demand(&KEY, (0, 0), &1, at("20"), &caches, 0);
    assert_eq!((core.tokens(), core.take_missing()), (0, [KEY].into()));
    let caches = Hand::new().has(1, "uid", "21");
    core.demand(&KEY, (0, 0), &1, at("20"), &caches, 0);
    assert_eq!((core.tokens(), core.take_missing()), (0, [].into()));
}

#[test]
fn a_write_is_awaited_until_the_cache_has_reached_it_or_the_object_is_gone() {
    let awaits = |core: &Core<u8, Vec<u8>>| core.awaits(&KEY, &[1, 0], &1);
    let settled = |found| {
        let mut core = after(at("20"));
        assert!(awaits(&core) && !core.awaits(&KEY, &[1], &1) && !core.awaits(&KEY, &[0], &2));
        ask(&mut core, 0, &Hand::new(), 0);
        let asks = core.take_due(PATIENCE);
        core.settle(&asks[0], found, &Hand::new(), PATIENCE);
        core
    };
    let mut core = settled(object("uid", "20", &|_| true));
    assert!(awaits(&core));
    core.heard(0, &1, CacheChange::Seen(Some("uid"), "20"));
    assert!(!awaits(&core));
    assert!(!awaits(&settled(Found::Nothing)));
}

/// Caches that count how often they are read. Informer 1 may be one that is not read any more.
struct Counted {
    looks: std::cell::Cell<usize>,
    gone: bool,
}

impl Caches<u8> for Counted {
    fn has(&self, informer: usize) -> bool {
        !self.gone || informer != 1
    }

    fn look<T>(&self, _: usize, _: &u8, look: impl FnOnce(View<'_>) -> T) -> T {
        self.looks.set(self.looks.get() + 1);
        look(View::default())
    }
}

fn parked_at_1(keys: u8) -> (Core<u8, ()>, Counted) {
    let caches = Counted {
        looks: Default::default(),
        gone: false,
    };
    let mut core = Core::new();
    for key in 0..keys {
        core.demand(&key, (1, 0), &key, at("7"), &caches, 0);
        let gate = core.ask(&key, (), |(), ()| (), &caches, 0);
        assert_eq!(gate, Admission::Closed { first: true });
    }
    caches.looks.set(0);
    (core, caches)
}

#[test]
fn a_change_of_one_cache_checks_no_key_that_waits_for_another() {
    let (mut core, caches) = parked_at_1(100);
    assert!(core.wake(0, false, &caches, 0).is_empty());
    assert_eq!(caches.looks.get(), 0);
    core.wake(1, false, &caches, 0);
    assert_eq!(caches.looks.get(), 100);
}

#[test]
fn a_cache_that_is_not_read_any_more_has_no_demands() {
    let (mut core, mut caches) = parked_at_1(3);
    caches.gone = true;
    assert_eq!(core.wake(1, false, &caches, 5).len(), 3);
    core.demand(&9, (1, 0), &9, Demand::Unknown, &caches, 5);
    assert_eq!((core.len(), core.tokens(), core.next_due()), (0, 0, None));
}

#[test]
fn too_many_demands_of_one_key_are_combined_and_still_waited_for() {
    const LAST: u32 = 2 * TOKENS as u32;
    /// Only the last object, and the version of the collection.
    struct Last(Option<&'static str>);
    impl Caches<u32> for Last {
        fn look<T>(&self, _: usize, object: &u32, look: impl FnOnce(View<'_>) -> T) -> T {
            let last = CachedObject {
                uid: None,
                version: Some("12048"),
            };
            look(View {
                held: (*object == LAST && self.0.is_some()).then_some(last),
                collection: self.0,
            })
        }
    }
    let mut core = Core::<u32, ()>::new();
    let demand = |core: &mut Core<u32, ()>, object, version: &str| {
        let demand = Demand::at(None, version);
        core.demand(&0, (0, 0), &object, demand, &Last(None), 0);
        core.tokens()
    };
    for object in 1..=LAST {
        let tokens = demand(&mut core, object, &(10_000 + object).to_string());
        assert!(tokens <= TOKENS);
        if object == TOKENS as u32 + 1 {
            assert_eq!(tokens, 2, "one for all, and the new one");
        }
    }
    assert_eq!(core.take_dropped(), 0);
    let just = |_: (), ()| ();
    let before = Last(Some("12046"));
    assert_eq!(
        core.ask(&0, (), just, &before, 0),
        Admission::Closed { first: true }
    );
    let now = Last(Some("12047"));
    assert!(matches!(
        core.ask(&0, (), just, &now, 0),
        Admission::Open(..)
    ));
    assert_eq!(core.len(), 0);

    // The other demands are still waited for when one of them was settled by the server.
    let mut core = Core::<u32, ()>::new();
    demand(&mut core, 0, "99999");
    core.ask(&0, (), just, &before, 0);
    let asks = core.take_due(PATIENCE);
    let there = object("uid", "99999", &|_| true);
    assert_eq!(core.settle(&asks[0], there, &before, PATIENCE).1.len(), 1);
    for object in 1..=TOKENS as u32 {
        demand(&mut core, object, &(20_000 + object).to_string());
    }
    assert_eq!(core.tokens(), 2);
    core.heard(0, &(TOKENS as u32), CacheChange::Seen(None, "30000"));
    assert_eq!(
        core.ask(&0, (), just, &before, 0),
        Admission::Closed { first: true }
    );

    // Demands that cannot be combined are dropped, the oldest first, and counted.
    let mut core = Core::<u32, ()>::new();
    for object in 0..=TOKENS as u32 {
        demand(&mut core, object, "b");
    }
    assert_eq!((core.tokens(), core.take_dropped()), (TOKENS, 1));
}

#[test]
fn an_object_that_was_only_read_may_be_gone_by_then() {
    let read = || Demand::as_new_as(Some("uid"), "20");
    let others = [
        Hand::new().at("20"),
        Hand::new().at("5").has(1, "other", "21"),
    ];
    for caches in &others {
        // At once, and later.
        let mut core = core();
        core.demand(&KEY, (0, 0), &1, read(), caches, 0);
        assert_eq!((core.tokens(), core.take_missing()), (0, [].into()));
        let mut core = after(read());
        assert!(core.wake(0, true, caches, 10).is_empty());
        assert_eq!((core.tokens(), core.take_missing()), (0, [].into()));
    }
    let mut core = after(read());
    core.heard(0, &1, CacheChange::Seen(Some("other"), "21"));
    assert_eq!((core.tokens(), core.take_missing()), (0, [].into()));
    // It was also written: before or after it was read, alone or with many others.
    for (first, second) in [(at("19"), read()), (read(), at("21"))] {
        let mut core = after(first);
        core.demand(&KEY, (0, 0), &1, second, &Hand::new(), 0);
        core.wake(0, true, &Hand::new().at("21"), 10);
        assert_eq!((core.tokens(), core.take_missing()), (0, [KEY].into()));
    }
    for (demand, missing) in [(at("3"), [KEY].into()), (read(), [].into())] {
        let mut core = after(demand);
        for object in 2..=TOKENS as u8 + 2 {
            core.demand(&KEY, (0, 0), &object, read(), &Hand::new(), 0);
        }
        core.wake(0, true, &Hand::new().at("30"), 10);
        assert_eq!((core.tokens(), core.take_missing()), (0, missing));
    }
}

/// A read may have come before a write whose outcome is not known, or from a server that is behind.
#[test]
fn a_read_ends_no_demand_of_a_write() {
    let read = || Demand::as_new_as(Some("uid"), "20");
    for demand in [Demand::Unknown, Demand::gone("uid", None, false)] {
        let mut core = after(demand);
        let caches = Hand::new().at("19").has(1, "uid", "19");
        core.demand(&KEY, (0, 0), &1, read(), &caches, 0);
        let caches = Hand::new().at("20").has(1, "uid", "20");
        assert!(!is_open(&mut core, &caches));
    }
}
