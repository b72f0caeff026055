use std::{fmt, io};

use super::connect_error::ConnectProblem;

/// Why a proxy made no tunnel to the API server.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProxyProblem {
    /// The client cannot connect to the proxy.
    Connect(Box<ConnectProblem>),
    /// The proxy requires a user name and a password, or others.
    Credentials {
        /// Whether the client sent a user name and a password.
        given: bool,
    },
    /// The proxy does not allow this connection.
    Forbidden {
        /// The response of the proxy.
        response: String,
    },
    /// The proxy cannot connect to the API server.
    Unreachable {
        /// The response of the proxy.
        response: String,
    },
    /// The proxy refuses for another reason.
    Refused {
        /// The response of the proxy.
        response: String,
    },
    /// The proxy closed the connection without a response.
    Closed,
    /// The response of the proxy does not follow the protocol of the URL.
    Protocol {
        /// The protocol of the URL.
        expected: &'static str,
    },
    /// The connection to the proxy broke.
    Io(io::Error),
}

impl ProxyProblem {
    /// The problem behind an error of reading from or writing to a proxy.
    pub(crate) fn of_io(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Io(error),
        }
    }
}

impl fmt::Display for ProxyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exception = "or name the server in NO_PROXY if it can be reached directly";
        match self {
            Self::Connect(problem) => match &**problem {
                ConnectProblem::UnknownHost(error) => write!(
                    f,
                    "the proxy's host name has no address ({error}): check the proxy's URL"
                ),
                ConnectProblem::Refused => write!(
                    f,
                    "nothing listens at the proxy's address: check that the proxy runs and that its URL is right, {exception}"
                ),
                ConnectProblem::NoTls => f.write_str(
                    "the proxy does not speak TLS: check whether its URL has to begin with http://",
                ),
                ConnectProblem::WrongName { expected } => write!(
                    f,
                    "the proxy's certificate is not valid for `{expected}`: check the proxy's URL"
                ),
                ConnectProblem::UntrustedCertificate { roots } => write!(
                    f,
                    "the proxy's certificate is not signed by a trusted authority: the client trusts {roots}; add the authority that signed the certificate to the system's"
                ),
                ConnectProblem::OutdatedCertificate => f.write_str(
                    "the proxy's certificate is expired or not valid yet: renew it, or check this machine's clock",
                ),
                problem => write!(f, "the proxy cannot be connected to: {problem}"),
            },
            Self::Credentials { given: true } => f.write_str(
                "the proxy refuses the user name or the password: correct them in the proxy's URL",
            ),
            Self::Credentials { given: false } => f.write_str(
                "the proxy wants a user name and a password: put them into its URL, as in http://user:password@proxy:3128",
            ),
            Self::Forbidden { response } => write!(
                f,
                "the proxy does not allow connections to this server ({response}): have it allow them, {exception}"
            ),
            Self::Unreachable { response } => write!(
                f,
                "the proxy cannot connect to the server ({response}): check the cluster's `server`, and whether it can be reached from the proxy, {exception}"
            ),
            Self::Refused { response } => write!(
                f,
                "the proxy makes no connection ({response}): check that it allows tunnels, {exception}"
            ),
            Self::Closed => write!(
                f,
                "the proxy ended the connection without a response: check the scheme of its URL, and its log"
            ),
            Self::Protocol { expected } => write!(
                f,
                "the proxy does not speak {expected}: check the scheme and the port of its URL"
            ),
            Self::Io(error) => write!(f, "the connection to the proxy broke: {error}"),
        }
    }
}
