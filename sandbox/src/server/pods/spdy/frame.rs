use std::io;

use bytes::{BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// A frame of a peer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Opens a stream. `headers` are compressed.
    Open {
        stream: u32,
        is_last: bool,
        headers: Bytes,
    },
    Data {
        stream: u32,
        is_last: bool,
        data: Bytes,
    },
    Reset {
        stream: u32,
    },
    Ping {
        id: u32,
    },
    /// The peer opens no more streams.
    GoAway,
    /// Changes nothing here: settings, windows, further headers.
    Other,
}

/// The longest frame of a peer, in bytes. kubectl writes at most 32 KiB at once.
const LONGEST: usize = 1 << 20;

const CONTROL: u8 = 0x80;
const VERSION: u8 = 3;
/// The flag of the last frame of a stream in this direction.
const LAST: u8 = 1;

const OPEN: u16 = 1;
const REPLY: u16 = 2;
const RESET: u16 = 3;
const PING: u16 = 6;
const GO_AWAY: u16 = 7;

/// The reason of a [`reset`] for a stream beyond the number of streams.
pub(super) const REFUSED: u32 = 3;

/// Reads the next frame. Returns `None` at the end of the connection.
///
/// # Errors
/// `InvalidData` for what is no frame of SPDY/3, or for one that is too long; the errors of the connection.
pub(super) async fn read(reader: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Frame>> {
    let mut head = [0; 8];
    if let Err(error) = reader.read_exact(&mut head).await {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => Ok(None),
            _ => Err(error),
        };
    }
    let [.., flags, high, middle, low] = head;
    let length = u32::from_be_bytes([0, high, middle, low]) as usize;
    if length > LONGEST {
        return Err(invalid("a frame is too long"));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await?;
    decode(head, flags, body.into()).map(Some)
}

fn decode(head: [u8; 8], flags: u8, body: Bytes) -> io::Result<Frame> {
    let [first, second, third, fourth, ..] = head;
    let is_last = flags & LAST != 0;
    if first & CONTROL == 0 {
        return Ok(Frame::Data {
            stream: u32::from_be_bytes([first, second, third, fourth]),
            is_last,
            data: body,
        });
    }
    if (first, second) != (CONTROL, VERSION) {
        return Err(invalid("a frame is not of SPDY/3"));
    }
    let number = |body: &[u8]| {
        let bytes = body.first_chunk::<4>();
        let number = bytes.map(|bytes| u32::from_be_bytes(*bytes) & 0x7fff_ffff);
        number.ok_or_else(|| invalid("a frame is too short"))
    };
    Ok(match u16::from_be_bytes([third, fourth]) {
        // Stream, the stream that it belongs to, priority, slot.
        OPEN if body.len() >= 10 => Frame::Open {
            stream: number(&body)?,
            is_last,
            headers: body.slice(10..),
        },
        OPEN => return Err(invalid("a frame is too short")),
        RESET => Frame::Reset {
            stream: number(&body)?,
        },
        PING => {
            let id = body.first_chunk::<4>();
            let id = id.ok_or_else(|| invalid("a frame is too short"))?;
            Frame::Ping {
                id: u32::from_be_bytes(*id),
            }
        }
        GO_AWAY => Frame::GoAway,
        _ => Frame::Other,
    })
}

pub(super) fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn control(kind: u16, parts: &[&[u8]]) -> Bytes {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut frame = BytesMut::with_capacity(8 + length);
    frame.put_u8(CONTROL);
    frame.put_u8(VERSION);
    frame.put_u16(kind);
    // The frames of the server are short.
    frame.put_u32(u32::try_from(length).unwrap_or_default());
    parts.iter().for_each(|part| frame.put_slice(part));
    frame.freeze()
}

/// Opens a stream, as a client does.
#[cfg(test)]
pub(super) fn open(stream: u32, headers: &[u8]) -> Bytes {
    control(OPEN, &[&stream.to_be_bytes(), &[0; 6], headers])
}

/// Accepts a stream. `headers` are compressed.
pub(super) fn reply(stream: u32, headers: &[u8]) -> Bytes {
    control(REPLY, &[&stream.to_be_bytes(), headers])
}

/// Ends a stream in both directions.
pub(super) fn reset(stream: u32, why: u32) -> Bytes {
    control(RESET, &[&stream.to_be_bytes(), &why.to_be_bytes()])
}

/// Answers a ping.
pub(super) fn ping(id: u32) -> Bytes {
    control(PING, &[&id.to_be_bytes()])
}

/// Bytes of a stream. No bytes end it in this direction.
pub(super) fn data(stream: u32, data: &[u8]) -> Bytes {
    let flags = if data.is_empty() { LAST } else { 0 };
    let length = u32::try_from(data.len()).unwrap_or_default();
    let mut frame = BytesMut::with_capacity(8 + data.len());
    frame.put_u32(stream);
    frame.put_u32(u32::from(flags) << 24 | length);
    frame.put_slice(data);
    frame.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn frames(mut bytes: &[u8]) -> io::Result<Vec<Frame>> {
        let mut frames = Vec::new();
        while let Some(frame) = read(&mut bytes).await? {
            frames.push(frame);
        }
        Ok(frames)
    }

    #[tokio::test]
    async fn frames_are_read_as_they_are_written() {
        let bytes = [data(5, b"ab"), data(5, b""), ping(7), reset(9, REFUSED)].concat();
        let data = |bytes: &'static [u8], is_last| Frame::Data {
            stream: 5,
            is_last,
            data: Bytes::from_static(bytes),
        };
        let expected = [
            data(b"ab", false),
            data(b"", true),
            Frame::Ping { id: 7 },
            Frame::Reset { stream: 9 },
        ];
        assert_eq!(frames(&bytes).await.unwrap(), expected);
    }

    #[tokio::test]
    async fn what_is_no_frame_is_refused_without_reading_it() {
        for (bytes, why) in [
            (&[0x80, 2, 0, 1, 0, 0, 0, 0][..], "not of SPDY/3"),
            (&[0x80, 3, 0, 1, 0, 0, 0, 2, 0, 0], "too short"),
            (&[0x80, 3, 0, 6, 0, 0, 0, 0], "too short"),
            (&[0, 0, 0, 1, 0, 0xff, 0xff, 0xff], "too long"),
        ] {
            let error = frames(bytes).await.unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
        assert!(frames(&[0x80, 3]).await.unwrap().is_empty());
        assert!(frames(&data(1, b"ab")[..9]).await.is_err());
    }
}
