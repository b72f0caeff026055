use std::{io, sync::Arc, time::Duration};

use http::{
    Uri,
    uri::{Authority, Scheme},
};
use rustls::{AlertDescription, CertificateError, Error as TlsError, InvalidMessage};
use rustls_pki_types::ServerName;
use tokio_rustls::TlsConnector;

use super::{ConnectError, ConnectProblem, Connector, CurrentTls, Io, tcp, tls::Tls};
use crate::client::{
    chain::Chain,
    config::{Config, ConfigError},
};

/// Opens byte streams to one server.
pub(crate) struct Dialer {
    way: Way,
    pub(super) scheme: Scheme,
    pub(super) authority: Authority,
    /// For messages.
    pub(super) server: String,
    pub(super) timeout: Duration,
}

enum Way {
    Given(Arc<dyn Connector>),
    Plain {
        host: String,
        port: u16,
    },
    Tls {
        host: String,
        port: u16,
        tls: Tls,
        name: ServerName<'static>,
    },
}

/// A byte stream and the protocol to speak on it.
pub(super) struct Dialled {
    pub(super) io: Box<dyn Io>,
    pub(super) http2: bool,
    /// Of which generation the client's certificate on it is.
    pub(super) generation: u64,
}

impl Dialer {
    pub(crate) fn new(
        config: &Config,
        connector: Option<Arc<dyn Connector>>,
    ) -> Result<Self, ConfigError> {
        let (scheme, authority) = address(&config.url)?;
        let host = authority.host().to_owned();
        let secure = scheme == Scheme::HTTPS;
        let port = authority
            .port_u16()
            .unwrap_or(if secure { 443 } else { 80 });
        let way = match connector {
            Some(connector) => Way::Given(connector),
            None if !secure => Way::Plain { host, port },
            None => {
                let tls = Tls::new(&config.tls)?;
                let bare = host.trim_start_matches('[').trim_end_matches(']');
                let name = match &tls.server_name {
                    Some(name) => name.clone(),
                    None => ServerName::try_from(bare.to_owned()).map_err(|_| {
                        ConfigError::new(format!(
                            "server `{}`: `{bare}` is neither a host name nor an address",
                            config.url
                        ))
                    })?,
                };
                Way::Tls {
                    host,
                    port,
                    tls,
                    name,
                }
            }
        };
        Ok(Self {
            way,
            server: format!("{scheme}://{authority}"),
            scheme,
            authority,
            timeout: config.connect_timeout,
        })
    }

    /// TLS as it is spoken, where it is.
    pub(crate) fn tls(&self) -> Option<Arc<CurrentTls>> {
        match &self.way {
            Way::Tls { tls, .. } => Some(tls.current.clone()),
            Way::Given(_) | Way::Plain { .. } => None,
        }
    }

    /// Counts the changes of the client's certificate.
    pub(super) fn generation(&self) -> u64 {
        match &self.way {
            Way::Tls { tls, .. } => tls.current.generation(),
            Way::Given(_) | Way::Plain { .. } => 0,
        }
    }

    pub(super) fn error(&self, problem: ConnectProblem) -> ConnectError {
        ConnectError::new(&self.server, problem)
    }

    pub(super) async fn dial(&self) -> Result<Dialled, ConnectProblem> {
        match &self.way {
            Way::Given(connector) => Ok(Dialled {
                io: connector.connect().await.map_err(of_io)?,
                http2: true,
                generation: 0,
            }),
            Way::Plain { host, port } => Ok(Dialled {
                io: Box::new(tcp::connect(host, *port).await?),
                http2: false,
                generation: 0,
            }),
            Way::Tls {
                host,
                port,
                tls,
                name,
            } => {
                let stream = tcp::connect(host, *port).await?;
                let spoken = tls.current.spoken();
                let connector = TlsConnector::from(spoken.config.clone());
                let stream = connector
                    .connect(name.clone(), stream)
                    .await
                    .map_err(|error| of_tls(error, tls, name))?;
                Ok(Dialled {
                    http2: stream.get_ref().1.alpn_protocol() == Some(b"h2"),
                    io: Box::new(stream),
                    generation: spoken.generation,
                })
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
            "server `{url}` is no address: write it as https://host:port"
        ))),
    }
}

fn of_io(error: io::Error) -> ConnectProblem {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => ConnectProblem::Refused,
        _ => ConnectProblem::Io(error),
    }
}

/// rustls' errors travel inside `io::Error`.
fn of_tls(error: io::Error, tls: &Tls, name: &ServerName<'_>) -> ConnectProblem {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    let wrong = match inner {
        Some(TlsError::InvalidCertificate(wrong)) => wrong,
        Some(TlsError::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            return ConnectProblem::NoTls;
        }
        Some(TlsError::AlertReceived(AlertDescription::CertificateRequired)) => {
            return ConnectProblem::CertificateRequired;
        }
        _ => return ConnectProblem::Tls(error),
    };
    match wrong {
        CertificateError::UnknownIssuer
        | CertificateError::BadSignature
        | CertificateError::UnsupportedSignatureAlgorithmContext { .. } => {
            ConnectProblem::UntrustedCertificate {
                roots: tls.roots.clone(),
            }
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            ConnectProblem::WrongName {
                expected: name.to_str().into_owned(),
            }
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => ConnectProblem::OutdatedCertificate,
        _ => ConnectProblem::Tls(error),
    }
}

/// With TLS 1.3 the server refuses the client's certificate only after the handshake. Of that, h2
/// keeps nothing but the text.
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
