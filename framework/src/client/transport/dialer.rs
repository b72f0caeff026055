use std::{io, sync::Arc};

use http::{
    Uri,
    uri::{Authority, Scheme},
};
use rustls::AlertDescription;
use rustls_pki_types::ServerName;
use tokio_rustls::TlsConnector;

use super::{
    Connector, CurrentTls, Io,
    cleartext::Cleartext,
    proxy::ProxyTunnel,
    tcp,
    tls::{HTTP1, HTTP2, Tls, of_handshake},
};
use crate::{
    client::{
        ConnectError, ConnectProblem,
        config::{Config, ConfigError, port},
        error::Chain,
    },
    metrics::{CaReload, ClientMetrics},
};

/// Opens byte streams to one server.
pub(crate) struct Dialer {
    way: Route,
    pub(super) scheme: Scheme,
    pub(super) authority: Authority,
    /// The server's address, for messages.
    pub(super) server: String,
}

enum Route {
    Connector(Arc<dyn Connector>),
    Network(Box<Network>),
}

struct Network {
    /// The host, without the brackets of an IPv6 address.
    host: String,
    port: u16,
    via: Option<ProxyTunnel>,
    /// TLS, and the name that the server's certificate must be valid for.
    tls: Option<(Tls, ServerName<'static>)>,
    metrics: Option<ClientMetrics>,
}

/// The protocols of a caller that can speak all of them. HTTP/2 is preferred.
pub(super) const ALL: &[&[u8]] = &[HTTP2, HTTP1];

/// An open byte stream and its protocol.
pub(super) struct Dialled {
    pub(super) io: Box<dyn Io>,
    pub(super) http2: bool,
    /// The generation of the TLS settings: client certificate and trusted authorities.
    pub(super) generation: u64,
}

impl Dialer {
    pub(crate) fn new(
        config: &Config,
        connector: Option<Arc<dyn Connector>>,
        metrics: Option<ClientMetrics>,
    ) -> Result<Self, ConfigError> {
        let (scheme, authority) = address(&config.url)?;
        let way = match connector {
            Some(connector) => Route::Connector(connector),
            None => {
                let network = Network::new(config, &scheme, &authority, metrics)?;
                Route::Network(Box::new(network))
            }
        };
        Ok(Self {
            way,
            server: format!("{scheme}://{authority}"),
            scheme,
            authority,
        })
    }

    /// The present TLS settings. `None` without TLS.
    pub(crate) fn tls(&self) -> Option<Arc<CurrentTls>> {
        self.spoken_tls().map(|tls| tls.current.clone())
    }

    fn spoken_tls(&self) -> Option<&Tls> {
        match &self.way {
            Route::Network(network) => network.tls.as_ref().map(|(tls, _)| tls),
            Route::Connector(_) => None,
        }
    }

    /// The number of changes of the client's certificate and the trusted authorities.
    pub(super) fn generation(&self) -> u64 {
        self.spoken_tls().map_or(0, |tls| tls.current.generation())
    }

    /// Reads the file of trusted authorities again, if it is time. Must be called before a connection is chosen for a
    /// request, so that connections of earlier generations get no request.
    pub(super) async fn refresh(&self) {
        if let Route::Network(network) = &self.way
            && let Some((tls, _)) = &network.tls
            && let Some(file) = &tls.file
            && let Some(outcome) = file.check().await
        {
            network.count(outcome);
        }
    }

    pub(super) fn error(&self, problem: ConnectProblem) -> ConnectError {
        let proxy = match &self.way {
            Route::Network(network) => network.via.as_ref().map(ProxyTunnel::shown),
            Route::Connector(_) => None,
        };
        ConnectError::new(&self.server, problem).through(proxy)
    }

    /// Opens one more stream: through the proxy if there is one, and over TLS if the server speaks it. `protocols` are
    /// names of TLS: [`ALL`], or only [`HTTP1`] for an upgraded connection. The caller must set the deadline.
    pub(super) async fn dial(&self, protocols: &[&[u8]]) -> Result<Dialled, ConnectProblem> {
        match &self.way {
            Route::Connector(connector) => Ok(Dialled {
                io: connector.connect().await.map_err(of_io)?,
                http2: connector.speaks_http2() && protocols.contains(&HTTP2),
                generation: 0,
            }),
            Route::Network(network) => network.dial(protocols).await,
        }
    }
}

impl Network {
    fn new(
        config: &Config,
        scheme: &Scheme,
        authority: &Authority,
        metrics: Option<ClientMetrics>,
    ) -> Result<Self, ConfigError> {
        let secure = *scheme == Scheme::HTTPS;
        let port = port(authority, if secure { 443 } else { 80 }).ok_or_else(|| {
            ConfigError::new(format!(
                "server `{}`: its port must be a number from 1 to 65535",
                config.url
            ))
        })?;
        let host = authority.host().trim_matches(['[', ']']);
        let tls = if secure {
            let tls = Tls::new(&config.tls)?;
            let name = match &tls.server_name {
                Some(name) => name.clone(),
                None => ServerName::try_from(host.to_owned()).map_err(|_| {
                    ConfigError::new(format!(
                        "server `{}`: `{host}` is neither a host name nor an address",
                        config.url
                    ))
                })?,
            };
            Some((tls, name))
        } else {
            None
        };
        Ok(Self {
            host: host.to_owned(),
            port,
            via: ProxyTunnel::new(config)?,
            tls,
            metrics,
        })
    }

    fn count(&self, outcome: CaReload) {
        if let Some(metrics) = &self.metrics {
            metrics.ca_reload(outcome);
        }
    }

    async fn dial(&self, protocols: &[&[u8]]) -> Result<Dialled, ConnectProblem> {
        let Some((tls, name)) = &self.tls else {
            return Ok(Dialled {
                io: Box::new(Cleartext::new(self.reach().await?)),
                http2: false,
                generation: 0,
            });
        };
        let generation = tls.current.generation();
        match self.secure(tls, name, protocols).await {
            Err(ConnectProblem::UntrustedCertificate { roots }) => {
                // The server may already use a certificate of a new authority.
                if let Some(file) = &tls.file {
                    self.count(file.read().await);
                }
                if tls.current.generation() == generation {
                    return Err(ConnectProblem::UntrustedCertificate { roots });
                }
                self.secure(tls, name, protocols).await
            }
            outcome => outcome,
        }
    }

    async fn secure(
        &self,
        tls: &Tls,
        name: &ServerName<'static>,
        protocols: &[&[u8]],
    ) -> Result<Dialled, ConnectProblem> {
        let stream = self.reach().await?;
        let spoken = tls.current.spoken();
        let offered = protocols.iter().map(|name| name.to_vec()).collect();
        let stream = TlsConnector::from(spoken.config.clone())
            .with_alpn(offered)
            .connect(name.clone(), stream)
            .await
            .map_err(|error| of_handshake(error, &tls.roots, name))?;
        Ok(Dialled {
            http2: stream.get_ref().1.alpn_protocol() == Some(HTTP2),
            io: Box::new(stream),
            generation: spoken.generation,
        })
    }

    /// Opens a stream to the server, without TLS.
    async fn reach(&self) -> Result<Box<dyn Io>, ConnectProblem> {
        match &self.via {
            Some(via) => via
                .connect(&self.host, self.port, self.metrics.as_ref())
                .await
                .map_err(ConnectProblem::Proxy),
            None => {
                let stream = tcp::connect(&self.host, self.port, self.metrics.as_ref()).await?;
                Ok(Box::new(stream))
            }
        }
    }
}

fn address(url: &Uri) -> Result<(Scheme, Authority), ConfigError> {
    let parts = url.scheme().zip(url.authority());
    match parts {
        Some((_, authority)) if authority.as_str().contains('@') => Err(ConfigError::new(
            "the server's address must not hold a user name or a password: give them as credentials",
        )),
        Some((scheme, authority)) if *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS => {
            Ok((scheme.clone(), authority.clone()))
        }
        _ => Err(ConfigError::new(format!(
            "server `{url}` is not a valid address: write it as https://host:port"
        ))),
    }
}

fn of_io(error: io::Error) -> ConnectProblem {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => ConnectProblem::Refused,
        _ => ConnectProblem::Io(error),
    }
}

/// With TLS 1.3 the server refuses the client's certificate only after the handshake. h2 keeps only the text of that
/// error.
pub(super) fn of_protocol(error: hyper::Error) -> ConnectProblem {
    let text = Chain(&error).to_string();
    let refused = |alert: &AlertDescription| text.contains(&format!("{alert:?}"));
    let alerts = [
        AlertDescription::CertificateRequired,
        AlertDescription::BadCertificate,
        AlertDescription::UnknownCA,
    ];
    if alerts.iter().any(refused) {
        ConnectProblem::CertificateRequired
    } else {
        ConnectProblem::Protocol(error)
    }
}

#[cfg(test)]
mod tests {
    use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;

    #[test]
    fn an_invalid_port_is_not_replaced_by_the_default() {
        let config = Config::new("https://host:64430000".parse().unwrap());
        assert_eq!(
            Dialer::new(&config, None, None).err().unwrap().to_string(),
            "server `https://host:64430000/`: its port must be a number from 1 to 65535"
        );
    }

    #[tokio::test]
    async fn a_caller_chooses_the_protocols() {
        let names = ["localhost".to_owned()];
        let own = rcgen::generate_simple_self_signed(names).unwrap();
        let key = own.signing_key.serialize_pem();
        let mut server = rustls::ServerConfig::builder_with_provider(Arc::new(
            rustls::crypto::ring::default_provider(),
        ))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(own.cert.der().to_vec())],
            PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        )
        .unwrap();
        server.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(server));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = Config::new(format!("https://127.0.0.1:{port}").parse().unwrap())
            .with_server_name("localhost")
            .with_certificate_authority(own.cert.pem());
        let dialer = Dialer::new(&config, None, None).unwrap();
        let table: [(&[&[u8]], _, _); 2] = [(ALL, true, HTTP2), (&[HTTP1], false, HTTP1)];
        for (protocols, http2, spoken) in table {
            let accepted = async {
                let (stream, _) = listener.accept().await.unwrap();
                acceptor.accept(stream).await.unwrap()
            };
            let (dialled, accepted) = tokio::join!(dialer.dial(protocols), accepted);
            assert_eq!(dialled.unwrap().http2, http2);
            assert_eq!(accepted.get_ref().1.alpn_protocol(), Some(spoken));
        }
    }
}
