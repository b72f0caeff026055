//! Many wait for what several bring.

use std::sync::Arc;

use loom::{future::block_on, thread};
use pilothouse::{k8s::api::core::v1::ConfigMap, resource::Object};

use super::{Readiness, Store, readiness::Ready, sync::watch};
use crate::check;

fn part(name: &str) -> (watch::Sender<Ready>, Readiness) {
    let sender = watch::Sender::new(Ready::NotYet);
    let readiness = Readiness::of(name, sender.subscribe());
    (sender, readiness)
}

#[test]
fn everyone_who_waits_is_woken_whichever_comes_last() {
    check(2, || {
        let ((first, one), (second, other)) = (part("one"), part("other"));
        let all = Readiness::all([one, other]);
        let also_waits = {
            let all = all.clone();
            thread::spawn(move || assert!(block_on(all.wait())))
        };
        let brings = thread::spawn(move || {
            first.send_replace(Ready::Yes);
            first
        });
        second.send_replace(Ready::Yes);
        assert!(block_on(all.wait()) && all.is_ready());
        also_waits.join().unwrap();
        brings.join().unwrap();
    });
}

#[test]
fn whoever_is_told_that_all_are_ready_finds_what_they_published() {
    check(3, || {
        let parts = [part("one"), part("other")];
        let all = Readiness::all(parts.iter().map(|(_, readiness)| readiness.clone()));
        let (listers, brings): (Vec<_>, Vec<_>) = parts
            .into_iter()
            .map(|(sender, _)| {
                let mut store = Store::new();
                let lister = store.lister();
                let bring = thread::spawn(move || {
                    let object = Arc::new(ConfigMap::default());
                    store.insert(object.key(), object);
                    store.publish();
                    sender.send_replace(Ready::Yes);
                });
                (lister, bring)
            })
            .unzip();
        assert!(block_on(all.wait()));
        assert!(listers.iter().all(|lister| lister.len() == 1));
        for bring in brings {
            bring.join().unwrap();
        }
    });
}

#[test]
fn everyone_learns_that_one_of_them_will_not_come() {
    check(3, || {
        let ((first, one), (second, other)) = (part("one"), part("other"));
        let all = Readiness::all([one, other]);
        let waits = {
            let all = all.clone();
            thread::spawn(move || assert!(!block_on(all.wait())))
        };
        let told = thread::spawn(move || {
            first.send_replace(Ready::Never);
            first
        });
        assert!(!block_on(all.wait()) && !all.is_ready());
        waits.join().unwrap();
        // Its other part still could.
        drop((told.join().unwrap(), second));
    });
}
