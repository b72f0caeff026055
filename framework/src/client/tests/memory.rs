use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf},
    time::Instant,
};

use super::server::{OBJECT, Site, endless, in_memory, json};
use crate::client::{Api, Client, Config, ErrorKind, WatchParams};

/// A client whose connections are pipes to `site` in this runtime.
fn maps(site: &Site) -> Api<ConfigMap> {
    let config = Config::new("http://sandbox".parse().unwrap());
    let client = Client::builder(config).connector(in_memory(site));
    Api::namespaced(&client.build().unwrap(), "default")
}

#[tokio::test(start_paused = true)]
async fn requests_take_no_time_on_the_paused_clock() {
    let start = Instant::now();
    let site = Site::new(|_| json(200, OBJECT));
    let maps = maps(&site);
    for _ in 0..100 {
        maps.get("a").await.unwrap();
    }
    assert_eq!((start.elapsed(), site.connections()), (Duration::ZERO, 1));
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_stays_open_for_hours() {
    let site = Site::new(|_| {
        endless("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n")
    });
    let mut watch = maps(&site).watch(&WatchParams::default()).await.unwrap();
    watch.next().await.unwrap().unwrap();
    let silent = tokio::time::timeout(Duration::from_secs(7200), watch.next()).await;
    assert!(silent.is_err(), "{silent:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_an_error() {
    let config = Config::new("http://sandbox".parse().unwrap());
    let silent = move || -> io::Result<DuplexStream> {
        let (near, far) = tokio::io::duplex(64 * 1024);
        tokio::spawn(async move {
            let _open = far;
            std::future::pending::<()>().await;
        });
        Ok(near)
    };
    let client = Client::builder(config)
        .connector(Arc::new(silent))
        .build()
        .unwrap();
    let start = Instant::now();
    let error = Api::<ConfigMap>::namespaced(&client, "default")
        .get("a")
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "get ConfigMap default/a: cannot connect to http://sandbox: no connection within 10 s: check the address, and the network between here and there"
    );
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_client_closes_its_connections() {
    let (closed, mut is_closed) = tokio::sync::mpsc::channel::<()>(1);
    let site = Site::new(|_| json(200, OBJECT));
    let connector = move || -> io::Result<DuplexStream> {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (site, closed) = (site.clone(), closed.clone());
        tokio::spawn(async move {
            site.serve(far).await;
            closed.send(()).await.ok();
        });
        Ok(near)
    };
    let config = Config::new("http://sandbox".parse().unwrap());
    let client = Client::builder(config)
        .connector(Arc::new(connector))
        .build()
        .unwrap();
    Api::<ConfigMap>::namespaced(&client, "default")
        .get("a")
        .await
        .unwrap();
    drop(client);
    is_closed.recv().await.unwrap();
}

/// A pipe to `site` that swallows log once `cut` is set.
fn cable(site: &Site, cut: &Arc<AtomicBool>) -> impl Fn() -> io::Result<DuplexStream> + use<> {
    let (site, cut) = (site.clone(), cut.clone());
    move || {
        let (near, middle) = tokio::io::duplex(64 * 1024);
        let (other, far) = tokio::io::duplex(64 * 1024);
        tokio::spawn(site.clone().serve(far));
        let (from_client, to_client) = tokio::io::split(middle);
        let (from_server, to_server) = tokio::io::split(other);
        tokio::spawn(forward(from_client, to_server, cut.clone()));
        tokio::spawn(forward(from_server, to_client, cut.clone()));
        Ok(near)
    }
}

async fn forward(
    mut from: ReadHalf<DuplexStream>,
    mut to: WriteHalf<DuplexStream>,
    cut: Arc<AtomicBool>,
) {
    let mut buffer = vec![0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if !cut.load(Ordering::SeqCst) && to.write_all(&buffer[..count]).await.is_err() {
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_dead_connection_is_noticed_within_a_minute_and_replaced() {
    let cut = Arc::new(AtomicBool::new(false));
    let site = Site::new(|seen| {
        if seen.uri.contains("watch=true") {
            endless(
                "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n",
            )
        } else {
            json(200, OBJECT)
        }
    });
    let config = Config::new("http://sandbox".parse().unwrap());
    let client = Client::builder(config).connector(Arc::new(cable(&site, &cut)));
    let maps = Api::<ConfigMap>::namespaced(&client.build().unwrap(), "default");
    let mut watch = maps.watch(&WatchParams::default()).await.unwrap();
    watch.next().await.unwrap().unwrap();
    maps.get("a").await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;

    cut.store(true, Ordering::SeqCst);
    let noticed = tokio::time::timeout(Duration::from_secs(60), watch.next()).await;
    let error = noticed.expect("nothing was noticed").unwrap().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Transport(_)), "{error}");

    cut.store(false, Ordering::SeqCst);
    maps.get("a").await.unwrap();
    maps.watch(&WatchParams::default()).await.unwrap();
}
