//! A relay between client and server that changes the HTTP/2 frames that pass.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream},
    sync::mpsc,
};

use super::server::Site;
use crate::client::Connector;

const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const ACK: u8 = 1;

/// A relay to a server. Each of its connections can be changed separately.
#[derive(Clone, Default)]
pub(super) struct Relay(Arc<Mutex<Vec<Passage>>>);

/// One connection through the relay.
#[derive(Clone)]
pub(super) struct Passage {
    /// Frames for the client. `None` ends the connection.
    to_client: mpsc::UnboundedSender<Option<Vec<u8>>>,
    /// No frame passes in either direction.
    dead: Arc<AtomicBool>,
    /// No frame passes, but pings are answered.
    swallows: Arc<AtomicBool>,
    /// Frames of later streams do not reach the server.
    last_stream: Arc<AtomicU32>,
    /// The highest stream that the client has begun.
    begun: Arc<AtomicU32>,
}

impl Relay {
    pub(super) fn to(&self, site: &Site) -> Arc<dyn Connector> {
        let (relay, site) = (self.clone(), site.clone());
        Arc::new(move || -> io::Result<DuplexStream> {
            let (near, client) = tokio::io::duplex(64 * 1024);
            let (server, far) = tokio::io::duplex(64 * 1024);
            tokio::spawn(site.clone().serve(far));
            let (sender, frames) = mpsc::unbounded_channel();
            let passage = Passage {
                to_client: sender,
                dead: Arc::default(),
                swallows: Arc::default(),
                last_stream: Arc::new(AtomicU32::new(u32::MAX)),
                begun: Arc::default(),
            };
            relay.0.lock().push(passage.clone());
            let (from_client, to_client) = tokio::io::split(client);
            let (from_server, to_server) = tokio::io::split(server);
            tokio::spawn(passage.clone().upwards(from_client, to_server));
            tokio::spawn(passage.downwards(from_server));
            tokio::spawn(write(frames, to_client));
            Ok(near)
        })
    }

    /// The connection with this number, counted from 0.
    pub(super) fn connection(&self, at: usize) -> Passage {
        self.0.lock()[at].clone()
    }
}

impl Passage {
    pub(super) fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
    }

    pub(super) fn swallow(&self) {
        self.swallows.store(true, Ordering::SeqCst);
    }

    /// Lets the server allow this many streams from now on.
    pub(super) fn allow(&self, streams: u32) {
        let mut frame = vec![0, 0, 6, SETTINGS, 0, 0, 0, 0, 0, 0, 3];
        frame.extend(streams.to_be_bytes());
        self.to_client.send(Some(frame)).unwrap();
    }

    /// Stops frames of streams after `last`.
    pub(super) fn stop_after(&self, last: u32) {
        self.last_stream.store(last, Ordering::SeqCst);
    }

    /// Lets the server send a GOAWAY that names `last` as the last processed stream.
    pub(super) fn say_goodbye(&self, last: u32) {
        let mut frame = vec![0, 0, 8, GOAWAY, 0, 0, 0, 0, 0];
        frame.extend(last.to_be_bytes());
        frame.extend([0; 4]);
        self.to_client.send(Some(frame)).unwrap();
    }

    pub(super) fn close(&self) {
        self.to_client.send(None).unwrap();
    }

    /// Waits until the client has begun this stream.
    pub(super) async fn begun(&self, stream: u32) {
        while self.begun.load(Ordering::SeqCst) < stream {
            tokio::task::yield_now().await;
        }
    }

    async fn upwards(
        self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        let mut preface = [0; 24];
        from.read_exact(&mut preface).await?;
        to.write_all(&preface).await?;
        let mut acks = 0;
        loop {
            let frame = read_frame(&mut from).await?;
            let (kind, flags) = (frame[3], frame[4]);
            let stream = u32::from_be_bytes([frame[5], frame[6], frame[7], frame[8]]);
            self.begun.fetch_max(stream, Ordering::SeqCst);
            if self.dead.load(Ordering::SeqCst) {
                continue;
            }
            if self.swallows.load(Ordering::SeqCst) {
                if kind == PING && flags & ACK == 0 {
                    let mut pong = frame;
                    pong[4] = ACK;
                    self.to_client.send(Some(pong)).ok();
                }
                continue;
            }
            // The server did not send the settings that the relay made up.
            let is_ack = kind == SETTINGS && flags & ACK != 0;
            acks += usize::from(is_ack);
            if (is_ack && acks > 1) || stream > self.last_stream.load(Ordering::SeqCst) {
                continue;
            }
            to.write_all(&frame).await?;
        }
    }

    async fn downwards(self, mut from: impl AsyncRead + Unpin) -> io::Result<()> {
        loop {
            let Ok(frame) = read_frame(&mut from).await else {
                self.to_client.send(None).ok();
                return Ok(());
            };
            let silent = self.dead.load(Ordering::SeqCst) || self.swallows.load(Ordering::SeqCst);
            if !silent {
                self.to_client.send(Some(frame)).ok();
            }
        }
    }
}

async fn read_frame(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 9];
    from.read_exact(&mut frame).await?;
    let length = u32::from_be_bytes([0, frame[0], frame[1], frame[2]]) as usize;
    frame.resize(9 + length, 0);
    from.read_exact(&mut frame[9..]).await?;
    Ok(frame)
}

async fn write(
    mut frames: mpsc::UnboundedReceiver<Option<Vec<u8>>>,
    mut to: impl AsyncWrite + Unpin,
) {
    while let Some(Some(frame)) = frames.recv().await {
        if to.write_all(&frame).await.is_err() {
            break;
        }
    }
    to.shutdown().await.ok();
}
