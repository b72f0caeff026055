use std::{net::SocketAddr, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// How often the readiness of the replicas is looked at.
const CHECK_PERIOD: Duration = Duration::from_millis(100);

/// Forwards TCP connections to replicas in turn, as a Service does: to those that were ready at the last look. Connections that are
/// open stay where they are.
pub(super) struct Forwarder {
    pub(super) port: u16,
    replicas: Arc<Mutex<Vec<Backend>>>,
    _tasks: JoinSet<()>,
}

#[derive(Clone, Copy)]
struct Backend {
    webhooks: SocketAddr,
    health: SocketAddr,
    is_ready: bool,
}

impl Forwarder {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let replicas = Arc::<Mutex<Vec<Backend>>>::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(look(replicas.clone()));
        let chosen = replicas.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            for turn in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(forward(stream, chosen.clone(), turn));
            }
        });
        Self {
            port,
            replicas,
            _tasks: tasks,
        }
    }

    /// Adds a replica.
    pub(super) fn add(&self, webhooks: SocketAddr, health: SocketAddr) {
        self.replicas.lock().push(Backend {
            webhooks,
            health,
            is_ready: false,
        });
    }

    /// How many replicas were ready at the last look.
    pub(super) fn ready(&self) -> usize {
        let replicas = self.replicas.lock();
        replicas.iter().filter(|one| one.is_ready).count()
    }
}

async fn look(replicas: Arc<Mutex<Vec<Backend>>>) {
    loop {
        let all = replicas.lock().clone();
        for (number, backend) in all.into_iter().enumerate() {
            let is_ready = is_ready(backend.health).await;
            replicas.lock()[number].is_ready = is_ready;
        }
        tokio::time::sleep(CHECK_PERIOD).await;
    }
}

async fn is_ready(health: SocketAddr) -> bool {
    let asked = async {
        let mut stream = TcpStream::connect(health).await?;
        let request = b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stream.write_all(request).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        std::io::Result::Ok(answer.starts_with("HTTP/1.1 200"))
    };
    asked.await.unwrap_or(false)
}

async fn forward(mut stream: TcpStream, replicas: Arc<Mutex<Vec<Backend>>>, turn: usize) {
    let ready: Vec<_> = {
        let replicas = replicas.lock();
        let ready = replicas.iter().filter(|one| one.is_ready);
        ready.map(|one| one.webhooks).collect()
    };
    for number in 0..ready.len() {
        // A replica that has ended since the last look refuses the connection.
        let chosen = ready[(turn + number) % ready.len()];
        if let Ok(mut replica) = TcpStream::connect(chosen).await {
            let _ = stream.set_nodelay(true);
            let _ = replica.set_nodelay(true);
            // An error ends both connections, as it does without a forwarder.
            let _ = copy_bidirectional(&mut stream, &mut replica).await;
            return;
        }
    }
}
