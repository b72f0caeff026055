//! A small API server in memory that misbehaves as a row of the table says. It shares no code with the sandbox, so that
//! the same wrong assumption cannot be in both.

pub(crate) mod act;
mod asked;
pub(crate) mod frames;
mod http1;
mod http2;
pub(crate) mod world;

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{
    future::BoxFuture,
    stream::{self, StreamExt},
};
use parking_lot::Mutex;
use pilothouse::client::{Client, Config, Connector, Io};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf},
    sync::watch,
    time::{Instant, sleep, timeout},
};

use act::{Act, bookmark, end_of_state, event};
pub(crate) use asked::Asked;
use frames::Tamper;
use world::World;

/// The server. Clones share it.
#[derive(Clone)]
pub(crate) struct Server(Arc<Inner>);

/// Returns the reaction to a request while the server is hostile, or `None` for the honest answer.
pub(crate) type Misbehave = Arc<dyn Fn(&Server, &Asked) -> Option<Act> + Send + Sync>;

/// How the server handles a connection while it is hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connects {
    /// It serves it.
    Serves,
    /// It refuses it.
    Refuses,
    /// It accepts it and closes it.
    Closes,
    /// It accepts it and sends nothing.
    Silent,
    /// It sends this at once and closes it.
    Sends(&'static str),
}

/// The protocol of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

struct Inner {
    protocol: Protocol,
    misbehave: Misbehave,
    tamper: Option<Tamper>,
    connects: Connects,
    /// The number of requests that it answers while it is hostile, so that a loop does not block the test.
    most: usize,
    state: Mutex<State>,
    changed: watch::Sender<()>,
    taken: AtomicU64,
}

#[derive(Default)]
struct State {
    world: World,
    hostile_since: Option<Instant>,
    /// How often all watches were ended at once.
    ended: usize,
    /// Whether the next watch gets an expired version.
    forgets: bool,
    asked: Vec<String>,
    connections: usize,
}

/// The latency of the connection. Without it the paused clock would not advance, and loops would stay hidden.
const LATENCY: Duration = Duration::from_millis(1);

impl Server {
    pub(crate) fn new(
        protocol: Protocol,
        misbehave: Misbehave,
        tamper: Option<Tamper>,
        connects: Connects,
        most: usize,
    ) -> Self {
        Self(Arc::new(Inner {
            protocol,
            misbehave,
            tamper,
            connects,
            most,
            state: Mutex::default(),
            changed: watch::Sender::new(()),
            taken: AtomicU64::new(0),
        }))
    }

    /// Returns a client of this server.
    pub(crate) fn client(&self) -> Client {
        let config = Config::new("http://hostile".parse().unwrap());
        let client = Client::builder(config).connector(Arc::new(Pipes(self.clone())));
        client.build().unwrap()
    }

    /// Changes the objects of the server.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        let outcome = change(&mut self.0.state.lock().world);
        self.0.changed.send_replace(());
        outcome
    }

    /// Reads the objects of the server.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&World) -> T) -> T {
        read(&self.0.state.lock().world)
    }

    /// Returns the version of the newest change as text.
    pub(crate) fn version(&self) -> String {
        self.read(World::version).to_string()
    }

    /// Makes the server misbehave. Open watches end, and the counts are reset.
    pub(crate) fn turn_hostile(&self) {
        let mut state = self.0.state.lock();
        state.hostile_since = Some(Instant::now());
        state.ended += 1;
        state.asked.clear();
        state.connections = 0;
        drop(state);
        self.0.taken.store(0, Ordering::Relaxed);
        self.0.changed.send_replace(());
    }

    /// Makes the server honest. If it `forgets`, the next watch gets an expired version.
    pub(crate) fn turn_honest(&self, forgets: bool) {
        let mut state = self.0.state.lock();
        state.hostile_since = None;
        state.forgets = forgets;
        state.ended += usize::from(forgets);
        drop(state);
        self.0.changed.send_replace(());
    }

    pub(crate) fn is_hostile(&self) -> bool {
        self.0.state.lock().hostile_since.is_some()
    }

    /// Returns how long it has been hostile.
    pub(crate) fn hostile_for(&self) -> Duration {
        self.0
            .state
            .lock()
            .hostile_since
            .map(|since| since.elapsed())
            .unwrap_or_default()
    }

    /// Returns the requests since it turned hostile.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.0.state.lock().asked.clone()
    }

    /// Returns the number of connections since it turned hostile.
    pub(crate) fn connections(&self) -> usize {
        self.0.state.lock().connections
    }

    /// Returns the number of bytes that the client read since the server turned hostile.
    pub(crate) fn taken(&self) -> u64 {
        self.0.taken.load(Ordering::Relaxed)
    }

    /// Returns the reaction to a request.
    async fn act(&self, mut asked: Asked) -> Act {
        sleep(LATENCY).await;
        let (is_hostile, forgets) = {
            let mut state = self.0.state.lock();
            let is_hostile = state.hostile_since.is_some();
            state
                .asked
                .push(format!("{} {} {:?}", asked.method, asked.path, asked.query));
            asked.number = state.asked.len();
            let forgets = asked.is_plain_watch() && std::mem::take(&mut state.forgets);
            (is_hostile, forgets)
        };
        if forgets {
            return Act::status(410, "Expired");
        }
        if is_hostile && asked.number > self.0.most {
            std::future::pending::<()>().await;
        }
        let act = is_hostile
            .then(|| (self.0.misbehave)(self, &asked))
            .flatten();
        match act {
            Some(Act::Silence) => std::future::pending().await,
            act => act.unwrap_or_else(|| self.honest(&asked)),
        }
    }

    /// Returns the honest answer.
    pub(crate) fn honest(&self, asked: &Asked) -> Act {
        if !asked.has_version() {
            return Act::status(400, "BadRequest");
        }
        if asked.is_watch() {
            return self.watch(asked);
        }
        let (plural, key) = (&*asked.plural, (asked.namespace(), asked.name()));
        let found = |object: Option<&Value>| match object {
            Some(object) => Act::json(200, object),
            None => self.not_found(asked),
        };
        match (&*asked.method, &asked.name) {
            ("GET", None) => {
                let namespace = asked.namespace.as_deref();
                Act::json(200, &self.read(|world| world.list_body(plural, namespace)))
            }
            ("GET", Some(_)) => self.read(|world| found(world.get(plural, key))),
            ("POST", _) => {
                let name = asked.body["metadata"]["name"].as_str().unwrap_or_default();
                let key = (key.0, name);
                if self.read(|world| world.get(plural, key).is_some()) {
                    return Act::status(409, "AlreadyExists");
                }
                let created = self.change(|world| world.put(plural, key, asked.body.clone()));
                Act::json(201, &created)
            }
            ("PUT", _) => {
                let before = self.read(|world| world.get(plural, key).cloned());
                let Some(before) = before else {
                    return self.not_found(asked);
                };
                let version = &asked.body["metadata"]["resourceVersion"];
                if !version.is_null() && *version != before["metadata"]["resourceVersion"] {
                    return Act::status(409, "Conflict");
                }
                Act::json(
                    200,
                    &self.change(|world| world.put(plural, key, asked.body.clone())),
                )
            }
            ("PATCH", _) => {
                let before = self.read(|world| world.get(plural, key).cloned());
                let code = if before.is_some() { 200 } else { 201 };
                let mut object = before.unwrap_or_else(|| json!({"metadata": {}}));
                merge(&mut object, &asked.body);
                Act::json(code, &self.change(|world| world.put(plural, key, object)))
            }
            ("DELETE", _) => found(self.change(|world| world.delete(plural, key)).as_ref()),
            _ => Act::status(405, "MethodNotAllowed"),
        }
    }

    fn not_found(&self, asked: &Asked) -> Act {
        let mut told = act::status(404, "NotFound");
        told["details"] = json!({"name": asked.name(), "kind": asked.plural});
        Act::json(404, &told)
    }

    fn watch(&self, asked: &Asked) -> Act {
        let (plural, namespace) = (asked.plural.clone(), asked.namespace.clone());
        let mut first = Vec::new();
        let mut version = asked.version();
        if asked.is_streamed_list() {
            let objects = self.read(|world| world.list(&plural, namespace.as_deref()));
            first.extend(objects.iter().map(|object| event("ADDED", object)));
            first.push(end_of_state(&self.version()));
            version = self.read(World::version);
        }
        let changes = self.0.changed.subscribe();
        let end = Instant::now() + Duration::from_secs(asked.seconds());
        let ended = self.0.state.lock().ended;
        let following = (self.clone(), changes, version);
        let rest = stream::unfold(following, move |(server, mut changes, version)| {
            let (plural, namespace) = (plural.clone(), namespace.clone());
            async move {
                loop {
                    changes.borrow_and_update();
                    let newer =
                        server.read(|world| world.since(&plural, namespace.as_deref(), version));
                    if let Some(change) = newer.first() {
                        let step = event(change.kind, &change.object);
                        let version = change.version;
                        return Some((step, (server, changes, version)));
                    }
                    if server.0.state.lock().ended != ended || Instant::now() >= end {
                        return None;
                    }
                    let minute = Duration::from_secs(60).min(end - Instant::now());
                    if timeout(minute, changes.changed()).await.is_err() {
                        let newest = server.read(World::version);
                        let step = bookmark(&newest.to_string());
                        return Some((step, (server, changes, newest)));
                    }
                }
            }
        });
        Act::steps(stream::iter(first).chain(rest).boxed())
    }
}

fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *object = patch.clone();
        return;
    };
    for (name, value) in fields {
        match name.as_str() {
            _ if !object.is_object() => *object = json!({name: value}),
            "resourceVersion" | "uid" => {}
            _ => merge(&mut object[name], value),
        }
    }
}

/// The connector to the server.
struct Pipes(Server);

impl Connector for Pipes {
    fn connect(&self) -> BoxFuture<'_, io::Result<Box<dyn Io>>> {
        Box::pin(async { self.open().map(|io| Box::new(io) as Box<dyn Io>) })
    }

    fn speaks_http2(&self) -> bool {
        self.0.0.protocol == Protocol::Http2
    }
}

impl Pipes {
    fn open(&self) -> io::Result<Counted> {
        let server = &self.0;
        server.0.state.lock().connections += 1;
        let (near, mut far) = tokio::io::duplex(64 * 1024);
        let connects = match server.is_hostile() {
            true => server.0.connects,
            false => Connects::Serves,
        };
        match (connects, server.0.protocol, server.0.tamper) {
            (Connects::Refuses, ..) => return Err(io::ErrorKind::ConnectionRefused.into()),
            (Connects::Closes, ..) => drop(far),
            (Connects::Silent, ..) => {
                tokio::spawn(async move {
                    let _far = far;
                    std::future::pending::<()>().await;
                });
            }
            (Connects::Sends(text), ..) => {
                tokio::spawn(async move {
                    tokio::io::AsyncWriteExt::write_all(&mut far, text.as_bytes()).await
                });
            }
            (Connects::Serves, Protocol::Http1, _) => {
                tokio::spawn(http1::serve(server.clone(), far));
            }
            (Connects::Serves, Protocol::Http2, None) => {
                tokio::spawn(http2::serve(server.clone(), far));
            }
            (Connects::Serves, Protocol::Http2, Some(tamper)) => {
                let (honest, end) = tokio::io::duplex(64 * 1024);
                tokio::spawn(http2::serve(server.clone(), end));
                tokio::spawn(frames::between(server.clone(), tamper, far, honest));
            }
        }
        Ok(Counted {
            io: near,
            server: server.clone(),
        })
    }
}

/// The client's end of a pipe, which counts the bytes that the client reads.
struct Counted {
    io: DuplexStream,
    server: Server,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.io).poll_read(cx, buffer);
        let taken = (buffer.filled().len() - before) as u64;
        self.server.0.taken.fetch_add(taken, Ordering::Relaxed);
        outcome
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
