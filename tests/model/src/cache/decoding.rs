//! Readers decode an object, read its decoded form and hold it, while the clock empties its place.

use std::sync::Arc;

use loom::thread;

use super::entry::decoded_slot::{ClockVisit, DecodedSlot};
use crate::check;

/// As `EncodedEntry::object`: takes the form that is there, or decodes the object. Returns the form, and whether it put it
/// there.
fn read(slot: &DecodedSlot<u8>) -> (Arc<u8>, bool) {
    match slot.get() {
        Some(object) => (object, false),
        None => {
            let (object, times) = slot.put(Arc::new(7), 0);
            (object, times.is_some())
        }
    }
}

/// How often the clock empties the place in two visits.
fn visits(slot: &DecodedSlot<u8>) -> usize {
    let visits = [slot.visit(), slot.visit()];
    let emptied = |visit: &&ClockVisit<u8>| matches!(visit, ClockVisit::Emptied(_));
    visits.iter().filter(emptied).count()
}

#[test]
fn readers_share_one_form_while_one_of_them_holds_it_and_each_form_is_counted_in_and_out() {
    check(3, || {
        let slot = Arc::new(DecodedSlot::new());
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let slot = slot.clone();
                thread::spawn(move || {
                    let (held, first) = read(&slot);
                    let (again, second) = read(&slot);
                    assert!(Arc::ptr_eq(&held, &again), "decoded twice while it is held");
                    assert!(!second);
                    usize::from(first)
                })
            })
            .collect();
        let emptied = visits(&slot);
        let put: usize = readers.into_iter().map(|one| one.join().unwrap()).sum();
        let left = usize::from(slot.is_filled());
        assert_eq!(put, emptied + left);
    });
}

#[test]
fn a_form_that_nobody_holds_or_reads_any_more_is_gone_after_two_visits() {
    check(3, || {
        let slot = Arc::new(DecodedSlot::new());
        let reader = {
            let slot = slot.clone();
            thread::spawn(move || drop(read(&slot)))
        };
        let clock = {
            let slot = slot.clone();
            thread::spawn(move || visits(&slot))
        };
        reader.join().unwrap();
        let emptied = clock.join().unwrap() + visits(&slot);
        assert!(!slot.is_filled());
        assert_eq!(emptied, 1);
    });
}
