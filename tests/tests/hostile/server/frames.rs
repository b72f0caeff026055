//! Manipulates HTTP/2 frames on their way from an honest server to the client.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream},
    time::sleep,
};

use super::Server;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// A frame.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// What the client gets instead of a frame.
pub(crate) enum Wire {
    /// One frame.
    Frame(Frame),
    /// The same frame repeatedly at this interval, for as long as the server is hostile.
    Flood(Frame, Duration),
    /// Nothing for this time.
    Pause(Duration),
    /// Nothing more.
    Stall,
    /// The connection is closed.
    Close,
}

/// Replaces a frame. Called for each frame of the honest server while the server is hostile. The number counts the frames of
/// this kind on this connection, from 1.
pub(crate) type Tamper = fn(usize, Frame) -> Vec<Wire>;

impl Frame {
    pub(crate) fn new(kind: u8, flags: u8, stream: u32, payload: impl Into<Vec<u8>>) -> Self {
        Self {
            kind,
            flags,
            stream,
            payload: payload.into(),
        }
    }

    pub(crate) fn goaway(last: u32, reason: u32) -> Self {
        Self::new(
            GOAWAY,
            0,
            0,
            [last.to_be_bytes(), reason.to_be_bytes()].concat(),
        )
    }

    pub(crate) fn settings(pairs: &[(u16, u32)]) -> Self {
        let pairs = pairs.iter();
        let bytes = pairs
            .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()[..]].concat());
        Self::new(SETTINGS, 0, 0, bytes.collect::<Vec<u8>>())
    }

    /// Whether it contains the server's own settings and is not an acknowledgement of the client's.
    pub(crate) fn is_settings(&self) -> bool {
        self.kind == SETTINGS && self.flags & ACK == 0
    }

    async fn read(io: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let mut head = [0; 9];
        io.read_exact(&mut head).await?;
        let [a, b, c, kind, flags, d, e, f, g] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        io.read_exact(&mut payload).await?;
        Ok(Self {
            kind,
            flags,
            stream: u32::from_be_bytes([d & 0x7f, e, f, g]),
            payload,
        })
    }

    async fn write(&self, io: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let length = (self.payload.len() as u32).to_be_bytes();
        let mut bytes = vec![length[1], length[2], length[3], self.kind, self.flags];
        bytes.extend_from_slice(&self.stream.to_be_bytes());
        bytes.extend_from_slice(&self.payload);
        io.write_all(&bytes).await?;
        io.flush().await
    }
}

/// Forwards all bytes between a client and an honest server until one of them closes.
pub(crate) async fn between(
    server: Server,
    tamper: Tamper,
    client: impl AsyncRead + AsyncWrite + Send + 'static,
    honest: DuplexStream,
) {
    let (from_client, to_client) = tokio::io::split(client);
    let (from_server, to_server) = tokio::io::split(honest);
    tokio::select! {
        _ = up(from_client, to_server) => {}
        _ = down(server, tamper, from_server, to_client) => {}
    }
}

/// Forwards frames to the honest server, except answers to frames that it did not send.
async fn up(
    mut client: impl AsyncRead + Unpin,
    mut server: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut preface = [0; 24];
    client.read_exact(&mut preface).await?;
    server.write_all(&preface).await?;
    let mut settled = false;
    loop {
        let frame = Frame::read(&mut client).await?;
        let is_strange = match frame.kind {
            SETTINGS if frame.flags & ACK != 0 => std::mem::replace(&mut settled, true),
            PING => frame.flags & ACK != 0,
            RST_STREAM | WINDOW_UPDATE => frame.stream != 0 && frame.stream % 2 == 0,
            _ => false,
        };
        if !is_strange {
            frame.write(&mut server).await?;
        }
    }
}

async fn down(
    hostile: Server,
    tamper: Tamper,
    mut server: impl AsyncRead + Unpin,
    mut client: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut seen = [0; 256];
    loop {
        let frame = Frame::read(&mut server).await?;
        let number = &mut seen[usize::from(frame.kind)];
        *number += 1;
        if !hostile.is_hostile() {
            frame.write(&mut client).await?;
            continue;
        }
        for wire in tamper(*number, frame) {
            match wire {
                Wire::Frame(frame) => frame.write(&mut client).await?,
                Wire::Flood(frame, every) => {
                    while hostile.is_hostile() {
                        frame.write(&mut client).await?;
                        sleep(every).await;
                    }
                }
                Wire::Pause(time) => sleep(time).await,
                Wire::Stall => std::future::pending().await,
                Wire::Close => return Ok(()),
            }
        }
    }
}
