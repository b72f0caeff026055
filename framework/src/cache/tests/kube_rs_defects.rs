//! Defects that were seen in caches of kube-rs 4. Each test shows what this cache guarantees instead.

use std::{pin::pin, task::Context};

use futures_util::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;

use super::{recording::RecordingStream, *};
use crate::{
    cache::{
        InformerScope, Informers,
        fake::{Answer, Streaming, expired, status, unsupported},
    },
    client::{Client, Config, woken::Woken},
    metrics::Metrics,
    resource::ApiResource,
};

/// a: if several tasks waited for one handle's readiness, only the last one was woken.
#[tokio::test(start_paused = true)]
async fn every_task_that_waits_for_one_handle_is_woken() {
    let informer = FakeServer::new().informer();
    let readiness = informer.readiness();
    let mut waiting = [
        informer.synced().boxed(),
        informer.synced().boxed(),
        readiness.wait().boxed(),
        readiness.wait().boxed(),
    ];
    let woken: [Arc<Woken>; 4] = Default::default();
    for (waiting, woken) in waiting.iter_mut().zip(&woken) {
        let waker = woken.waker();
        assert!(
            waiting
                .poll_unpin(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    let _running = Running::of(informer.clone());
    run_ready_tasks().await;
    for (waiting, woken) in waiting.iter_mut().zip(&woken) {
        assert!(woken.take() > 0, "the task was not woken");
        assert_eq!(waiting.now_or_never(), Some(true));
    }
}

/// b: a stream whose object was deleted slept forever, and then blocked the watch.
#[tokio::test(start_paused = true)]
async fn a_stream_continues_after_an_object_that_was_deleted_before_it_was_read() {
    let server = FakeServer::new();
    let (running, recorded) = Running::synced(&server).await;
    let mut stream = running.informer.stream();
    let woken = Arc::<Woken>::default();
    let waker = woken.waker();
    let mut context = Context::from_waker(&waker);
    for round in 0..50 {
        while stream.poll_next_unpin(&mut context).is_ready() {}
        woken.take();
        server.put("brief");
        server.delete("brief");
        run_ready_tasks().await;
        while stream.poll_next_unpin(&mut context).is_ready() {}
        server.put("next");
        run_ready_tasks().await;
        assert!(woken.take() > 0, "round {round}");
    }
    let mut next = pin!(stream.next());
    assert!(next.as_mut().now_or_never().flatten().is_some());
    assert_eq!(
        recorded.lines().len(),
        150,
        "the other listeners receive everything"
    );
}

/// d: a first list that failed halfway left its objects in the store, even those that were deleted by then. For
/// streamed lists see `a_stream_that_ended_before_its_mark_leaves_no_objects_behind`.
#[tokio::test(start_paused = true)]
async fn a_first_list_that_failed_halfway_leaves_no_objects_behind() {
    let server = FakeServer::new();
    server.without_watch_cache(1);
    ["ghost", "real"]
        .into_iter()
        .for_each(|name| server.put(name));
    let broke_off = || Answer::Fail(status(500, "InternalError", "oops"));
    server.answer_lists([Answer::Pass, broke_off()]);
    let running = Running::of(server.informer());
    let recorded = RecordingListener::at(&running.informer);
    run_ready_tasks().await;
    assert!(!running.informer.has_synced());
    server.delete("ghost");
    assert!(running.informer.synced().await);
    assert!(running.get("ghost").is_none() && running.get("real").is_some());
    assert_eq!(recorded.folded(), server.objects());
}

/// e: a list that accepts any version was read from storage, because of its limit.
#[tokio::test(start_paused = true)]
async fn the_first_list_accepts_any_version_of_the_server() {
    let server = FakeServer::new();
    let _running = Running::of(server.informer());
    run_ready_tasks().await;
    assert_eq!(server.requests()[0], "list at 0 limit 500");
}

/// j: a 410 as the answer to a watch led to the same watch again, forever.
#[tokio::test(start_paused = true)]
async fn a_watch_that_is_answered_with_410_leads_to_a_list() {
    let server = FakeServer::new();
    server.put("a");
    let (_running, recorded) = Running::synced(&server).await;
    seconds(5).await;
    server.fail_watches([expired()]);
    server.close_watches();
    server.put("b");
    seconds(3).await;
    assert_eq!(
        server.requests(),
        ["watch from 1", "list at 1", "watch from 2"]
    );
    assert_eq!(recorded.lines(), ["added b"]);
}

/// o: users that share a cache did not receive deletions.
#[tokio::test(start_paused = true)]
async fn all_users_of_a_cache_receive_a_deletion_with_its_object() {
    let server = FakeServer::new();
    server.put("child");
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let informers = Informers::new(Client::new(config).unwrap(), Metrics::new());
    let share = || {
        let (resource, server) = (ApiResource::of::<ConfigMap>(), server.clone());
        informers.of_source(resource, InformerScope::all(), move |_| server.clone())
    };
    let (first, second) = (share(), share());
    let (recorded, also_recorded) = (
        RecordingListener::at(&first),
        RecordingListener::at(&second),
    );
    let mut streamed = RecordingStream::at(&second);
    informers.start(&CancellationToken::new());
    run_ready_tasks().await;
    streamed.take(usize::MAX);
    server.delete("child");
    run_ready_tasks().await;
    let told = ["initial child", "deleted child"];
    assert_eq!(
        (recorded.lines(), also_recorded.lines()),
        (
            told.map(str::to_owned).into(),
            told.map(str::to_owned).into()
        )
    );
    assert_eq!(streamed.take(usize::MAX), ["deleted child"]);
    informers.shutdown().await;
}

/// t: one object that does not decode kept the whole kind out of the cache.
#[tokio::test(start_paused = true)]
async fn one_undecodable_object_leaves_the_other_nine() {
    let server = FakeServer::new();
    (0..9).for_each(|number| server.put(&format!("good-{number}")));
    server.put_undecodable("bad");
    let (running, recorded) = Running::synced(&server).await;
    let listing = running.informer.lister().list();
    assert_eq!((listing.items.len(), listing.undecodable.len()), (9, 1));
    // In the stream as in the list.
    server.put_undecodable("good-0");
    server.put("good-1");
    run_ready_tasks().await;
    assert_eq!(recorded.lines(), ["undecodable good-0", "updated good-1"]);
}

/// v: a server that does not stream lists received requests for streams forever.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_stream_lists_gets_a_list_request() {
    let server = FakeServer::new().streaming(Streaming::Refused(unsupported));
    server.put("a");
    let running = Running::of(server.informer());
    run_ready_tasks().await;
    assert!(running.informer.has_synced() && running.get("a").is_some());
    let expected = ["stream from nothing", "list at 0 limit 500", "watch from 1"];
    assert_eq!(server.requests(), expected);
}
