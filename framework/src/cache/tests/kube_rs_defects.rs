//! Defects that caches of kube-rs 4 have been seen to have; each test says what we guarantee instead.

use std::{pin::pin, task::Context};

use futures_util::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;

use super::{heard::Taken, *};
use crate::{
    cache::{
        InformerScope, Informers,
        fake::{Answer, Streaming, expired, status, unsupported},
    },
    client::{Client, Config, woken::Woken},
    metrics::Metrics,
    resource::ApiResource,
};

/// a: of several tasks that wait for one handle's readiness the last to ask was woken.
#[tokio::test(start_paused = true)]
async fn everyone_who_waits_on_one_handle_is_woken() {
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
    settle().await;
    for (waiting, woken) in waiting.iter_mut().zip(&woken) {
        assert!(woken.take() > 0, "nobody woke it");
        assert_eq!(waiting.now_or_never(), Some(true));
    }
}

/// b: a stream that found its object gone slept for ever, and then held back the watch.
#[tokio::test(start_paused = true)]
async fn a_stream_goes_on_after_an_object_that_was_gone_when_it_looked() {
    let server = FakeServer::new();
    let (running, heard) = Running::synced(&server).await;
    let mut stream = running.informer.stream();
    let woken = Arc::<Woken>::default();
    let waker = woken.waker();
    let mut context = Context::from_waker(&waker);
    for round in 0..50 {
        while stream.poll_next_unpin(&mut context).is_ready() {}
        woken.take();
        server.put("brief");
        server.delete("brief");
        settle().await;
        while stream.poll_next_unpin(&mut context).is_ready() {}
        server.put("next");
        settle().await;
        assert!(woken.take() > 0, "round {round}");
    }
    let mut next = pin!(stream.next());
    assert!(next.as_mut().now_or_never().flatten().is_some());
    assert_eq!(heard.lines().len(), 150, "the others heard of everything");
}

/// d: a first list that broke off left its objects in the store, also those that were gone by then. Of
/// streamed lists: `nothing_is_left_of_a_stream_that_ended_before_its_mark`.
#[tokio::test(start_paused = true)]
async fn nothing_stays_of_a_first_list_that_broke_off() {
    let server = FakeServer::new();
    server.without_watch_cache(1);
    ["ghost", "real"]
        .into_iter()
        .for_each(|name| server.put(name));
    let broke_off = || Answer::Fail(status(500, "InternalError", "oops"));
    server.answer_lists([Answer::Pass, broke_off()]);
    let running = Running::of(server.informer());
    let heard = Heard::at(&running.informer);
    settle().await;
    assert!(!running.informer.has_synced());
    server.delete("ghost");
    assert!(running.informer.synced().await);
    assert!(running.get("ghost").is_none() && running.get("real").is_some());
    assert_eq!(heard.folded(), server.objects());
}

/// e: what any version would do for was asked of the storage, because of the limit.
#[tokio::test(start_paused = true)]
async fn the_first_list_is_content_with_what_is_at_hand() {
    let server = FakeServer::new();
    let _running = Running::of(server.informer());
    settle().await;
    assert_eq!(server.requests()[0], "list at 0 limit 500");
}

/// j: a 410 that answers the watch itself led to the same watch again, for ever.
#[tokio::test(start_paused = true)]
async fn a_watch_that_is_answered_gone_leads_to_a_list() {
    let server = FakeServer::new();
    server.put("a");
    let (_running, heard) = Running::synced(&server).await;
    seconds(5).await;
    server.fail_watches([expired()]);
    server.close_watches();
    server.put("b");
    seconds(3).await;
    assert_eq!(
        server.requests(),
        ["watch from 1", "list at 1", "watch from 2"]
    );
    assert_eq!(heard.lines(), ["added b"]);
}

/// o: those who share a cache did not hear of deletions.
#[tokio::test(start_paused = true)]
async fn all_who_share_a_cache_hear_of_a_deletion_and_of_what_was_deleted() {
    let server = FakeServer::new();
    server.put("child");
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let informers = Informers::new(Client::new(config).unwrap(), Metrics::new());
    let share = || {
        let (resource, server) = (ApiResource::of::<ConfigMap>(), server.clone());
        informers.of_source(resource, InformerScope::all(), move |_| server.clone())
    };
    let (first, second) = (share(), share());
    let (heard, also_heard) = (Heard::at(&first), Heard::at(&second));
    let mut streamed = Taken::at(&second);
    informers.start(&CancellationToken::new());
    settle().await;
    streamed.take(usize::MAX);
    server.delete("child");
    settle().await;
    let told = ["initial child", "deleted child"];
    assert_eq!(
        (heard.lines(), also_heard.lines()),
        (
            told.map(str::to_owned).into(),
            told.map(str::to_owned).into()
        )
    );
    assert_eq!(streamed.take(usize::MAX), ["deleted child"]);
    informers.shutdown().await;
}

/// t: one object that does not decode kept the whole kind out.
#[tokio::test(start_paused = true)]
async fn one_bad_object_leaves_the_other_nine() {
    let server = FakeServer::new();
    (0..9).for_each(|number| server.put(&format!("good-{number}")));
    server.put_bad("bad");
    let (running, heard) = Running::synced(&server).await;
    let listing = running.informer.lister().list();
    assert_eq!((listing.items.len(), listing.undecodable.len()), (9, 1));
    // In the stream as in the list.
    server.put_bad("good-0");
    server.put("good-1");
    settle().await;
    assert_eq!(heard.lines(), ["undecodable good-0", "updated good-1"]);
}

/// v: a server that does not stream lists was asked for streams for ever.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_stream_lists_is_asked_for_a_list() {
    let server = FakeServer::new().streaming(Streaming::Refused(unsupported));
    server.put("a");
    let running = Running::of(server.informer());
    settle().await;
    assert!(running.informer.has_synced() && running.get("a").is_some());
    let expected = ["stream from nothing", "list at 0 limit 500", "watch from 1"];
    assert_eq!(server.requests(), expected);
}
