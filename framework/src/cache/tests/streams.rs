//! What a listener that takes its time can rely on.

use std::{collections::BTreeMap, time::Instant};

use futures_util::{FutureExt, StreamExt};
use proptest::prelude::*;

use super::{heard::Taken, *};
use crate::{
    cache::Readiness,
    metrics::{InformerMetrics, Metrics},
};

const ALL: usize = usize::MAX;

fn series(metrics: &Metrics) -> InformerMetrics {
    metrics.informer("", "v1", "configmaps")
}

#[tokio::test(start_paused = true)]
async fn a_stopped_stream_holds_one_event_per_object_and_nobody_waits_for_it() {
    let (server, metrics) = (FakeServer::new(), Metrics::new());
    let running = Running::of(server.informer_with(&metrics));
    settle().await;
    let (mut taken, heard) = (Taken::at(&running.informer), Heard::at(&running.informer));
    settle().await;
    for _ in 0..50 {
        (0..100).for_each(|number| server.put(&format!("o{number:02}")));
        settle().await;
        assert_eq!(taken.stream.pending(), 100);
    }
    assert_eq!(heard.lines().len(), 5000, "the informer did not wait");
    let name = taken.stream.readiness();
    let name = name.waiting_for().next().unwrap();
    let listener = series(&metrics).listener(name);
    assert_eq!(
        (listener.backlog.get(), listener.coalesced.get()),
        (100, 4900)
    );
    let lines = taken.take(ALL);
    assert_eq!(
        (lines.len(), &*lines[0], &*lines[99]),
        (100, "added o00", "added o99")
    );
    assert_eq!(
        (taken.folded(), listener.backlog.get()),
        (&server.objects(), 0)
    );
    server.put("o00");
    settle().await;
    drop(taken);
    settle().await;
    assert_eq!(listener.backlog.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stream_begins_with_what_is_there_and_is_synced_when_that_was_worked_on() {
    let server = FakeServer::new();
    ["a", "b"].into_iter().for_each(|name| server.put(name));
    let running = Running::of(server.informer());
    let mut early = Taken::at(&running.informer);
    settle().await;
    let mut late = Taken::at(&running.informer);
    settle().await;
    server.put("c");
    settle().await;
    for taken in [&mut early, &mut late] {
        assert_eq!(taken.take(2).len(), 2);
        assert!(
            !taken.stream.readiness().is_ready(),
            "the last is still being worked on"
        );
        assert_eq!(taken.take(1), ["added c"]);
        assert!(taken.stream.subscription().synced().await);
        assert_eq!(taken.folded(), &server.objects());
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_after_the_last_event_when_its_informer_does() {
    let server = FakeServer::new();
    server.put("a");
    let running = Running::of(server.informer());
    let mut stream = running.informer.stream();
    settle().await;
    running.cancel.cancel();
    running.task.await.unwrap();
    assert!(stream.next().await.is_some() && stream.next().await.is_none());
    assert!(stream.subscription().synced().await);
    let mut late = running.informer.stream();
    assert!(late.next().await.is_none() && !late.subscription().synced().await);
}

#[tokio::test(start_paused = true)]
async fn a_stream_wakes_who_waits_for_it_and_takes_its_listener_away() {
    let server = FakeServer::new();
    let (running, _) = Running::synced(&server).await;
    let mut stream = running.informer.stream();
    assert!(stream.next().now_or_never().is_none());
    let subscription = stream.subscription().clone();
    let waiting = tokio::spawn(async move { stream.next().await.map(|event| event.key()) });
    settle().await;
    server.put("a");
    let key = waiting.await.unwrap().unwrap();
    assert_eq!(key, ObjectKey::namespaced("default", "a"));
    subscription.remove().await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_listener_is_told_of_by_name_while_it_runs() {
    let (server, metrics) = (FakeServer::new(), Metrics::new());
    let informer = server.informer_with(&metrics);
    let (seen, own) = (Arc::<std::sync::Mutex<String>>::default(), informer.clone());
    let told = seen.clone();
    informer.add_named_listener("snail", move |_| {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(1001) {
            std::hint::spin_loop();
        }
        *told.lock().unwrap() = own.status().to_string();
    });
    server.put("a");
    let running = Running::of(informer);
    settle().await;
    assert_eq!(
        *seen.lock().unwrap(),
        "configmaps waits for its listener snail for 1 s"
    );
    assert!(running.informer.status().telling.is_none());
    let duration = series(&metrics).listener("snail").duration;
    assert_eq!(duration.get_sample_count(), 1);
    assert!(duration.get_sample_sum() > 1.0);
}

#[tokio::test(start_paused = true)]
async fn several_informers_and_listeners_are_ready_together() {
    let (first, second) = (FakeServer::new(), FakeServer::new());
    let (one, other) = (Running::of(first.informer()), second.informer());
    let heard = Heard::at(&other);
    let all = Readiness::all([one.informer.readiness(), heard.subscription.readiness()]);
    settle().await;
    assert_eq!(all.waiting_for().count(), 1);
    let waiting: Vec<_> = (0..50)
        .map(|_| {
            let all = all.clone();
            tokio::spawn(async move { all.wait().await })
        })
        .collect();
    settle().await;
    let _other = Running::of(other);
    for one in waiting {
        assert!(one.await.unwrap());
    }
    assert!(all.is_ready());
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8),
    PutBad(u8),
    Delete(u8),
    Recreate(u8),
    LoseHistory,
    Settle,
    Take(usize, usize),
    AddStream,
}

fn step() -> impl Strategy<Value = Step> {
    let name = || 0..4u8;
    prop_oneof![
        6 => name().prop_map(Step::Put),
        3 => name().prop_map(Step::PutBad),
        4 => name().prop_map(Step::Delete),
        2 => name().prop_map(Step::Recreate),
        1 => Just(Step::LoseHistory),
        4 => Just(Step::Settle),
        4 => (0..4usize, 1..4usize).prop_map(|(stream, count)| Step::Take(stream, count)),
        1 => Just(Step::AddStream),
    ]
}

async fn play(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let server = FakeServer::new();
    let running = Running::of(server.informer());
    let mut streams = vec![Taken::at(&running.informer)];
    for step in steps {
        match step {
            Step::Put(name) => server.put(&format!("o{name}")),
            Step::PutBad(name) => server.put_bad(&format!("o{name}")),
            Step::Delete(name) => server.delete(&format!("o{name}")),
            Step::Recreate(name) => {
                server.delete(&format!("o{name}"));
                server.put(&format!("o{name}"));
            }
            Step::LoseHistory => {
                seconds(5).await;
                server.close_watches();
                server.compact();
            }
            Step::Settle => settle().await,
            Step::Take(stream, count) => {
                let stream = stream % streams.len();
                streams[stream].take(count);
            }
            Step::AddStream => streams.push(Taken::at(&running.informer)),
        }
        for stream in &streams {
            prop_assert!(stream.stream.pending() <= 4);
        }
    }
    seconds(600).await;
    let expected: BTreeMap<String, String> = server.objects();
    for mut stream in streams {
        stream.take(ALL);
        prop_assert_eq!(stream.folded(), &expected);
        prop_assert_eq!(stream.wrong(), &[] as &[String]);
        prop_assert!(stream.stream.readiness().is_ready());
    }
    Ok(())
}

proptest! {
    #[test]
    fn whenever_a_stream_is_read_it_tells_the_servers_state_and_nothing_wrongly(
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(play(steps))?;
    }
}
