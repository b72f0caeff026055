use super::*;

#[test]
fn a_waiting_key_merges_its_notes_and_comes_back_once() {
    let mut core = after(at("20"));
    let old = Hand::new().at("5");
    assert_eq!(
        ask(&mut core, 1, &old, 100),
        Admission::Closed { first: true }
    );
    assert_eq!(
        ask(&mut core, 2, &old, 200),
        Admission::Closed { first: false }
    );
    assert!(core.wake(0, false, &Hand::new().at("19"), 300).is_empty());
    assert!(core.wake(1, false, &Hand::new().at("20"), 300).is_empty());
    let woken = core.wake(0, false, &Hand::new().at("20"), 400);
    assert_eq!(
        woken
            .into_iter()
            .map(|one| (one.key, one.note, one.waited))
            .collect::<Vec<_>>(),
        [(KEY, vec![1, 2], 300)]
    );
    assert_eq!((core.len(), core.next_due()), (0, None));
}

#[test]
fn a_key_whose_demands_are_met_keeps_its_notes() {
    let mut core = after(at("20"));
    ask(&mut core, 1, &Hand::new(), 100);
    let gate = ask(&mut core, 2, &Hand::new().at("20"), 150);
    assert_eq!(gate, Admission::Open(vec![1, 2], Some(50)));
    assert_eq!(core.len(), 0);
}

#[test]
fn a_waiting_key_is_reported_with_its_demands() {
    let mut core = after(at("20"));
    core.demand(&KEY, (1, 0), &2, at("30"), &Hand::new(), 5);
    ask(&mut core, 0, &Hand::new(), 7);
    let asks = core.take_due(PATIENCE);
    // A demand that the server has settled is not waited for.
    core.settle(
        &asks[0],
        object("uid", "20", &|_| true),
        &Hand::new(),
        PATIENCE,
    );
    let shown = core.parked(9);
    let asked: Vec<_> = shown.iter().flat_map(|one| one.asked.clone()).collect();
    assert_eq!((shown[0].key, shown[0].since), (KEY, 7));
    assert_eq!(asked, [(1, 2, at("30"))]);
    assert!(core.parked(0).is_empty());
}

#[test]
fn a_key_that_is_not_reconciled_any_more_misses_no_object() {
    let list = Hand::new().at("30");
    let mut core = after(at("20"));
    core.forget(&KEY);
    core.wake(0, true, &list, 0);
    assert_eq!((core.len(), core.take_missing()), (0, [].into()));
    // A settled demand is not checked any more.
    let mut core = after(at("20"));
    ask(&mut core, 0, &Hand::new(), 0);
    let asks = core.take_due(PATIENCE);
    core.settle(
        &asks[0],
        object("uid", "20", &|_| true),
        &Hand::new(),
        PATIENCE,
    );
    assert_eq!(core.tokens(), 1);
    core.forget(&KEY);
    assert_eq!(core.len(), 0);
}

#[test]
fn the_demands_of_a_key_without_an_object_end() {
    let mut core = after(at("20"));
    core.forget(&KEY);
    assert_eq!(core.next_due(), Some(PATIENCE));
    let asks = core.take_due(PATIENCE);
    core.settle(&asks[0], Found::Unavailable, &Hand::new(), PATIENCE);
    assert_eq!((core.len(), core.next_due()), (0, None));

    let mut core = after(at("20"));
    core.forget(&KEY);
    let asks = core.take_due(PATIENCE);
    let there = object("uid", "20", &|_| true);
    core.settle(&asks[0], there, &Hand::new(), PATIENCE);
    assert_eq!((core.len(), core.next_due()), (0, None));

    let mut core = after(at("20"));
    core.forget(&KEY);
    core.heard(0, &1, CacheChange::Seen(Some("uid"), "20"));
    assert_eq!((core.len(), core.next_due()), (0, None));
    // After its next reconcile it is a key like any other.
    let mut core = after(at("20"));
    core.forget(&KEY);
    ask(&mut core, 0, &Hand::new(), 0);
    let asks = core.take_due(PATIENCE);
    core.settle(&asks[0], Found::Unavailable, &Hand::new(), PATIENCE);
    assert_eq!(core.tokens(), 1);
}
