//! Clients made of other clients: with own connections, or behind a fence.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures_util::FutureExt;
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::server::{OBJECT, Server, Site, in_memory, json};
use crate::{
    client::{Api, Client, Config, Deadlines, DeleteParams, Error, ErrorKind, Io, PostParams},
    metrics::Metrics,
};

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client, "default")
}

#[tokio::test]
async fn a_client_with_own_connections_has_the_same_settings() {
    let site = Site::new(|_| json(200, OBJECT));
    let server = Server::start(&site).await;
    let metrics = Metrics::new();
    let passed = Arc::new(AtomicUsize::new(0));
    let count = passed.clone();
    let client = Client::builder(
        server
            .config()
            .with_token("t0ken")
            .with_default_namespace("n"),
    )
    .user_agent("website/1.2.0")
    .metrics(metrics.clone())
    .layer(tower::util::MapRequestLayer::new(
        move |request: http::Request<crate::client::Body>| {
            count.fetch_add(1, Ordering::SeqCst);
            request
        },
    ))
    .build()
    .unwrap();
    let apart = client.with_own_connections(Deadlines::default());
    for client in [&client, &apart, &client, &apart] {
        maps(client).get("a").await.unwrap();
    }
    let seen = site.seen();
    let connections: Vec<_> = seen.iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 1, 0, 1]);
    assert_eq!(seen[0].headers, seen[1].headers);
    assert_eq!(seen[1].header("authorization"), "Bearer t0ken");
    assert_eq!(
        (apart.default_namespace(), apart.server()),
        ("n", client.server())
    );
    assert_eq!(passed.load(Ordering::SeqCst), 4);
    let counted = metrics.encode();
    assert!(counted.contains("method=\"GET\"} 4"), "{counted}");
}

#[tokio::test(start_paused = true)]
async fn a_client_with_own_connections_has_its_own_deadlines() {
    let config = Config::new("http://sandbox".parse().unwrap());
    let client = Client::builder(config).connector(in_memory(&Site::silent()));
    let client = client.build().unwrap();
    let apart = client.with_own_connections(Deadlines::default().total(Duration::from_secs(5)));
    let (apart, client) = (maps(&apart), maps(&client));
    let (first, second) = tokio::join!(apart.get("a"), client.get("a"));
    let seconds = |outcome: Result<ConfigMap, Error>| match outcome {
        Err(error) => match error.kind() {
            ErrorKind::Timeout { after, .. } => after.as_secs(),
            other => panic!("{other:?}"),
        },
        Ok(object) => panic!("{object:?}"),
    };
    assert_eq!((seconds(first), seconds(second)), (5, 65));
}

#[tokio::test]
async fn a_closed_fence_stops_its_client_and_no_other() {
    let site = Site::new(|_| json(200, OBJECT));
    let server = Server::start(&site).await;
    let client = Client::new(server.config()).unwrap();
    let leads = Arc::new(AtomicBool::new(true));
    let fence = leads.clone();
    let fenced = client.fenced(move || match fence.load(Ordering::SeqCst) {
        true => Ok(()),
        false => Err("this process does not lead any more".into()),
    });
    let twice = fenced.fenced(|| Ok(()));
    maps(&fenced).get("a").await.unwrap();
    maps(&client).get("a").await.unwrap();
    leads.store(false, Ordering::SeqCst);
    for fenced in [fenced, twice] {
        let error = maps(&fenced)
            .create(&PostParams::default(), &ConfigMap::default())
            .await
            .unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Fenced(_)) && !error.is_outcome_unknown());
        assert_eq!(
            error.to_string(),
            "create configmaps in default: not sent: this process does not lead any more"
        );
    }
    maps(&client).get("a").await.unwrap();
    assert_eq!((site.seen().len(), site.connections()), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_fence_that_closes_during_the_dial_stops_the_request() {
    let site = Site::new(|_| json(200, OBJECT));
    let leads = Arc::new(AtomicBool::new(true));
    let (connect, lost) = (in_memory(&site), leads.clone());
    let connector = move || {
        lost.store(false, Ordering::SeqCst);
        futures_util::FutureExt::now_or_never(connect.connect()).unwrap()
    };
    let config = Config::new("http://sandbox".parse().unwrap());
    let client = Client::builder(config).connector(Arc::new(connector));
    let fenced = client.build().unwrap().fenced(move || {
        let leads = leads.load(Ordering::SeqCst);
        leads.then_some(()).ok_or_else(|| "lost".into())
    });
    let error = maps(&fenced).get("a").await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Fenced(_)), "{error}");
    assert_eq!(site.seen().len(), 0);
}

/// Streams that accept nothing while they are blocked, as a socket with a full buffer.
#[derive(Clone, Default)]
struct Blocked(Arc<(AtomicBool, Mutex<Vec<Waker>>)>);

struct Blocking {
    io: Box<dyn Io>,
    blocked: Blocked,
}

impl Blocked {
    fn block(&self) {
        self.0.0.store(true, Ordering::SeqCst);
    }

    fn unblock(&self) {
        self.0.0.store(false, Ordering::SeqCst);
        self.0.1.lock().drain(..).for_each(Waker::wake);
    }
}

impl AsyncRead for Blocking {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Blocking {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let blocked = &self.blocked.0;
        if blocked.0.load(Ordering::SeqCst) {
            blocked.1.lock().push(cx.waker().clone());
            return Poll::Pending;
        }
        Pin::new(&mut *self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_shutdown(cx)
    }
}

/// A client whose connections can be blocked, and a client on the same connections with a fence that is open as long as
/// the flag is set.
async fn blockable(site: &Site) -> (Client, Client, Blocked, Arc<AtomicBool>) {
    let (connect, blocked) = (in_memory(site), Blocked::default());
    let over = blocked.clone();
    let connector = move || -> io::Result<Blocking> {
        Ok(Blocking {
            io: connect.connect().now_or_never().unwrap()?,
            blocked: over.clone(),
        })
    };
    let config = Config::new("http://sandbox".parse().unwrap());
    let client = Client::builder(config).connector(Arc::new(connector));
    let client = client.build().unwrap();
    let leads = Arc::new(AtomicBool::new(true));
    let fence = leads.clone();
    let fenced = client.fenced(move || {
        let leads = fence.load(Ordering::SeqCst);
        leads.then_some(()).ok_or_else(|| "lost".into())
    });
    // The connection is open.
    maps(&fenced).get("a").await.unwrap();
    (client, fenced, blocked, leads)
}

#[tokio::test(start_paused = true)]
async fn a_buffered_write_is_not_sent_after_the_fence_closes() {
    let site = Site::new(|_| json(200, OBJECT));
    let (client, fenced, blocked, leads) = blockable(&site).await;
    blocked.block();
    let write = tokio::spawn(async move {
        let params = PostParams::default();
        maps(&fenced).create(&params, &ConfigMap::default()).await
    });
    tokio::time::sleep(Duration::from_millis(1)).await;
    leads.store(false, Ordering::SeqCst);
    blocked.unblock();
    let error = write.await.unwrap().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Fenced(_)), "{error}");
    assert!(!error.is_outcome_unknown());
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(site.seen().len(), 1);
    // Other requests continue on another connection.
    maps(&client).get("a").await.unwrap();
    assert_eq!((site.seen().len(), site.connections()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_write_is_not_sent_after_the_fence_closes() {
    let site = Site::new(|_| json(200, OBJECT));
    let (_client, fenced, blocked, leads) = blockable(&site).await;
    blocked.block();
    let write = tokio::spawn(async move {
        let params = DeleteParams::default();
        maps(&fenced).delete("a", &params).await
    });
    tokio::time::sleep(Duration::from_millis(1)).await;
    write.abort();
    tokio::time::sleep(Duration::from_millis(1)).await;
    leads.store(false, Ordering::SeqCst);
    blocked.unblock();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(site.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_connection_checks_no_fence_of_answered_requests() {
    let site = Site::new(|_| json(200, OBJECT));
    let (client, fenced, blocked, leads) = blockable(&site).await;
    // After all bytes are written, a dropped request leaves nothing behind.
    blocked.block();
    let given_up = maps(&fenced);
    let read = tokio::spawn(async move { given_up.get("a").await });
    tokio::time::sleep(Duration::from_millis(1)).await;
    read.abort();
    blocked.unblock();
    tokio::time::sleep(Duration::from_millis(1)).await;
    leads.store(false, Ordering::SeqCst);
    maps(&client).get("a").await.unwrap();
    assert_eq!(site.connections(), 1);
}
