//! HTTP/1.1 connections on which nothing comes any more. HTTP/1.1 has no pings, so it is for the system
//! to ask whether the other side is still there: over real sockets, in real time.

use std::{
    net::{Shutdown, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{StreamExt, future::join3};
use k8s_openapi::api::core::v1::ConfigMap;
use socket2::{SockFilter, SockRef, Socket};
use tokio::{net::TcpListener, time::timeout};
use tokio_util::task::AbortOnDropHandle;

use super::server::{OBJECT, Site, endless, json};
use crate::client::{
    Api, Client, Config, Deadline, Deadlines, Error, PostParams, WatchEvent, WatchParams,
};

/// A machine without TLS, whose connections can be treated.
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
                    .unwrap()
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

    /// From now on the kernel drops every packet of the present connections before it looks at it: neither
    /// data nor a question whether anybody is there is answered, as when the machine is gone.
    fn vanish(&self) {
        const RETURN: u16 = 6;
        for connection in &*self.connections.lock().unwrap() {
            let nothing = SockFilter::new(RETURN, 0, 0, 0);
            connection.attach_filter(&[nothing]).unwrap();
        }
    }
}

#[tokio::test]
async fn when_the_machine_is_gone_a_watch_ends_a_read_is_done_and_a_write_is_told_within_a_minute()
{
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
    assert!(matches!(ended, Error::Transport { .. }), "{ended}");
    read.unwrap();
    let error = written.unwrap_err();
    assert!(
        matches!(error, Error::Transport { .. }) && error.is_outcome_unknown(),
        "{error}"
    );
    // The write was sent once, and that did not arrive.
    let seen = machine.site.seen();
    assert_eq!(seen.iter().map(|seen| seen.connection).max(), Some(3));
    assert!(seen.iter().all(|seen| seen.method == http::Method::GET));
}

/// Nobody drives a connection that nobody uses; what happened to it comes out when it is to be used again.
#[tokio::test]
async fn a_connection_that_was_closed_while_nobody_used_it_gets_no_write() {
    let machine = Machine::start().await;
    let maps = machine.maps(Deadlines::default());
    maps.get("a").await.unwrap();
    for connection in &*machine.connections.lock().unwrap() {
        connection.shutdown(Shutdown::Both).unwrap();
    }
    // The runtime hears of it when it has nothing else to do.
    tokio::time::sleep(Duration::from_millis(10)).await;
    let (post, map) = (PostParams::default(), ConfigMap::default());
    maps.create(&post, &map).await.unwrap();
    let seen = machine.site.seen();
    let used: Vec<_> = seen.iter().map(|seen| seen.connection).collect();
    assert_eq!(used, [0, 1]);
}

/// The system finds nothing wrong with it, so a deadline ends a request. A watch on such a connection is
/// replaced by whoever waits for its bookmarks, like any silent one.
#[tokio::test]
async fn a_connection_that_takes_requests_and_answers_none_is_left_after_one_deadline() {
    let machine = Machine::start().await;
    let maps = machine.maps(Deadlines::default().answer(Duration::from_millis(300)));
    maps.get("a").await.unwrap();
    machine.site.be_silent(true);
    let error = maps.get("a").await.unwrap_err();
    assert!(
        matches!(
            error,
            Error::Timeout {
                deadline: Deadline::Answer,
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

/// It would otherwise keep the processor busy until the answer's deadline.
#[tokio::test]
async fn a_server_that_sends_interim_answers_without_end_is_given_up_at_once() {
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
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{OBJECT}",
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
