//! A minimal HTTP/1.1 server.

use std::io;

use bytes::Bytes;
use futures_util::StreamExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

use super::{
    Server,
    act::{Act, Answer, Body, Step, Steps},
    asked::Asked,
};

/// Serves one connection until it ends.
pub(crate) async fn serve(server: Server, io: impl AsyncRead + AsyncWrite + Unpin) {
    // Errors mean that the client has closed or broken the connection.
    let _: io::Result<()> = serve_all(&server, io).await;
}

async fn serve_all(server: &Server, io: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    let mut io = BufReader::new(io);
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(io.read_u8().await?);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.lines();
        let mut first = lines.next().unwrap_or_default().split(' ');
        let (method, target) = (
            first.next().unwrap_or_default(),
            first.next().unwrap_or_default(),
        );
        let length = lines.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then_some(value.trim())
        });
        let mut body = vec![0; length.and_then(|length| length.parse().ok()).unwrap_or(0)];
        io.read_exact(&mut body).await?;
        let goes_on = match server.act(Asked::new(method, target, &body)).await {
            Act::Raw(steps) => {
                raw(&mut io, steps).await?;
                false
            }
            Act::Answer(answer) => write(&mut io, answer).await?,
            Act::Silence => std::future::pending().await,
        };
        io.flush().await?;
        if !goes_on {
            return Ok(());
        }
    }
}

async fn raw(io: &mut (impl AsyncWrite + Unpin), mut steps: Steps) -> io::Result<()> {
    while let Some(step) = steps.next().await {
        match step {
            Step::Bytes(bytes) => io.write_all(&bytes).await?,
            Step::Pause(time) => tokio::time::sleep(time).await,
            Step::Forever => std::future::pending().await,
            Step::Abort | Step::Trailers(_) => break,
        }
        io.flush().await?;
    }
    Ok(())
}

/// Writes an answer and returns whether the connection can be used for another request.
async fn write(io: &mut (impl AsyncWrite + Unpin), answer: Answer) -> io::Result<bool> {
    let mut head = format!("HTTP/1.1 {} whatever\r\n", answer.code).into_bytes();
    for (name, value) in &answer.headers {
        head.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    let has_length = answer
        .headers
        .iter()
        .any(|(name, _)| name == "content-length");
    let has_body = answer.code >= 200 && !matches!(answer.code, 204 | 304);
    let mut steps = match answer.body {
        Body::Whole(bytes) => {
            if !has_length && has_body {
                head.extend_from_slice(format!("content-length: {}\r\n", bytes.len()).as_bytes());
            }
            head.extend_from_slice(b"\r\n");
            io.write_all(&head).await?;
            if has_body {
                io.write_all(&bytes).await?;
            }
            return Ok(true);
        }
        Body::Steps(steps) => steps,
    };
    if !has_length {
        head.extend_from_slice(b"transfer-encoding: chunked\r\n");
    }
    head.extend_from_slice(b"\r\n");
    io.write_all(&head).await?;
    io.flush().await?;
    let mut end = b"0\r\n".to_vec();
    while let Some(step) = steps.next().await {
        match step {
            Step::Bytes(bytes) if has_length => io.write_all(&bytes).await?,
            Step::Bytes(bytes) if bytes.is_empty() => {}
            Step::Bytes(bytes) => {
                let size = Bytes::from(format!("{:x}\r\n", bytes.len()));
                io.write_all(&[size, bytes, "\r\n".into()].concat()).await?;
            }
            Step::Pause(time) => tokio::time::sleep(time).await,
            Step::Trailers(trailers) => {
                for (name, value) in trailers {
                    end.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
                }
                break;
            }
            Step::Abort => return Ok(false),
            Step::Forever => std::future::pending().await,
        }
        io.flush().await?;
    }
    if !has_length {
        end.extend_from_slice(b"\r\n");
        io.write_all(&end).await?;
    }
    Ok(!has_length)
}
