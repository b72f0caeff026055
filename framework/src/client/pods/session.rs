use std::{io, sync::Arc, time::Duration};

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_util::task::AbortOnDropHandle;

use super::{ProcessInput, ProcessOutput, input::Piece, websocket::Socket};
use crate::client::stack::SentSecrets;

/// How often the client sends a ping.
const PING: Duration = Duration::from_secs(20);
/// After this much silence the connection counts as dead (R7). A process that reads none of its input for this time,
/// while more comes than the buffers on the way can hold, looks the same.
const SILENCE: Duration = Duration::from_secs(55);
/// How many messages may wait for a reader.
const MAX_UNREAD: usize = 4;
/// The length limit of the message on the error channel.
const MAX_STATUS: usize = 1024 * 1024;
/// In `v5.channel.k8s.io`, this byte says that the channel in the next byte ends.
const CLOSE: u8 = 255;

/// What the channels of a WebSocket are for.
pub(super) struct Plan {
    /// The channels from the server, without the error channel.
    pub(super) outputs: &'static [u8],
    /// The channel on which the server reports the end.
    pub(super) error: u8,
    /// How many bytes at the beginning of each channel to skip.
    pub(super) skip: usize,
    /// Whether the protocol can end the input, which is channel 0.
    pub(super) can_end_input: bool,
}

/// How the session ended.
#[derive(Clone, Debug)]
enum End {
    /// The connection was closed in order. These are the bytes of the error channel.
    Closed(Bytes),
    Broke(Arc<tungstenite::Error>),
    Silent,
}

/// The task behind the streams of one WebSocket. It ends when the last of them is dropped.
pub(super) struct Session {
    end: watch::Receiver<Option<End>>,
    /// What the message of the error channel must not repeat.
    secrets: SentSecrets,
    _task: AbortOnDropHandle<()>,
}

/// The user's ends of a session.
pub(super) struct SessionEnds {
    pub(super) session: Arc<Session>,
    pub(super) input: ProcessInput,
    /// The outputs, in the order of the plan.
    pub(super) outputs: Vec<ProcessOutput>,
    /// Messages that are sent unchanged.
    pub(super) control: mpsc::Sender<Bytes>,
}

impl Session {
    /// Must be called within a tokio runtime.
    pub(super) fn start(socket: Socket, plan: Plan) -> SessionEnds {
        let (told, end) = watch::channel(None);
        let secrets = socket.get_ref().secrets();
        let (pieces, input) = mpsc::unbounded_channel();
        let (control, controls) = mpsc::channel(1);
        let (senders, receivers): (Vec<_>, Vec<_>) = plan
            .outputs
            .iter()
            .map(|_| mpsc::channel(MAX_UNREAD))
            .unzip();
        let can_end_input = plan.can_end_input;
        let task = tokio::spawn(async move {
            let mut incoming = Incoming::new(plan, senders);
            let end = run(socket, &mut incoming, input, controls).await;
            // Readers see the end after they have read all data.
            told.send_replace(Some(end));
            drop(incoming);
        });
        let session = Arc::new(Self {
            end,
            secrets,
            _task: AbortOnDropHandle::new(task),
        });
        SessionEnds {
            input: ProcessInput::new(can_end_input, pieces, session.clone()),
            outputs: receivers
                .into_iter()
                .map(|pieces| ProcessOutput::new(pieces, session.clone()))
                .collect(),
            session,
            control,
        }
    }

    /// Waits for the end. Returns the bytes of the error channel.
    pub(super) async fn ended(&self) -> io::Result<Bytes> {
        let mut end = self.end.clone();
        let end = end.wait_for(Option::is_some).await;
        match end.as_deref() {
            Ok(Some(End::Closed(said))) => Ok(self.without_secrets(said)),
            Ok(Some(end)) => Err(end.error()),
            // The task has panicked.
            Ok(None) | Err(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// The error that ended the session, if one did.
    pub(super) fn how_it_broke(&self) -> Option<io::Error> {
        match &*self.end.borrow() {
            Some(End::Closed(_)) => None,
            Some(end) => Some(end.error()),
            None => Some(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// The bytes of the error channel, after the end.
    pub(super) fn said(&self) -> Bytes {
        match &*self.end.borrow() {
            Some(End::Closed(said)) => self.without_secrets(said),
            _ => Bytes::new(),
        }
    }

    fn without_secrets(&self, said: &Bytes) -> Bytes {
        match self.secrets.is_empty() {
            true => said.clone(),
            false => {
                let text = String::from_utf8_lossy(said);
                self.secrets.redacted(text).into()
            }
        }
    }
}

impl End {
    fn error(&self) -> io::Error {
        match self {
            Self::Closed(_) => io::ErrorKind::UnexpectedEof.into(),
            Self::Broke(error) => match &**error {
                tungstenite::Error::Io(error) => io::Error::new(error.kind(), error.to_string()),
                error => io::Error::other(error.to_string()),
            },
            Self::Silent => io::Error::new(
                io::ErrorKind::TimedOut,
                format!(
                    "nothing was heard of the other side for {} s",
                    SILENCE.as_secs()
                ),
            ),
        }
    }
}

async fn run(
    socket: Socket,
    incoming: &mut Incoming,
    input: mpsc::UnboundedReceiver<Piece>,
    controls: mpsc::Receiver<Bytes>,
) -> End {
    let (sink, stream) = socket.split();
    let can_end_input = incoming.plan.can_end_input;
    let read = incoming.read(stream);
    tokio::pin!(read);
    tokio::select! {
        end = &mut read => return end,
        // The other side may have sent something before it went away.
        _ = write(sink, input, controls, can_end_input) => {}
    }
    read.await
}

/// Sends messages until the connection accepts no more.
async fn write(
    mut sink: SplitSink<Socket, Message>,
    mut input: mpsc::UnboundedReceiver<Piece>,
    mut controls: mpsc::Receiver<Bytes>,
    can_end_input: bool,
) -> tungstenite::Error {
    // The first ping must not come at once: a server that has already ended would break the connection because of it.
    let mut pings = interval_at(Instant::now() + PING, PING);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut input_ended = false;
    let mut controls_ended = false;
    loop {
        // Losing a branch loses nothing, because receivers and intervals keep their items.
        let sent = tokio::select! {
            piece = input.recv(), if !input_ended => match piece {
                Some((piece, _permit)) => {
                    let mut message = BytesMut::with_capacity(1 + piece.len());
                    message.put_u8(0);
                    message.put(piece);
                    sink.send(Message::Binary(message.freeze())).await
                }
                None => {
                    input_ended = true;
                    if !can_end_input {
                        continue;
                    }
                    sink.send(Message::Binary(Bytes::from_static(&[CLOSE, 0]))).await
                }
            },
            control = controls.recv(), if !controls_ended => match control {
                Some(control) => sink.send(Message::Binary(control)).await,
                None => {
                    controls_ended = true;
                    continue;
                }
            },
            _ = pings.tick() => sink.send(Message::Ping(Bytes::new())).await,
        };
        if let Err(error) = sent {
            return error;
        }
    }
}

/// Reads messages from the server and passes them on.
struct Incoming {
    plan: Plan,
    outputs: Vec<Option<mpsc::Sender<Bytes>>>,
    /// How many bytes of each output to skip still. The error channel comes last.
    skip: Vec<usize>,
    said: BytesMut,
}

impl Incoming {
    fn new(plan: Plan, outputs: Vec<mpsc::Sender<Bytes>>) -> Self {
        Self {
            skip: vec![plan.skip; outputs.len() + 1],
            outputs: outputs.into_iter().map(Some).collect(),
            said: BytesMut::new(),
            plan,
        }
    }

    async fn read(&mut self, mut stream: SplitStream<Socket>) -> End {
        loop {
            // Only silence while this reads counts. While a reader is slow, this does not read.
            let message = match timeout(SILENCE, stream.next()).await {
                Ok(Some(Ok(message))) => message,
                Ok(None) => return self.closed(),
                Ok(Some(Err(_))) if !self.said.is_empty() => return self.closed(),
                Ok(Some(Err(error))) => return End::Broke(Arc::new(error)),
                Err(_) => return End::Silent,
            };
            match message {
                Message::Binary(bytes) => self.take(bytes).await,
                Message::Text(text) => self.take(text.into()).await,
                Message::Close(_) => return self.closed(),
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }

    fn closed(&mut self) -> End {
        End::Closed(self.said.split().freeze())
    }

    async fn take(&mut self, mut message: Bytes) {
        if message.is_empty() {
            return;
        }
        let channel = message.split_to(1);
        let channel = channel.first().copied().unwrap_or_default();
        if channel == CLOSE {
            // Without the message of the error channel, a closed output says no more than the end does.
            return;
        }
        let output = self
            .plan
            .outputs
            .iter()
            .position(|output| *output == channel);
        let place = match output {
            Some(place) => place,
            None if channel == self.plan.error => self.outputs.len(),
            None => return,
        };
        if let Some(skip) = self.skip.get_mut(place) {
            let skipped = message.split_to((*skip).min(message.len()));
            *skip -= skipped.len();
        }
        // The first message of a channel is empty. It says that the channel is open.
        if message.is_empty() {
            return;
        }
        match self.outputs.get_mut(place) {
            Some(output) => {
                let Some(sender) = output else { return };
                if sender.send(message).await.is_err() {
                    // The reader is gone. Further data is discarded.
                    *output = None;
                }
            }
            None => {
                let room = MAX_STATUS.saturating_sub(self.said.len());
                self.said
                    .extend_from_slice(message.get(..room).unwrap_or(&message));
            }
        }
    }
}
