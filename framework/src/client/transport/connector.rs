use std::io;

use futures_core::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

/// A byte stream to an API server.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Io for T {}

/// Opens byte streams to an API server without TCP and TLS.
///
/// The client speaks HTTP/2 over the stream at once, without TLS or negotiation, unless
/// [`speaks_http2`](Self::speaks_http2) returns false. `testing` and `dev` connect to the embedded server in this way.
pub trait Connector: Send + Sync + 'static {
    /// Opens one more stream. It must be safe to drop the future.
    ///
    /// # Errors
    /// The stream cannot be opened. The error becomes an [`ErrorKind::Connect`](crate::client::ErrorKind::Connect).
    fn connect(&self) -> BoxFuture<'_, io::Result<Box<dyn Io>>>;

    /// Whether the server speaks HTTP/2 over the streams. The default is true. Otherwise the client speaks HTTP/1.1.
    fn speaks_http2(&self) -> bool {
        true
    }
}

/// A function that opens a stream is a connector.
impl<F, T> Connector for F
where
    F: Fn() -> io::Result<T> + Send + Sync + 'static,
    T: Io,
{
    fn connect(&self) -> BoxFuture<'_, io::Result<Box<dyn Io>>> {
        let stream = self().map(|stream| Box::new(stream) as Box<dyn Io>);
        Box::pin(std::future::ready(stream))
    }
}
