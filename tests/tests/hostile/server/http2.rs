//! HTTP/2 with the `h2` crate. `frames` adds the frames that the crate does not send.

use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use h2::{Reason, RecvStream, SendStream, server::SendResponse};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    Server,
    act::{Act, Body, Step},
    asked::Asked,
};

/// Serves one connection until it ends.
pub(crate) async fn serve(server: Server, io: impl AsyncRead + AsyncWrite + Unpin) {
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(100);
    let Ok(mut connection) = builder.handshake::<_, Bytes>(io).await else {
        return;
    };
    while let Some(Ok((request, respond))) = connection.accept().await {
        tokio::spawn(answer(server.clone(), request, respond));
    }
}

async fn answer(server: Server, request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
    let (head, mut incoming) = request.into_parts();
    let mut body = Vec::new();
    while let Some(Ok(mut piece)) = incoming.data().await {
        let _: Result<(), h2::Error> = incoming.flow_control().release_capacity(piece.len());
        body.extend_from_slice(&piece.copy_to_bytes(piece.len()));
    }
    let target = head
        .uri
        .path_and_query()
        .map_or("", |target| target.as_str());
    let asked = Asked::new(head.method.as_str(), target, &body);
    // Stop as soon as the client has cancelled the request.
    let act = tokio::select! {
        act = server.act(asked) => act,
        _ = std::future::poll_fn(|cx| respond.poll_reset(cx)) => return,
    };
    let answer = match act {
        Act::Answer(answer) => answer,
        Act::Raw(_) | Act::Silence => panic!("raw bytes are only for HTTP/1.1"),
    };
    let mut response = Response::new(());
    *response.status_mut() = answer.code.try_into().unwrap();
    for (name, value) in answer.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        response
            .headers_mut()
            .append(name, HeaderValue::from_bytes(&value).unwrap());
    }
    let is_empty = matches!(&answer.body, Body::Whole(bytes) if bytes.is_empty());
    let Ok(mut stream) = respond.send_response(response, is_empty) else {
        return;
    };
    let mut steps = match answer.body {
        Body::Whole(bytes) => {
            if !is_empty && send(&mut stream, bytes).await.is_some() {
                finish(&mut stream);
            }
            return;
        }
        Body::Steps(steps) => steps,
    };
    while let Some(step) = steps.next().await {
        match step {
            Step::Bytes(bytes) => {
                if send(&mut stream, bytes).await.is_none() {
                    return;
                }
            }
            Step::Pause(time) => {
                let reset = std::future::poll_fn(|cx| stream.poll_reset(cx));
                if tokio::time::timeout(time, reset).await.is_ok() {
                    return;
                }
            }
            Step::Trailers(trailers) => {
                let trailers = trailers.into_iter().map(|(name, value)| {
                    (
                        HeaderName::from_static(name),
                        HeaderValue::from_str(&value).unwrap(),
                    )
                });
                let trailers: HeaderMap = trailers.collect();
                let _: Result<(), h2::Error> = stream.send_trailers(trailers);
                return;
            }
            Step::Abort => return stream.send_reset(Reason::INTERNAL_ERROR),
            Step::Forever => {
                let _ = std::future::poll_fn(|cx| stream.poll_reset(cx)).await;
                return;
            }
        }
    }
    finish(&mut stream);
}

/// Sends as fast as the client reads. Returns `None` when the stream has ended.
async fn send(stream: &mut SendStream<Bytes>, mut bytes: Bytes) -> Option<()> {
    while !bytes.is_empty() {
        stream.reserve_capacity(bytes.len());
        let room = std::future::poll_fn(|cx| stream.poll_capacity(cx))
            .await?
            .ok()?;
        let piece = bytes.split_to(room.min(bytes.len()));
        stream.send_data(piece, false).ok()?;
    }
    Some(())
}

fn finish(stream: &mut SendStream<Bytes>) {
    // The client may have reset the stream.
    let _: Result<(), h2::Error> = stream.send_data(Bytes::new(), true);
}
