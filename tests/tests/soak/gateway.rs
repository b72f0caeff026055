use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// The state of the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Network {
    /// The network forwards everything.
    Works,
    /// The network closes all connections, and each new connection at once.
    Refuses,
    /// The network forwards nothing on open and new connections, and closes none.
    Stalls,
}

/// The network between the operators and the API server: a TCP proxy on loopback.
pub(crate) struct Gateway {
    addr: SocketAddr,
    network: watch::Sender<Network>,
    task: JoinHandle<()>,
}

impl Gateway {
    pub(crate) async fn to(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let addr = listener.local_addr()?;
        let (network, state) = watch::channel(Network::Works);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server, state.clone()));
            }
        });
        Ok(Self {
            addr,
            network,
            task,
        })
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Sets the state of the network for a time, and then lets it work again.
    pub(crate) async fn behave(&self, network: Network, time: Duration) {
        self.network.send_replace(network);
        tokio::time::sleep(time).await;
        self.network.send_replace(Network::Works);
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Forwards one connection until either side or an outage ends it. A stalled connection is closed at the end of the
/// outage, because its peers have given it up by then or will do so at once.
async fn carry(mut client: TcpStream, server: SocketAddr, mut state: watch::Receiver<Network>) {
    let works = *state.borrow() == Network::Works;
    if works {
        let Ok(mut server) = TcpStream::connect(server).await else {
            return;
        };
        tokio::select! {
            _ = copy_bidirectional(&mut client, &mut server) => return,
            _ = state.wait_for(|state| *state != Network::Works) => {}
        }
        // Keep both ends open, so that neither side notices the outage.
        let _open = server;
        let _ = state.wait_for(|state| *state != Network::Stalls).await;
    } else {
        let _ = state.wait_for(|state| *state != Network::Stalls).await;
    }
}
