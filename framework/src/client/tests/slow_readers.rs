//! Watches that their callers do not read, in memory.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt, future::join_all, stream};
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::Instant;

use super::server::{Answer, OBJECT, Site, endless, in_memory, json};
use crate::client::{Api, Client, Config, ErrorKind, WatchParams, WatchStream};

/// An event of 16 KiB.
fn event() -> Bytes {
    let text = "x".repeat(16 * 1024);
    let event = format!(
        "{{\"type\":\"MODIFIED\",\"object\":{{\"metadata\":{{\"name\":\"a\"}},\"data\":{{\"k\":\"{text}\"}}}}}}\n"
    );
    event.into()
}

/// As many of them as the client reads, up to `most`, and then silence. `open` counts such streams.
fn events(most: usize, open: &Arc<AtomicUsize>) -> Option<Answer> {
    struct Open(Arc<AtomicUsize>);
    impl Drop for Open {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    open.fetch_add(1, Ordering::SeqCst);
    let open = Open(open.clone());
    let event = event();
    let events = stream::iter(0..most).map(move |_| {
        let _ = &open;
        Ok::<_, Infallible>(Frame::data(event.clone()))
    });
    let body = StreamBody::new(events.chain(stream::pending()));
    Some(Response::new(body.boxed_unsync()))
}

fn maps(site: &Site) -> Api<ConfigMap> {
    let config = Config::new("http://sandbox".parse().unwrap());
    let client = Client::builder(config).connector(in_memory(site));
    Api::namespaced(&client.build().unwrap(), "default")
}

async fn watch(maps: &Api<ConfigMap>) -> WatchStream<ConfigMap> {
    maps.watch(&WatchParams::default()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_lagging_reader_gets_an_error_and_its_bytes_are_freed() {
    let open = Arc::new(AtomicUsize::new(0));
    let count = open.clone();
    let site = Site::new(move |_| events(usize::MAX, &count));
    let maps = maps(&site);
    let (mut lags, mut reads) = (watch(&maps).await, watch(&maps).await);
    lags.next().await.unwrap().unwrap();
    for second in 0..120 {
        reads.next().await.unwrap().unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let expected = if second < 29 { 2..=2 } else { 1..=2 };
        assert!(expected.contains(&open.load(Ordering::SeqCst)), "{second}");
    }
    assert_eq!(open.load(Ordering::SeqCst), 1, "the stream was not reset");
    let error = loop {
        if let Err(error) = lags.next().await.expect("it just ended") {
            break error;
        }
    };
    let ErrorKind::Lagged { after, .. } = error.kind() else {
        panic!("{error}");
    };
    assert!((30..=50).contains(&after.as_secs()), "{after:?}");
    assert!(
        error
            .to_string()
            .starts_with("watch configmaps in default: 256 KiB were not read for "),
        "{error}"
    );
    assert!(lags.next().await.is_none());
    reads.next().await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_few_unread_events_wait_for_hours() {
    let open = Arc::new(AtomicUsize::new(0));
    let site = Site::new(move |_| events(10, &open));
    let mut unread = watch(&maps(&site)).await;
    tokio::time::sleep(Duration::from_secs(7200)).await;
    for _ in 0..10 {
        unread.next().await.unwrap().unwrap();
    }

    let open = Arc::new(AtomicUsize::new(0));
    let site = Site::new(move |_| events(200, &open));
    let mut slow = watch(&maps(&site)).await;
    for _ in 0..200 {
        slow.next().await.unwrap().unwrap();
        tokio::time::sleep(Duration::from_secs(25)).await;
    }
    let silent = tokio::time::timeout(Duration::from_secs(7200), slow.next()).await;
    assert!(silent.is_err(), "{silent:?}");
}

#[tokio::test(start_paused = true)]
async fn fifty_unread_watches_of_300_delay_no_other() {
    let start = Instant::now();
    let open = Arc::new(AtomicUsize::new(0));
    let site = Site::new(move |seen| match &*seen.uri {
        uri if !uri.contains("watch=true") => json(200, OBJECT),
        uri if uri.contains("resourceVersion=9") => events(usize::MAX, &open),
        _ => endless(
            "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n",
        ),
    });
    let maps = maps(&site);
    // All windows of the unread watches are full when the others begin.
    let unread = WatchParams::default().after("9");
    let unread = join_all((0..50).map(|_| maps.watch(&unread))).await;
    for _ in 0..100 {
        maps.get("a").await.unwrap();
    }
    let read = WatchParams::default();
    let read = join_all((0..250).map(|_| async {
        let mut watch = maps.watch(&read).await.unwrap();
        watch.next().await.unwrap().unwrap();
        watch
    }));
    let read = read.await;
    for _ in 0..100 {
        maps.get("a").await.unwrap();
    }
    assert_eq!((unread.len(), read.len()), (50, 250));
    let seen = site.seen();
    let watches = seen.iter().filter(|seen| seen.uri.contains("watch=true"));
    let connections: std::collections::HashSet<_> = watches.map(|seen| seen.connection).collect();
    assert_eq!(connections.len(), 3);
    assert_eq!(start.elapsed().as_secs(), 0);
    drop(unread);
}
