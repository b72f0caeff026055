use std::collections::BTreeSet;

use super::{super::questions::Settled, *};

#[test]
fn the_server_is_asked_once_and_only_when_a_key_has_waited_for_ten_seconds() {
    let mut core = after(at("20"));
    assert_eq!(core.next_due(), None);
    let caches = Hand::new();
    ask(&mut core, 0, &caches, 3000);
    assert_eq!(core.next_due(), Some(PATIENCE));
    assert!(core.take_due(PATIENCE - 1).is_empty());
    let asks = core.take_due(PATIENCE);
    assert_eq!(asks.len(), 1);
    assert!(core.take_due(PATIENCE + 5000).is_empty());
    assert_eq!(core.next_due(), None);
}

/// The effect of an answer for a waiting key: the result, whether the key is released, and when the server is asked again.
fn answered(demand: Demand, caches: &Hand, found: Found<'_>) -> (Settled, bool, Option<u64>) {
    let mut core = after(demand);
    ask(&mut core, 0, &Hand::new(), 0);
    let asks = core.take_due(PATIENCE);
    let (settled, woken) = core.settle(&asks[0], found, caches, PATIENCE);
    (settled, !woken.is_empty(), core.next_due())
}

#[test]
fn the_answer_of_the_server_settles_a_demand() {
    let all = |_| true;
    let none = |_| false;
    let cache = Hand::new().at("5").has(1, "uid", "5");
    let open = |found| answered(at("20"), &cache, found);
    for found in [
        Found::Nothing,
        Found::Refused,
        object("uid", "20", &all),
        object("uid", "30", &all),
        object("other", "10", &all),
        object("uid", "10", &none),
    ] {
        let (settled, is_open, next) = open(found);
        assert!(is_open && settled.went_back.is_empty() && next.is_none());
    }
    // The server may be asked again.
    let (settled, is_open, next) = open(Found::Unavailable);
    assert!(settled.failed && settled.waits && !is_open);
    assert_eq!(next, Some(2 * PATIENCE));
    // The server has lost the state that it answered with before.
    let (settled, is_open, _) = open(object("uid", "19", &all));
    assert!(is_open);
    assert_eq!(settled.went_back, BTreeSet::from([0]));
}

#[test]
fn a_write_with_an_unknown_result_is_checked_at_once_and_then_waited_for() {
    let all = |_| true;
    let none = |_| false;
    let mut core = after(Demand::Unknown);
    assert_eq!(core.next_due(), Some(0));
    assert!(!is_open(&mut core, &Hand::new().at("99")));
    assert_eq!(core.take_due(0).len(), 1);

    let held = Hand::new().at("5").has(1, "uid", "5");
    for (caches, found, expected) in [
        (&held, object("uid", "5", &all), true),
        (&held, object("uid", "6", &all), false),
        (&held, object("uid", "6", &none), true),
        (&Hand::new(), Found::Nothing, true),
        // The object is gone, and the cache does not show it yet.
        (&held, Found::Nothing, false),
        (&held, Found::Refused, true),
        (&held, Found::Unavailable, false),
    ] {
        let is_unavailable = matches!(found, Found::Unavailable);
        let (_, is_open, next) = answered(Demand::Unknown, caches, found);
        assert_eq!(is_open, expected);
        let again = if is_unavailable { 1000 } else { PATIENCE };
        assert_eq!(next, (!expected).then_some(PATIENCE + again));
    }
}
