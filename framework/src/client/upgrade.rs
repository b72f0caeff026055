use std::{
    fmt, io,
    pin::Pin,
    task::{Context, Poll},
};

use http::{HeaderMap, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{Body, Client, Error, class::Class, client::failure};

/// A connection on which the server left HTTP behind (RFC 9110 §7.8). It closes when it is dropped.
pub struct Upgraded {
    headers: HeaderMap,
    io: TokioIo<hyper::upgrade::Upgraded>,
}

impl Upgraded {
    /// The headers of the answer, which name what is spoken from here on.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
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
    /// Sends a request that asks to go on in another protocol, and gives the connection over.
    ///
    /// The URI is only path and query; the request bears `Connection: Upgrade` and `Upgrade` itself.
    /// It has an HTTP/1.1 connection of its own, opened as all others are, and passes the same
    /// layers: identity, impersonation, user agent, deadlines, metrics. It is never sent again, for
    /// it may have started something. WebSocket for Pods is there ready-made: `Api::exec`,
    /// `Api::attach`, `Api::port_forward` (feature `streams`).
    ///
    /// # Errors
    /// [`Error::Api`] with the server's `Status` when it refuses, and those of every request.
    pub async fn upgrade(&self, request: Request<Body>) -> Result<Upgraded, Error> {
        let target = format!("{} {}", request.method(), request.uri().path());
        self.switch("upgrade", &target, request).await
    }

    pub(super) async fn switch(
        &self,
        verb: &'static str,
        target: &str,
        mut request: Request<Body>,
    ) -> Result<Upgraded, Error> {
        request.extensions_mut().insert(Class::Upgrade);
        let answer = self.inner.stack.dispatch(request).await;
        let mut response = answer.map_err(|error| failure(verb, target.to_owned(), error))?;
        if response.status().is_success() {
            return Err(Error::Decode {
                verb,
                target: target.to_owned(),
                reason: "the server answered without an upgrade: check the cluster's `server`, and whether proxies on the way let WebSocket pass".into(),
            });
        }
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(self.refusal(verb, target.to_owned(), response).await);
        }
        let io = hyper::upgrade::on(&mut response).await;
        let io = io.map_err(|error| failure(verb, target.to_owned(), error.into()))?;
        Ok(Upgraded {
            headers: response.into_parts().0.headers,
            io: TokioIo::new(io),
        })
    }
}
