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

/// How often the other side is asked whether it lives.
const PING: Duration = Duration::from_secs(20);
/// After how long without a word it is dead (design promise R7). A process that takes none of its
/// input for so long, while more comes than the buffers on the way hold, cannot be told from that.
const SILENCE: Duration = Duration::from_secs(55);
/// How many messages may lie between the connection and a reader.
const UNREAD: usize = 4;
/// No word about the end is longer.
const LONGEST_END: usize = 1024 * 1024;
/// Of `v5.channel.k8s.io`: the channel in the next byte ends.
const CLOSE: u8 = 255;

/// What the channels of a WebSocket are.
pub(super) struct Plan {
    /// Channels that come from the server, beside the error channel.
    pub(super) outputs: &'static [u8],
    /// The channel on which the server says how it ended.
    pub(super) error: u8,
    /// How many bytes at the beginning of each channel say nothing new.
    pub(super) skip: usize,
    /// Whether the end of the input, which is channel 0, can be told.
    pub(super) can_end_input: bool,
}

/// What came of it.
#[derive(Clone, Debug)]
enum End {
    /// The connection was closed in order; this stood on the error channel.
    Closed(Bytes),
    Broke(Arc<tungstenite::Error>),
    Silent,
}

/// The task behind the streams of one WebSocket. It ends with the last of them.
pub(super) struct Session {
    end: watch::Receiver<Option<End>>,
    _task: AbortOnDropHandle<()>,
}

/// The ends of a session that belong to its user.
pub(super) struct Wires {
    pub(super) session: Arc<Session>,
    pub(super) input: ProcessInput,
    /// As many, in the same order, as the plan has outputs.
    pub(super) outputs: Vec<ProcessOutput>,
    /// Messages to send as they are.
    pub(super) control: mpsc::Sender<Bytes>,
}

impl Session {
    /// Must be called within a tokio runtime.
    pub(super) fn start(socket: Socket, plan: Plan) -> Wires {
        let (told, end) = watch::channel(None);
        let (pieces, input) = mpsc::unbounded_channel();
        let (control, controls) = mpsc::channel(1);
        let (senders, receivers): (Vec<_>, Vec<_>) =
            plan.outputs.iter().map(|_| mpsc::channel(UNREAD)).unzip();
        let can_end_input = plan.can_end_input;
        let task = tokio::spawn(async move {
            let mut incoming = Incoming::new(plan, senders);
            let end = run(socket, &mut incoming, input, controls).await;
            // Readers find out how it ended when they come to the end.
            told.send_replace(Some(end));
            drop(incoming);
        });
        let session = Arc::new(Self {
            end,
            _task: AbortOnDropHandle::new(task),
        });
        Wires {
            input: ProcessInput::new(can_end_input, pieces, session.clone()),
            outputs: receivers
                .into_iter()
                .map(|pieces| ProcessOutput::new(pieces, session.clone()))
                .collect(),
            session,
            control,
        }
    }

    /// What stood on the error channel when everything is over.
    pub(super) async fn ended(&self) -> io::Result<Bytes> {
        let mut end = self.end.clone();
        let end = end.wait_for(Option::is_some).await;
        match end.as_deref() {
            Ok(Some(End::Closed(said))) => Ok(said.clone()),
            Ok(Some(end)) => Err(end.error()),
            // The task has panicked.
            Ok(None) | Err(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// The error that ended it, if one did.
    pub(super) fn how_it_broke(&self) -> Option<io::Error> {
        match &*self.end.borrow() {
            Some(End::Closed(_)) => None,
            Some(end) => Some(end.error()),
            None => Some(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// What stood on the error channel, once it is over.
    pub(super) fn said(&self) -> Bytes {
        match &*self.end.borrow() {
            Some(End::Closed(said)) => said.clone(),
            _ => Bytes::new(),
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
        // Whoever is gone may have said something before.
        _ = write(sink, input, controls, can_end_input) => {}
    }
    read.await
}

/// Sends what is to be sent until the connection takes nothing more.
async fn write(
    mut sink: SplitSink<Socket, Message>,
    mut input: mpsc::UnboundedReceiver<Piece>,
    mut controls: mpsc::Receiver<Bytes>,
    can_end_input: bool,
) -> tungstenite::Error {
    // Not at once: a server that is done already would break off over what it did not expect.
    let mut pings = interval_at(Instant::now() + PING, PING);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut input_ended = false;
    let mut controls_ended = false;
    loop {
        // Nothing is lost in a branch that is not taken: receivers and intervals keep it.
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

/// What comes from the server, and where it goes.
struct Incoming {
    plan: Plan,
    outputs: Vec<Option<mpsc::Sender<Bytes>>>,
    /// How much of each output's beginning is still to be skipped; the error channel's comes last.
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
            // Only while we listen silence counts; while a reader lets us wait it is our own.
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
            // Without the error channel's word a closed output says nothing that the end will not.
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
        // The first message on a channel is empty: it says that the stream is there.
        if message.is_empty() {
            return;
        }
        match self.outputs.get_mut(place) {
            Some(output) => {
                let Some(sender) = output else { return };
                if sender.send(message).await.is_err() {
                    // Nobody will read it any more; what still comes is thrown away.
                    *output = None;
                }
            }
            None => {
                let room = LONGEST_END.saturating_sub(self.said.len());
                self.said
                    .extend_from_slice(message.get(..room).unwrap_or(&message));
            }
        }
    }
}
