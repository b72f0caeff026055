use std::{fmt, io};

use crate::client::transport::ConnectProblem;

/// Why a proxy made no tunnel to the API server.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProxyProblem {
    /// The proxy itself cannot be connected to.
    Connect(Box<ConnectProblem>),
    /// It wants a user name and a password, or others.
    Credentials {
        /// Whether it was shown any.
        given: bool,
    },
    /// It does not allow this connection.
    Forbidden {
        /// What it answered.
        answer: String,
    },
    /// It cannot connect to the API server.
    Unreachable {
        /// What it answered.
        answer: String,
    },
    /// It refuses for another reason.
    Refused {
        /// What it answered.
        answer: String,
    },
    /// It ended the connection instead of answering.
    Closed,
    /// Its answer is not of the protocol that the URL names.
    Protocol {
        /// The protocol that the URL names.
        expected: &'static str,
    },
    /// The connection to it broke.
    Io(io::Error),
}

impl ProxyProblem {
    /// What became of reading from or writing to a proxy.
    pub(super) fn of_io(error: io::Error) -> Self {
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
                    "the proxy's certificate is not signed by a trusted authority: compare it with {roots}"
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
            Self::Forbidden { answer } => write!(
                f,
                "the proxy does not allow connections to this server ({answer}): have it allow them, {exception}"
            ),
            Self::Unreachable { answer } => write!(
                f,
                "the proxy cannot connect to the server ({answer}): check the cluster's `server`, and whether it can be reached from the proxy, {exception}"
            ),
            Self::Refused { answer } => write!(
                f,
                "the proxy makes no connection ({answer}): check that it allows tunnels, {exception}"
            ),
            Self::Closed => write!(
                f,
                "the proxy ended the connection without an answer: check the scheme of its URL, and its log"
            ),
            Self::Protocol { expected } => write!(
                f,
                "the proxy does not speak {expected}: check the scheme and the port of its URL"
            ),
            Self::Io(error) => write!(f, "the connection to the proxy broke: {error}"),
        }
    }
}
