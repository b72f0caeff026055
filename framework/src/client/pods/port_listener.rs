use std::{fmt, io, net::SocketAddr, time::Duration};

use k8s_openapi::api::core::v1::Pod;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinSet,
    time::timeout,
};
use tokio_util::task::AbortOnDropHandle;

use crate::client::Api;

/// How many connections are forwarded at the same time. Further ones wait to be accepted.
const MAX_CONNECTIONS: usize = 64;
/// How long the other side may be silent after the local side has closed its direction.
const HALF_CLOSE_TIMEOUT: Duration = Duration::from_secs(30);
/// A pause in which others may close files, if there are no more file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// A local port in front of a Pod's port.
///
/// It forwards at most 64 connections at the same time. If one fails, it is closed and logged as a warning. Dropping
/// the listener closes it and all connections.
pub struct PortListener {
    local: SocketAddr,
    _task: AbortOnDropHandle<()>,
}

impl PortListener {
    pub(super) async fn start(
        pods: Api<Pod>,
        local: SocketAddr,
        name: &str,
        port: u16,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(local).await?;
        let local = listener.local_addr()?;
        let task = tokio::spawn(accept(listener, pods, name.to_owned(), port));
        Ok(Self {
            local,
            _task: AbortOnDropHandle::new(task),
        })
    }

    /// The local address, with the chosen port.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }
}

async fn accept(listener: TcpListener, pods: Api<Pod>, name: String, port: u16) {
    let mut connections = JoinSet::new();
    loop {
        // Losing either branch is safe.
        let accepted = tokio::select! {
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => accepted,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((local, _)) => {
                let (pods, name) = (pods.clone(), name.clone());
                connections.spawn(async move {
                    if let Err(error) = forward(local, &pods, &name, port).await {
                        tracing::warn!("{error}");
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a local connection cannot be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn forward(
    local: TcpStream,
    pods: &Api<Pod>,
    name: &str,
    port: u16,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let _ = local.set_nodelay(true);
    let remote = pods.port_forward(name, port).await?;
    let (mut from_remote, mut to_remote) = tokio::io::split(remote);
    let (mut from_local, mut to_local) = local.into_split();
    let (done, mut all_said) = oneshot::channel();
    let up = async move {
        // An error here appears on the other direction, too, after the rest of its data.
        if tokio::io::copy(&mut from_local, &mut to_remote)
            .await
            .is_ok()
        {
            let _ = to_remote.flush().await;
        }
        let _ = done.send(());
        std::future::pending().await
    };
    let down = async move {
        let mut buffer = vec![0; 32 * 1024];
        let mut last = false;
        loop {
            let read = from_remote.read(&mut buffer);
            let length = if last {
                timeout(HALF_CLOSE_TIMEOUT, read).await.unwrap_or(Ok(0))?
            } else {
                tokio::select! {
                    length = read => length?,
                    // The read has taken nothing yet.
                    _ = &mut all_said => {
                        last = true;
                        continue;
                    }
                }
            };
            let piece = buffer.get(..length).unwrap_or_default();
            if piece.is_empty() {
                return Ok(to_local.shutdown().await?);
            }
            to_local.write_all(piece).await?;
        }
    };
    tokio::select! {
        ended = down => ended,
        () = up => Ok(()),
    }
}

impl fmt::Debug for PortListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PortListener({})", self.local)
    }
}
