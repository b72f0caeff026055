//! Several tasks wait for several components.

use std::sync::Arc;

use loom::{future::block_on, thread};
use pilothouse::{k8s::api::core::v1::ConfigMap, resource::Object};

use super::{Readiness, Store, readiness::ReadyState, sync::watch};
use crate::check;

fn part(name: &str) -> (watch::Sender<ReadyState>, Readiness) {
    let sender = watch::Sender::new(ReadyState::Pending);
    let readiness = Readiness::of(name, sender.subscribe());
    (sender, readiness)
}

#[test]
fn every_waiting_task_is_woken_whichever_component_comes_last() {
    check(2, || {
        let ((first, one), (second, other)) = (part("one"), part("other"));
        let all = Readiness::all([one, other]);
        let also_waits = {
            let all = all.clone();
            thread::spawn(move || assert!(block_on(all.wait())))
        };
        let brings = thread::spawn(move || {
            first.send_replace(ReadyState::Ready);
            first
        });
        second.send_replace(ReadyState::Ready);
        assert!(block_on(all.wait()) && all.is_ready());
        also_waits.join().unwrap();
        brings.join().unwrap();
    });
}

#[test]
fn a_task_that_sees_all_components_ready_finds_what_they_published() {
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
                    sender.send_replace(ReadyState::Ready);
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
fn every_waiting_task_learns_that_a_component_cannot_become_ready() {
    check(3, || {
        let ((first, one), (second, other)) = (part("one"), part("other"));
        let all = Readiness::all([one, other]);
        let waits = {
            let all = all.clone();
            thread::spawn(move || assert!(!block_on(all.wait())))
        };
        let told = thread::spawn(move || {
            first.send_replace(ReadyState::Never);
            first
        });
        assert!(!block_on(all.wait()) && !all.is_ready());
        waits.join().unwrap();
        // The other component could still become ready.
        drop((told.join().unwrap(), second));
    });
}
