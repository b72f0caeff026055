//! Connections through a proxy.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::StreamExt;
use pilothouse::{
    client::{Api, Client, Config, ListParams, WatchParams},
    k8s::api::core::v1::ConfigMap,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::target::Target;

/// Starts an HTTP proxy that opens every requested tunnel and counts them. The proxy and its tunnels end with the set.
pub(crate) async fn proxy(
    tasks: &mut JoinSet<()>,
    tunnels: Arc<AtomicUsize>,
    address: &str,
) -> SocketAddr {
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((mut client, _)) = listener.accept().await {
            tunnels.fetch_add(1, Ordering::SeqCst);
            connections.spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(client.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap();
                let target = head.split(' ').nth(1).unwrap();
                let mut server = TcpStream::connect(target).await.unwrap();
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                tokio::io::copy_bidirectional(&mut client, &mut server).await.ok();
            });
        }
    });
    address
}

pub(crate) async fn requests_and_watches_go_through_a_proxy(target: &Target) {
    let (mut tasks, tunnels) = (JoinSet::new(), Arc::new(AtomicUsize::new(0)));
    let address = proxy(&mut tasks, tunnels.clone(), "127.0.0.1:0").await;
    let with_proxy = |config: Config| config.with_proxy(format!("http://{address}").parse().unwrap());
    let client = Client::new(with_proxy(target.config().await)).unwrap();
    let maps = Api::<ConfigMap>::namespaced(&client, &target.namespace);
    let params = WatchParams::default().labels("in=test");
    let mut watch = maps.watch(&params).await.unwrap();
    target.map("first", &[("in", "test")]).await;
    watch.next().await.unwrap().unwrap();
    let list = maps.list(&ListParams::default().labels("in=test")).await.unwrap();
    assert_eq!(list.items.len(), 1);
    assert_eq!(tunnels.load(Ordering::SeqCst), 2, "one for the watch and one for requests");
}
