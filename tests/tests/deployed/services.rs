//! The addresses of Services, as kube-proxy serves them on a node: a connection to one goes to a pod that the Service selects.

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use pilothouse::{
    client::{Api, Client, ListParams},
    k8s::api::core::v1::Service,
};
use serde_json::Value;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::node::Seen;

/// The range of the addresses of Services: of the loopback network, so that this process can listen there.
pub(crate) const RANGE: &str = "127.64.0.0/16";
/// The time between two looks at the Services.
const PASS: Duration = Duration::from_millis(200);

/// Serves all Services that select pods.
pub(crate) async fn serve(client: Client, seen: Arc<Mutex<Seen>>) {
    let (mut known, mut listeners) = (BTreeSet::new(), JoinSet::new());
    let api = Api::<Service>::all(&client);
    loop {
        let services = api.list(&ListParams::default()).await.unwrap().items;
        for service in services {
            let service = serde_json::to_value(service).unwrap();
            let spec = &service["spec"];
            let address = spec["clusterIP"].as_str().unwrap_or_default();
            let (Ok(address), true) = (address.parse::<IpAddr>(), spec["selector"].is_object())
            else {
                continue;
            };
            for port in spec["ports"].as_array().into_iter().flatten() {
                let number = port["port"].as_u64().unwrap();
                let place = SocketAddr::new(address, number.try_into().unwrap());
                if known.insert(place) {
                    let listener = TcpListener::bind(place).await.unwrap();
                    let target = port["targetPort"].clone();
                    listeners.spawn(forward(listener, seen.clone(), service.clone(), target));
                }
            }
        }
        tokio::time::sleep(PASS).await;
    }
}

async fn forward(listener: TcpListener, seen: Arc<Mutex<Seen>>, service: Value, target: Value) {
    let mut connections = JoinSet::new();
    for turn in 0.. {
        let (stream, _) = listener.accept().await.unwrap();
        let backends = seen.lock().backends(&service, &target);
        // Without a pod the connection ends, as it is refused in a cluster.
        if !backends.is_empty() {
            connections.spawn(connect(stream, backends[turn % backends.len()]));
        }
    }
}

async fn connect(mut stream: TcpStream, backend: SocketAddr) -> io::Result<()> {
    let mut pod = TcpStream::connect(backend).await?;
    copy_bidirectional(&mut stream, &mut pod).await?;
    Ok(())
}
