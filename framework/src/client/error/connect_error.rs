use std::{fmt, io, net::SocketAddr, sync::Arc, time::Duration};

use super::{chain::Chain, proxy_problem::ProxyProblem};

/// Why the client could not connect to the API server.
///
/// The text is one line: which server, through which proxy, what is wrong, and what to do.
#[derive(Clone, Debug)]
pub struct ConnectError {
    server: String,
    proxy: Option<String>,
    problem: Arc<ConnectProblem>,
}

/// The reason of a failed connection.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectProblem {
    /// The host has no address.
    UnknownHost(io::Error),
    /// No program listens at any of the host's addresses.
    Refused,
    /// No connection to any of the host's addresses succeeded. Each has its own reason.
    Unreachable(Vec<(SocketAddr, io::Error)>),
    /// The proxy made no connection to the server.
    Proxy(ProxyProblem),
    /// The connection was not open in time.
    TimedOut(Duration),
    /// The server's certificate is not signed by a trusted authority.
    UntrustedCertificate {
        /// Where the trusted authorities come from.
        roots: String,
    },
    /// The server's certificate is valid for another name.
    WrongName {
        /// The expected name.
        expected: String,
    },
    /// The server's certificate is expired, or not yet valid.
    OutdatedCertificate,
    /// The other side does not speak TLS.
    NoTls,
    /// The server requires a client certificate, or another one.
    CertificateRequired,
    /// The TLS handshake failed for another reason.
    Tls(io::Error),
    /// The other side does not speak HTTP.
    Protocol(hyper::Error),
    /// Any other error.
    Io(io::Error),
}

impl ConnectError {
    pub(crate) fn new(server: impl Into<String>, problem: ConnectProblem) -> Self {
        Self {
            server: server.into(),
            proxy: None,
            problem: Arc::new(problem),
        }
    }

    /// The same error on the way through `proxy`, which must be without user and password.
    pub(crate) fn through(mut self, proxy: Option<String>) -> Self {
        self.proxy = proxy;
        self
    }

    /// The server's address, without credentials.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The reason.
    pub fn problem(&self) -> &ConnectProblem {
        &self.problem
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot connect to {}", self.server)?;
        if let Some(proxy) = &self.proxy {
            write!(f, " through the proxy {proxy}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl fmt::Display for ConnectProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownHost(error) => {
                write!(f, "the host name has no address ({error}): check the cluster's `server`")
            }
            Self::Refused => f.write_str(
                "connection refused: check that the API server runs and that the cluster's `server` is right",
            ),
            Self::Unreachable(attempts) => {
                for (address, error) in attempts {
                    write!(f, "{address}: {error}; ")?;
                }
                f.write_str("check the address, and the network between here and there")
            }
            Self::Proxy(problem) => write!(f, "{problem}"),
            Self::TimedOut(after) => write!(
                f,
                "no connection within {} s: check the address, and the network between here and there",
                after.as_secs_f64()
            ),
            Self::UntrustedCertificate { roots } => write!(
                f,
                "the server's certificate is not signed by a trusted authority: the client trusts {roots}; set the cluster's `certificate-authority` to the authority that signed the certificate"
            ),
            Self::WrongName { expected } => write!(
                f,
                "the server's certificate is not valid for `{expected}`: check `server`, or set `tls-server-name`"
            ),
            Self::OutdatedCertificate => f.write_str(
                "the server's certificate is expired or not valid yet: renew it, or check this machine's clock",
            ),
            Self::NoTls => f.write_str(
                "it does not speak TLS: check the address, and whether it has to begin with http://",
            ),
            Self::Tls(error) => write!(f, "TLS: {error}"),
            Self::CertificateRequired => f.write_str(
                "the server wants a client certificate: give one that its authority signed",
            ),
            Self::Protocol(error) => write!(
                f,
                "{}: check that this is an API server's address",
                Chain(error)
            ),
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.problem {
            ConnectProblem::UnknownHost(error)
            | ConnectProblem::Tls(error)
            | ConnectProblem::Io(error) => Some(error),
            ConnectProblem::Protocol(error) => Some(error),
            _ => None,
        }
    }
}
