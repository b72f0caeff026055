use std::net::SocketAddr;

use k8s_openapi::api::core::v1::Pod;

use super::{PortListener, PortStream, websocket};
use crate::client::{Api, Error, request::url::Query};

/// Every kubelet speaks this protocol, and it is WebSocket on the whole way. kubectl prefers SPDY inside WebSocket, but
/// the API server needs that only because kubectl forwards many connections on one.
const PROTOCOLS: &[&str] = &["v4.channel.k8s.io"];

impl Api<Pod> {
    /// Opens a connection to `port` of the Pod named `name`, as from inside the Pod.
    ///
    /// ```no_run
    /// # use pilothouse::client::Api;
    /// # use pilothouse::k8s::api::core::v1::Pod;
    /// use tokio::io::{AsyncReadExt, AsyncWriteExt};
    ///
    /// # async fn example(pods: Api<Pod>) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut stream = pods.port_forward("web-0", 8080).await?;
    /// stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
    /// let mut answer = String::new();
    /// stream.read_to_string(&mut answer).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As for `exec`. If nothing listens on the port, the first read fails.
    pub async fn port_forward(&self, name: &str, port: u16) -> Result<PortStream, Error> {
        let call = self.call("port-forward", Some(name), None);
        let path = self
            .call("port-forward", Some(name), Some("portforward"))
            .path()?;
        let mut query = Query::new(path);
        query.number("ports", Some(port.into()));
        let opened = websocket::open(self.client(), &call, query.finish(), PROTOCOLS).await;
        Ok(PortStream::new(&call, port, opened?.0))
    }

    /// Listens on `local`, and forwards each connection to `port` of the Pod named `name` until the listener is
    /// dropped. Port 0 chooses a free one.
    ///
    /// ```no_run
    /// # use pilothouse::client::Api;
    /// # use pilothouse::k8s::api::core::v1::Pod;
    /// # async fn example(pods: Api<Pod>) -> Result<(), Box<dyn std::error::Error>> {
    /// let listener = pods.listen(([127, 0, 0, 1], 0).into(), "web-0", 8080).await?;
    /// println!("http://{}", listener.local_addr());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `local` cannot be listened on.
    pub async fn listen(
        &self,
        local: SocketAddr,
        name: &str,
        port: u16,
    ) -> Result<PortListener, Error> {
        let call = self.call("port-forward", Some(name), None);
        let listener = PortListener::start(self.clone(), local, name, port).await;
        listener.map_err(|error| call.invalid(format!("cannot listen on {local}: {error}")))
    }
}
