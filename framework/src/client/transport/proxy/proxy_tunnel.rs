use std::sync::Arc;

use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio_rustls::TlsConnector;

use super::{http_connect, socks5};
use crate::{
    client::{
        ConnectProblem, ProxyProblem,
        config::{Config, ConfigError, Proxy, ProxyKind},
        transport::{
            Io, tcp,
            tls::{self, of_handshake},
        },
    },
    metrics::ClientMetrics,
};

/// Opens tunnels through one proxy.
pub(in crate::client::transport) struct ProxyTunnel {
    proxy: Proxy,
    /// For a proxy with TLS.
    tls: Option<Tls>,
}

struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    roots: String,
}

impl ProxyTunnel {
    /// The proxy of `config`, if it has one.
    pub(in crate::client::transport) fn new(config: &Config) -> Result<Option<Self>, ConfigError> {
        let Some(proxy) = config.proxy.clone() else {
            return Ok(None);
        };
        let tls = if proxy.kind == ProxyKind::Https {
            let (tls, roots) = tls::with_proxy(config.tls.roots.as_ref())?;
            let name = ServerName::try_from(proxy.host.clone()).map_err(|_| {
                ConfigError::new(format!(
                    "the proxy {}: its host is neither a name nor an address",
                    proxy.shown()
                ))
            })?;
            Some(Tls {
                config: Arc::new(tls),
                name,
                roots,
            })
        } else {
            None
        };
        Ok(Some(Self { proxy, tls }))
    }

    /// The proxy's address, for messages.
    pub(in crate::client::transport) fn shown(&self) -> String {
        self.proxy.shown()
    }

    /// Opens a tunnel to `host`, which is without brackets.
    pub(in crate::client::transport) async fn connect(
        &self,
        host: &str,
        port: u16,
        metrics: Option<&ClientMetrics>,
    ) -> Result<Box<dyn Io>, ProxyProblem> {
        let mut stream = self
            .reach(metrics)
            .await
            .map_err(|problem| ProxyProblem::Connect(Box::new(problem)))?;
        let user = self.proxy.user.as_ref();
        match self.proxy.kind {
            ProxyKind::Http | ProxyKind::Https => {
                let target = if host.contains(':') {
                    format!("[{host}]:{port}")
                } else {
                    format!("{host}:{port}")
                };
                http_connect::tunnel(stream, &target, user).await
            }
            ProxyKind::Socks5 => {
                socks5::tunnel(&mut stream, host, port, user).await?;
                Ok(stream)
            }
        }
    }

    /// Opens a stream to the proxy itself.
    async fn reach(&self, metrics: Option<&ClientMetrics>) -> Result<Box<dyn Io>, ConnectProblem> {
        let stream = tcp::connect(&self.proxy.host, self.proxy.port, metrics).await?;
        let Some(tls) = &self.tls else {
            return Ok(Box::new(stream));
        };
        let stream = TlsConnector::from(tls.config.clone())
            .connect(tls.name.clone(), stream)
            .await
            .map_err(|error| of_handshake(error, &tls.roots, &tls.name))?;
        Ok(Box::new(stream))
    }
}
