//! A client, for tests.

use tokio::io::{AsyncWriteExt, DuplexStream};

use super::frame::{self, Frame};
use super::headers;

/// A client of a connection in memory.
pub(in super::super) struct Client {
    io: DuplexStream,
    next: u32,
}

impl Client {
    pub(in super::super) fn new(io: DuplexStream) -> Self {
        Self { io, next: 1 }
    }

    /// Opens a stream. Returns its number.
    pub(in super::super) async fn open(&mut self, headers: &[(&str, &str)]) -> u32 {
        let stream = self.next;
        self.next += 2;
        let headers = headers::write(stream == 1, headers);
        self.send(&frame::open(stream, &headers)).await;
        stream
    }

    pub(in super::super) async fn write(&mut self, stream: u32, data: &[u8]) {
        self.send(&frame::data(stream, data)).await;
    }

    /// Reads the answer to a stream that was opened: whether the server accepts it.
    pub(in super::super) async fn is_accepted(&mut self, stream: u32) -> bool {
        let frame = frame::read(&mut self.io).await.unwrap().expect("a frame");
        assert!(
            matches!(frame, Frame::Other | Frame::Reset { .. }),
            "{frame:?}"
        );
        frame != Frame::Reset { stream }
    }

    /// Reads what comes until these streams have ended. Returns their bytes.
    pub(in super::super) async fn read_to_end<const N: usize>(
        &mut self,
        streams: [u32; N],
    ) -> [String; N] {
        let mut heard = [const { String::new() }; N];
        let mut open = N;
        while open > 0 {
            let frame = frame::read(&mut self.io).await.unwrap();
            if let Frame::Data {
                stream,
                is_last,
                data,
            } = frame.expect("a frame")
            {
                let place = streams.iter().position(|one| *one == stream).unwrap();
                heard[place] += std::str::from_utf8(&data).unwrap();
                open -= usize::from(is_last);
            }
        }
        heard
    }

    pub(in super::super) async fn ping(&mut self, id: u32) -> bool {
        self.send(&frame::ping(id)).await;
        frame::read(&mut self.io).await.unwrap() == Some(Frame::Ping { id })
    }

    async fn send(&mut self, frame: &[u8]) {
        self.io.write_all(frame).await.unwrap();
    }
}
