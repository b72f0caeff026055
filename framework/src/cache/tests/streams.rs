//! What a slow consumer can rely on.

use std::{collections::BTreeMap, time::Instant};

use futures_util::{FutureExt, StreamExt};
use proptest::prelude::*;

use super::{recording::RecordingStream, *};
use crate::{
    cache::Readiness,
    metrics::{InformerMetrics, Metrics},
};

const ALL: usize = usize::MAX;

fn series(metrics: &Metrics) -> InformerMetrics {
    metrics.informer("", "v1", "configmaps")
}

#[tokio::test(start_paused = true)]
async fn an_unread_stream_holds_one_event_per_object_and_the_informer_does_not_wait_for_it() {
    let (server, metrics) = (FakeServer::new(), Metrics::new());
    let running = Running::of(server.informer_with(&metrics));
    run_ready_tasks().await;
    let (mut taken, recorded) = (
        RecordingStream::at(&running.informer),
        RecordingListener::at(&running.informer),
    );
    run_ready_tasks().await;
    for _ in 0..50 {
        (0..100).for_each(|number| server.put(&format!("o{number:02}")));
        run_ready_tasks().await;
        assert_eq!(taken.stream.pending(), 100);
    }
    assert_eq!(recorded.lines().len(), 5000, "the informer did not wait");
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
    run_ready_tasks().await;
    drop(taken);
    run_ready_tasks().await;
    assert_eq!(listener.backlog.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stream_begins_with_the_cached_objects_and_is_synced_when_they_were_processed() {
    let server = FakeServer::new();
    ["a", "b"].into_iter().for_each(|name| server.put(name));
    let running = Running::of(server.informer());
    let mut early = RecordingStream::at(&running.informer);
    run_ready_tasks().await;
    let mut late = RecordingStream::at(&running.informer);
    run_ready_tasks().await;
    server.put("c");
    run_ready_tasks().await;
    for taken in [&mut early, &mut late] {
        assert_eq!(taken.take(2).len(), 2);
        assert!(
            !taken.stream.readiness().is_ready(),
            "the last event is still being processed"
        );
        assert_eq!(taken.take(1), ["added c"]);
        assert!(taken.stream.subscription().synced().await);
        assert_eq!(taken.folded(), &server.objects());
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_after_the_last_event_when_its_informer_ends() {
    let server = FakeServer::new();
    server.put("a");
    let running = Running::of(server.informer());
    let mut stream = running.informer.stream();
    run_ready_tasks().await;
    running.cancel.cancel();
    running.task.await.unwrap();
    assert!(stream.next().await.is_some() && stream.next().await.is_none());
    assert!(stream.subscription().synced().await);
    let mut late = running.informer.stream();
    assert!(late.next().await.is_none() && !late.subscription().synced().await);
}

#[tokio::test(start_paused = true)]
async fn a_stream_wakes_its_reader_and_removes_its_listener_when_it_is_dropped() {
    let server = FakeServer::new();
    let (running, _) = Running::synced(&server).await;
    let mut stream = running.informer.stream();
    assert!(stream.next().now_or_never().is_none());
    let subscription = stream.subscription().clone();
    let waiting = tokio::spawn(async move { stream.next().await.map(|event| event.key()) });
    run_ready_tasks().await;
    server.put("a");
    let key = waiting.await.unwrap().unwrap();
    assert_eq!(key, ObjectKey::namespaced("default", "a"));
    subscription.remove().await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_listener_is_reported_by_name_while_it_runs() {
    let (server, metrics) = (FakeServer::new(), Metrics::new());
    let informer = server.informer_with(&metrics);
    let (seen, own) = (
        Arc::<parking_lot::Mutex<String>>::default(),
        informer.clone(),
    );
    let told = seen.clone();
    informer.add_named_listener("snail", move |_| {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(1001) {
            std::hint::spin_loop();
        }
        *told.lock() = own.status().to_string();
    });
    server.put("a");
    let running = Running::of(informer);
    run_ready_tasks().await;
    assert_eq!(
        *seen.lock(),
        "configmaps has waited for its listener snail for 1 s"
    );
    assert!(running.informer.status().active_listener.is_none());
    let duration = series(&metrics).listener("snail").duration;
    assert_eq!(duration.get_sample_count(), 1);
    assert!(duration.get_sample_sum() > 1.0);
}

#[tokio::test(start_paused = true)]
async fn several_informers_and_listeners_are_ready_together() {
    let (first, second) = (FakeServer::new(), FakeServer::new());
    let (one, other) = (Running::of(first.informer()), second.informer());
    let recorded = RecordingListener::at(&other);
    let all = Readiness::all([one.informer.readiness(), recorded.subscription.readiness()]);
    run_ready_tasks().await;
    assert_eq!(all.waiting_for().count(), 1);
    let waiting: Vec<_> = (0..50)
        .map(|_| {
            let all = all.clone();
            tokio::spawn(async move { all.wait().await })
        })
        .collect();
    run_ready_tasks().await;
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
    let mut streams = vec![RecordingStream::at(&running.informer)];
    for step in steps {
        match step {
            Step::Put(name) => server.put(&format!("o{name}")),
            Step::PutBad(name) => server.put_undecodable(&format!("o{name}")),
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
            Step::Settle => run_ready_tasks().await,
            Step::Take(stream, count) => {
                let stream = stream % streams.len();
                streams[stream].take(count);
            }
            Step::AddStream => streams.push(RecordingStream::at(&running.informer)),
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
    fn a_stream_gives_the_state_of_the_server_whenever_it_is_read(
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
