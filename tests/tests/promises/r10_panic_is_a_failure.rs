//! R10: panics are counted, isolated and backed off.

use std::time::Duration;

use pilothouse::{client::ListParams, k8s::api::events::v1::Event, prelude::*};

use super::{fault_run::FaultRun, seeded_random::seeds, started};
use crate::probe::{Probe, widget};

#[tokio::test(start_paused = true)]
async fn a_panic_is_counted_backed_off_and_isolated() {
    let probe = Probe::new(async |widget, call| {
        assert!(widget.name() != "bad" || call > 3, "planted");
        Ok(Action::wait())
    });
    let seen = probe.seen();
    let (cluster, running) = started([probe]).await;
    cluster.create(&widget("bad", 1)).await.unwrap();
    cluster.create(&widget("good", 1)).await.unwrap();
    seen.until_calls("bad", 4).await;
    seen.until_calls("good", 1).await;
    seen.until_quiet().await;
    assert_eq!((seen.sizes("bad").len(), seen.sizes("good").len()), (4, 1));
    for (n, pause) in seen.pauses("bad").iter().enumerate() {
        assert!(*pause >= Duration::from_millis(5 << n), "{n}: {pause:?}");
    }
    let metrics = running.metrics().encode();
    let line = "controller_runtime_reconcile_panics_total{controller=\"widget\"} 3";
    assert!(metrics.contains(line), "{metrics}");
    running.stop().await;
}

/// The condition `Ready` of a kind with a status has the same text.
#[tokio::test(start_paused = true)]
async fn what_a_panic_shows_on_its_object_names_the_place_in_the_source() {
    let probe = Probe::new(async |_, _| panic!("planted"));
    let (cluster, running) = started([probe]).await;
    cluster.create(&widget("bad", 1)).await.unwrap();
    let events = cluster.api::<Event>();
    let note = cluster.eventually("an Event of the panic", async || {
        let all = events.list(&ListParams::default()).await;
        let notes = all.unwrap().items.into_iter();
        let mut notes = notes.filter_map(|event| event.note);
        notes
            .find(|note| note.contains("planted"))
            .ok_or("none".into())
    });
    let note = note.await.unwrap();
    let expected = format!("panicked: planted ({}:", file!());
    assert!(note.contains(&expected), "{note}");
    running.stop().await;
}

/// Checks panics of reconciles and predicates under random faults.
#[tokio::test(start_paused = true)]
async fn under_faults_panics_are_counted_and_other_keys_continue() {
    let mut all = (0, 0);
    for seed in seeds(600, 2) {
        let fault_run = FaultRun::of(seed).await;
        let (panics, handler_panics) = {
            let state = fault_run.record.state();
            (state.panics, state.handler_panics)
        };
        all = (all.0 + panics, all.1 + handler_panics);
        let metrics = fault_run.running.metrics().encode();
        for (name, count) in [
            ("controller_runtime_reconcile_panics_total", panics),
            ("pilothouse_controller_handler_panics_total", handler_panics),
        ] {
            let line = format!("{name}{{controller=\"widget\"}} {count}\n");
            assert!(
                metrics.contains(&line),
                "no {line} of seed {seed}: {metrics}"
            );
        }
        for parent in fault_run.parents().await {
            let (expected, actual) = fault_run.child(&parent).await;
            assert_eq!(actual, Some(expected), "seed {seed}");
        }
        fault_run.end().await;
    }
    assert!(all.0 > 0 && all.1 > 0, "{all:?}");
}
