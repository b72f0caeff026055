//! The framework's promises (design §4), each over the whole stack: operator, caches, client, HTTP/2 and an API
//! server in memory, on tokio's paused clock.

mod probe;

use std::{collections::BTreeMap, time::Duration};

use pilothouse::{
    health::Query,
    k8s::api::core::v1::ConfigMap,
    operator::Operator,
    prelude::*,
    testing::{Answer, Cluster, RequestMatcher},
};
use probe::{Probe, Widget, widget};
use serde_json::json;

/// A cluster in which the probes run, caches synced.
async fn started(
    probes: impl IntoIterator<Item = Probe>,
) -> (Cluster, pilothouse::operator::Running) {
    let cluster = Cluster::start().unwrap();
    let mut operator = Operator::new("promises");
    for probe in probes {
        operator = operator.controller(probe);
    }
    let running = cluster.run(operator).await.unwrap();
    (cluster, running)
}

async fn resize(cluster: &Cluster, name: &str, size: i32) {
    let patch = json!({"spec": {"size": size}});
    cluster.patch::<Widget>(name, patch).await.unwrap();
}

mod r1_one_at_a_time {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn calls_for_one_key_never_overlap_and_other_keys_go_on() {
        let probe = Probe::new(async |_, _| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(Action::wait())
        });
        let seen = probe.seen();
        let (cluster, running) = started([probe]).await;
        for name in ["a", "b"] {
            cluster.create(&widget(name, 0)).await.unwrap();
        }
        for size in 1..20 {
            resize(&cluster, "a", size).await;
            resize(&cluster, "b", size).await;
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        cluster.delete::<Widget>("a").await.unwrap();
        seen.until_quiet().await;
        assert_eq!(seen.most_at_once("a"), 1);
        assert_eq!(seen.most_at_once("b"), 1);
        assert_eq!(seen.most_at_once_of_all(), 2);
        running.stop().await;
    }
}

mod r2_no_lost_wake_up {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_change_during_a_reconcile_leads_to_another_one() {
        let probe = Probe::new(async |_, _| {
            tokio::time::sleep(Duration::from_secs(5)).await;
            Ok(Action::wait())
        });
        let seen = probe.seen();
        let (cluster, running) = started([probe]).await;
        cluster.create(&widget("a", 1)).await.unwrap();
        seen.until_calls("a", 1).await;
        resize(&cluster, "a", 2).await;
        seen.until_quiet().await;
        assert_eq!(seen.sizes("a"), [1, 2]);
        running.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_deletion_during_a_reconcile_leads_to_deleted() {
        let probe = Probe::new(async |_, _| {
            tokio::time::sleep(Duration::from_secs(5)).await;
            Ok(Action::wait())
        });
        let seen = probe.seen();
        let (cluster, running) = started([probe]).await;
        cluster.create(&widget("a", 1)).await.unwrap();
        seen.until_calls("a", 1).await;
        cluster.delete::<Widget>("a").await.unwrap();
        seen.until_quiet().await;
        assert_eq!((seen.sizes("a"), seen.deletions("a")), (vec![1], 1));
        running.stop().await;
    }
}

mod r3_level_not_edge {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn ten_changes_may_be_one_call_and_the_last_state_is_seen() {
        let probe = Probe::new(async |_, _| {
            tokio::time::sleep(Duration::from_secs(5)).await;
            Ok(Action::wait())
        });
        let seen = probe.seen();
        let (cluster, running) = started([probe]).await;
        cluster.create(&widget("a", 0)).await.unwrap();
        seen.until_calls("a", 1).await;
        for size in 1..=10 {
            resize(&cluster, "a", size).await;
        }
        seen.until_quiet().await;
        assert_eq!(seen.sizes("a"), [0, 10]);
        running.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn deleted_runs_once_and_only_for_what_had_been_reconciled() {
        let cluster = Cluster::start().unwrap();
        cluster.install::<Widget>().await.unwrap();
        let probe = Probe::idle().reading::<ConfigMap>("widget");
        let seen = probe.seen();
        // As long as what it reads cannot be listed, keys wait.
        let reads = RequestMatcher::any().resource("configmaps");
        cluster
            .faults()
            .answer(reads, Answer::status(500, "InternalError"), 1_000_000);
        let operator = Operator::new("promises").controller(probe);
        let running = operator.start(cluster.client().clone()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        for name in ["a", "b"] {
            cluster.create(&widget(name, 1)).await.unwrap();
        }
        cluster.settle().await;
        cluster.delete::<Widget>("b").await.unwrap();
        cluster.settle().await;
        cluster.faults().clear();
        seen.until_calls("a", 1).await;
        cluster.delete::<Widget>("a").await.unwrap();
        seen.until_quiet().await;
        assert_eq!((seen.sizes("a"), seen.deletions("a")), (vec![1], 1));
        assert_eq!((seen.sizes("b"), seen.deletions("b")), (vec![], 0));
        running.stop().await;
    }
}

mod r4_sync_first {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn nothing_is_reconciled_before_what_wire_names_has_synced_and_readiness_says_why() {
        let cluster = Cluster::start().unwrap();
        cluster.install::<Widget>().await.unwrap();
        cluster.create(&widget("a", 1)).await.unwrap();
        let forbidden = Answer::status(403, "Forbidden").message("configmaps is forbidden");
        let reads = RequestMatcher::any().resource("configmaps");
        cluster.faults().answer(reads, forbidden, 1_000_000);

        let (held, free) = (
            Probe::idle().reading::<ConfigMap>("held"),
            Probe::idle().named("free"),
        );
        let (held_seen, free_seen) = (held.seen(), free.seen());
        let operator = Operator::new("promises").controller(held).controller(free);
        let running = operator.start(cluster.client().clone()).await.unwrap();
        free_seen.until_calls("a", 1).await;
        tokio::time::sleep(Duration::from_secs(120)).await;
        assert_eq!(held_seen.sizes("a"), [0; 0]);
        let report = running
            .ready()
            .report(&Query::parse(Some("verbose")))
            .to_string();
        assert!(
            report.contains(
                "[-]informer-configmaps failed: cannot list configmaps in all namespaces: "
            ) && report.contains("configmaps is forbidden"),
            "{report}"
        );

        cluster.faults().clear();
        held_seen.until_calls("a", 1).await;
        assert!(running.ready().report(&Query::default()).healthy());
        running.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_may_be_listed_but_not_watched_is_told_at_once_and_lists_keep_it_fresh() {
        let cluster = Cluster::start().unwrap();
        cluster.install::<Widget>().await.unwrap();
        cluster.create(&widget("a", 1)).await.unwrap();
        let watches = RequestMatcher::any().verb("watch").resource("widgets");
        let forbidden = Answer::status(403, "Forbidden").message("no rule allows it");
        cluster.faults().answer(watches, forbidden, 1_000_000);
        let probe = Probe::idle();
        let seen = probe.seen();
        let operator = Operator::new("promises").controller(probe);
        let running = operator.start(cluster.client().clone()).await.unwrap();
        seen.until_calls("a", 1).await;
        let query = Query::parse(Some("verbose"));
        let report = running.ready().report(&query).to_string();
        let expected = "[-]informer-widgets.test.pilothouse.dev failed: cannot watch widgets.test.pilothouse.dev in all namespaces: forbidden: no rule allows it: bind this identity to a ClusterRole with apiGroups: [\"test.pilothouse.dev\"], resources: [\"widgets\"], verbs: [\"get\", \"list\", \"watch\"]; until it may, it lists again and again (last heard ";
        assert!(report.contains(expected), "{report}");

        resize(&cluster, "a", 2).await;
        seen.until_calls("a", 2).await;
        let report = running.ready().report(&query).to_string();
        assert!(report.contains(expected), "{report}");

        cluster.faults().clear();
        tokio::time::sleep(Duration::from_secs(61)).await;
        assert!(running.ready().report(&query).healthy());
        running.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_is_not_served_is_told_and_starts_once_it_is() {
        let cluster = Cluster::start().unwrap();
        let probe = Probe::idle();
        let seen = probe.seen();
        let operator = Operator::new("promises").controller(probe);
        let running = operator.start(cluster.client().clone()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let report = running.ready().report(&Query::default()).to_string();
        let expected = "[-]informer-widgets.test.pilothouse.dev failed: widgets.test.pilothouse.dev is not served: run `promises crd | kubectl apply -f -`\n";
        assert!(report.contains(expected), "{report}");
        cluster.install::<Widget>().await.unwrap();
        cluster.create(&widget("a", 1)).await.unwrap();
        seen.until_calls("a", 1).await;
        running.stop().await;
    }
}

mod r6_nothing_missed {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_changed_and_went_while_the_watch_was_down_is_delivered() {
        let probe = Probe::idle();
        let seen = probe.seen();
        let (cluster, running) = started([probe]).await;
        for name in ["changed", "gone", "same", "anew"] {
            cluster.create(&widget(name, 1)).await.unwrap();
            seen.until_calls(name, 1).await;
        }
        let widgets = RequestMatcher::any().resource("widgets");
        cluster.faults().answer(
            widgets.clone().verb("watch"),
            Answer::status(500, "InternalError"),
            3,
        );
        cluster.faults().drop_watches(&widgets);
        resize(&cluster, "changed", 2).await;
        cluster.delete::<Widget>("gone").await.unwrap();
        cluster.delete::<Widget>("anew").await.unwrap();
        cluster.create(&widget("anew", 3)).await.unwrap();
        cluster.create(&widget("new", 1)).await.unwrap();
        // The watch cannot go on where it was: everything is listed again.
        cluster.faults().compact();
        seen.until_quiet().await;
        let sizes = |name: &str| seen.sizes(name);
        assert_eq!(sizes("changed"), [1, 2]);
        assert_eq!((sizes("gone"), seen.deletions("gone")), (vec![1], 1));
        assert_eq!(sizes("anew").last(), Some(&3));
        assert_eq!(sizes("new"), [1]);
        assert_eq!(sizes("same"), [1]);
        running.stop().await;
    }
}

mod r9_backoff {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failures_double_the_pause_up_to_five_minutes_and_success_resets_it() {
        let probe = Probe::new(async |widget, _| {
            if widget.spec.size == 0 {
                return Err(Failure::new("not yet"));
            }
            Ok(Action::wait())
        });
        let seen = probe.seen();
        let (cluster, running) = started([probe]).await;
        cluster.create(&widget("a", 0)).await.unwrap();
        tokio::time::sleep(Duration::from_secs(3600)).await;
        let pauses = seen.pauses("a");
        assert!(pauses.len() > 18, "{pauses:?}");
        for (n, pause) in pauses.iter().enumerate() {
            let expected = (0.005 * 2f64.powi(n as i32)).min(300.0);
            let pause = pause.as_secs_f64();
            // The clock of the runtime has a grain of 1 ms, and the reconcile itself takes part of one.
            let range = expected..=expected * 1.1 + 0.003;
            assert!(
                range.contains(&pause),
                "pause {n} is {pause} s, not within {range:?}"
            );
        }
        resize(&cluster, "a", 1).await;
        seen.until_quiet().await;
        let before = seen.sizes("a").len();
        resize(&cluster, "a", 0).await;
        seen.until_calls("a", before + 2).await;
        let pause = seen.pauses("a")[before];
        assert!(pause < Duration::from_millis(10), "{pause:?}");
        running.stop().await;
    }
}

mod r10_panic_is_a_failure {
    use super::*;

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
}

mod r12_orderly_stop {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_running_reconcile_is_finished_no_new_one_starts_and_it_is_not_ready() {
        let probe = Probe::new(async |_, _| {
            tokio::time::sleep(Duration::from_secs(20)).await;
            Ok(Action::wait())
        });
        let seen = probe.seen();
        let (cluster, running) = started([probe]).await;
        cluster.create(&widget("a", 1)).await.unwrap();
        seen.until_calls("a", 1).await;
        let ready = running.ready().clone();
        let begun = tokio::time::Instant::now();
        let stop = tokio::spawn(running.stop());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!ready.report(&Query::default()).healthy());
        cluster.create(&widget("b", 1)).await.unwrap();
        stop.await.unwrap();
        assert_eq!((seen.finished("a"), seen.sizes("b").len()), (1, 0));
        assert!(
            begun.elapsed() < Duration::from_secs(21),
            "{:?}",
            begun.elapsed()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_reconcile_that_does_not_end_is_cancelled_after_25_s() {
        let probe = Probe::new(async |_, _| std::future::pending().await);
        let seen = probe.seen();
        let (cluster, running) = started([probe]).await;
        cluster.create(&widget("a", 1)).await.unwrap();
        seen.until_calls("a", 1).await;
        let begun = tokio::time::Instant::now();
        running.stop().await;
        let took = begun.elapsed();
        assert!(
            (Duration::from_secs(25)..Duration::from_secs(29)).contains(&took),
            "{took:?}"
        );
        assert_eq!(seen.finished("a"), 0);
    }
}

mod r13_one_copy {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn controllers_that_look_at_one_kind_share_one_watch() {
        let probes = ["one", "two"].map(|name| Probe::idle().reading::<ConfigMap>(name));
        let (cluster, running) = started(probes).await;
        cluster.settle().await;
        let mut asked: BTreeMap<(String, String), usize> = BTreeMap::new();
        for request in cluster.requests() {
            if ["list", "watch"].contains(&request.verb.as_str()) {
                *asked.entry((request.verb, request.resource)).or_default() += 1;
            }
        }
        // The list is streamed: it is the beginning of the watch.
        let once = |resource: &str| (("watch".to_owned(), resource.to_owned()), 1);
        assert_eq!(asked, ["widgets", "configmaps"].map(once).into());
        running.stop().await;
    }
}
