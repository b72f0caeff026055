//! HTTP/1.1 connections that become silent. HTTP/1.1 has no pings, so the operating system must detect a dead peer.
//! These tests use real sockets and real time.

use std::{
    net::{Shutdown, SocketAddr},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, future::join3};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use socket2::{SockFilter, SockRef, Socket};
use tokio::{net::TcpListener, time::timeout};
use tokio_util::task::AbortOnDropHandle;

use super::server::{OBJECT, Site, endless, json};
use crate::client::{
    Api, Client, Config, Deadline, Deadlines, ErrorKind, PostParams, WatchEvent, WatchParams,
};

/// A server without TLS whose connections the test controls.
struct Machine {
    address: SocketAddr,
    site: Site,
    /// The far ends of all connections.
    connections: Arc<Mutex<Vec<Socket>>>,
    _task: AbortOnDropHandle<()>,
}

impl Machine {
    async fn start() -> Self {
        let mut site = Site::new(|seen| match &seen.uri {
            uri if uri.contains("watch=true") => endless(
                "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n",
            ),
            _ => json(200, OBJECT),
        });
        site.http2 = false;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::<Mutex<Vec<_>>>::default();
        let (kept, served) = (connections.clone(), site.clone());
        let task = tokio::spawn(async move {
            let mut tasks = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                kept.lock()
                    .push(SockRef::from(&stream).try_clone().unwrap());
                tasks.spawn(served.clone().serve(stream));
            }
        });
        Self {
            address,
            site,
            connections,
            _task: AbortOnDropHandle::new(task),
        }
    }

    fn maps(&self, deadlines: Deadlines) -> Api<ConfigMap> {
        let url = format!("http://{}", self.address).parse().unwrap();
        let config = Config::new(url).with_deadlines(deadlines);
        Api::namespaced(&Client::new(config).unwrap(), "default")
    }

    /// From now on the kernel drops every packet of the present connections before it looks at it. Neither data nor
    /// keep-alive probes are answered, as when the machine is gone.
    fn vanish(&self) {
        const RETURN: u16 = 6;
        for connection in &*self.connections.lock() {
            let nothing = SockFilter::new(RETURN, 0, 0, 0);
            connection.attach_filter(&[nothing]).unwrap();
        }
    }
}

#[tokio::test]
#[ignore = "waits 42 s for the operating system: .ci/run runs it"]
async fn when_the_machine_is_gone_watch_read_and_write_notice_within_a_minute() {
    let machine = Machine::start().await;
    let deadlines = Deadlines::default();
    let (maps, others) = (machine.maps(deadlines), machine.maps(deadlines));
    let mut watch = maps.watch(&WatchParams::default()).await.unwrap();
    let first = watch.next().await.unwrap().unwrap();
    assert!(matches!(first, WatchEvent::Bookmark { .. }));
    maps.get("a").await.unwrap();
    others.get("a").await.unwrap();
    assert_eq!(machine.site.connections(), 3);

    machine.vanish();
    let (post, map) = (PostParams::default(), ConfigMap::default());
    let all = join3(watch.next(), maps.get("a"), others.create(&post, &map));
    // Far less than the deadline of an answer.
    let (ended, read, written) = timeout(Duration::from_secs(60), all).await.unwrap();
    let ended = ended.unwrap().unwrap_err();
    assert!(matches!(ended.kind(), ErrorKind::Transport(_)), "{ended}");
    read.unwrap();
    let error = written.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Transport(_)) && error.is_outcome_unknown(),
        "{error}"
    );
    // The write was sent once, and did not arrive.
    let seen = machine.site.seen();
    assert_eq!(seen.iter().map(|seen| seen.connection).max(), Some(3));
    assert!(seen.iter().all(|seen| seen.method == http::Method::GET));
}

/// Nothing drives an idle connection. The next request finds out what happened to it.
#[tokio::test]
async fn a_connection_that_closed_while_idle_gets_no_write() {
    let machine = Machine::start().await;
    let maps = machine.maps(Deadlines::default());
    maps.get("a").await.unwrap();
    for connection in &*machine.connections.lock() {
        connection.shutdown(Shutdown::Both).unwrap();
    }
    // The runtime notices it when it has nothing else to do.
    tokio::time::sleep(Duration::from_millis(10)).await;
    let (post, map) = (PostParams::default(), ConfigMap::default());
    maps.create(&post, &map).await.unwrap();
    let seen = machine.site.seen();
    let used: Vec<_> = seen.iter().map(|seen| seen.connection).collect();
    assert_eq!(used, [0, 1]);
}

/// The operating system sees no fault, so a deadline ends the request. An informer replaces a watch on such a
/// connection because its bookmarks do not come.
#[tokio::test]
async fn a_silent_connection_gets_no_requests_after_one_deadline() {
    let machine = Machine::start().await;
    let maps = machine.maps(Deadlines::default().response(Duration::from_millis(300)));
    maps.get("a").await.unwrap();
    machine.site.be_silent(true);
    let error = maps.get("a").await.unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Timeout {
                deadline: Deadline::Response,
                ..
            }
        ),
        "{error}"
    );
    machine.site.be_silent(false);
    maps.get("a").await.unwrap();
    let seen = machine.site.seen();
    let used: Vec<_> = seen.iter().map(|seen| seen.connection).collect();
    assert_eq!(used, [0, 0, 1]);
}

/// Otherwise it would keep the processor busy until the answer's deadline.
#[tokio::test]
async fn endless_interim_answers_are_an_error_at_once() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serve = async move {
        let mut connections = tokio::task::JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            connections.spawn(async move {
                let few = stream.read_u8().await.is_ok_and(|first| first == b'G');
                let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(50);
                while stream.write_all(interim.as_bytes()).await.is_ok() && !few {}
                let object = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{OBJECT}",
                    OBJECT.len()
                );
                stream.write_all(object.as_bytes()).await.ok();
                stream.read_to_end(&mut Vec::new()).await.ok();
            });
        }
    };
    let _task = AbortOnDropHandle::new(tokio::spawn(serve));
    let url = format!("http://{address}").parse().unwrap();
    let maps = Api::<ConfigMap>::namespaced(&Client::new(Config::new(url)).unwrap(), "default");
    maps.get("a").await.unwrap();
    let error = maps
        .create(&PostParams::default(), &ConfigMap::default())
        .await;
    let error = error.unwrap_err();
    assert!(
        error.to_string().contains("interim answers (1xx)"),
        "{error}"
    );
    assert!(error.is_outcome_unknown());
}
