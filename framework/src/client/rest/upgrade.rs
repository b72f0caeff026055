use std::{
    fmt, io,
    pin::Pin,
    task::{Context, Poll},
};

use http::{HeaderMap, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Client;
#[cfg(feature = "streams")]
use crate::client::stack::SentSecrets;
use crate::client::{Body, Error, ErrorKind, request::RequestClass};

/// A connection after the server switched to another protocol (RFC 9110 §7.8). It closes when it is dropped.
pub struct Upgraded {
    headers: HeaderMap,
    #[cfg(feature = "streams")]
    secrets: SentSecrets,
    io: TokioIo<hyper::upgrade::Upgraded>,
}

impl Upgraded {
    /// The headers of the answer, which name the new protocol.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// What texts of the other side must not repeat.
    #[cfg(feature = "streams")]
    pub(crate) fn secrets(&self) -> SentSecrets {
        self.secrets.clone()
    }
}

impl fmt::Debug for Upgraded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Upgraded")
    }
}

impl AsyncRead for Upgraded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl AsyncWrite for Upgraded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

impl Client {
    /// Sends a request for another protocol, and returns the connection after the switch.
    ///
    /// The URI has only path and query. The caller adds `Connection: Upgrade` and `Upgrade` to the request. The request
    /// gets an HTTP/1.1 connection of its own, and passes the same layers as others: identity, impersonation, user
    /// agent, deadlines, metrics. The client never repeats it, because it may have started something. For WebSocket to
    /// Pods, use `Api::exec`, `Api::attach` and `Api::port_forward` (feature `streams`).
    ///
    /// # Errors
    /// [`ErrorKind::Api`] with the server's `Status` if it refuses. [`ErrorKind::Decode`] if it answers without a
    /// switch. Otherwise as for all requests.
    pub async fn upgrade(&self, request: Request<Body>) -> Result<Upgraded, Error> {
        let target = format!("{} {}", request.method(), request.uri().path());
        self.switch("upgrade", &target, request).await
    }

    pub(crate) async fn switch(
        &self,
        verb: &'static str,
        target: &str,
        mut request: Request<Body>,
    ) -> Result<Upgraded, Error> {
        request.extensions_mut().insert(RequestClass::Upgrade);
        let answer = self.inner.answer(request).await;
        let mut response =
            answer.map_err(|error| Error::from_stack(verb, target.to_owned(), error))?;
        if response.status().is_success() {
            return Err(Error::new(verb, target.to_owned(), ErrorKind::Decode { reason: "the server answered without an upgrade: check the cluster's `server`, and whether proxies on the way let WebSocket pass".into() }));
        }
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let error = self.response_error(verb, target.to_owned(), response);
            return Err(self.with_missing_rule(error.await, false));
        }
        let io = hyper::upgrade::on(&mut response).await;
        let io = io.map_err(|error| Error::from_stack(verb, target.to_owned(), error.into()))?;
        let (head, _) = response.into_parts();
        Ok(Upgraded {
            headers: head.headers,
            #[cfg(feature = "streams")]
            secrets: head.extensions.get().cloned().unwrap_or_default(),
            io: TokioIo::new(io),
        })
    }
}
