use std::{io, path::PathBuf};

/// Why a server has no certificate. The error never contains the content of a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    #[non_exhaustive]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The content of a file is not as expected.
    #[error("{} holds no {what}: write it as PEM, starting with -----BEGIN {begins}", .path.display())]
    #[non_exhaustive]
    Content {
        /// The file.
        path: PathBuf,
        /// The expected content.
        what: &'static str,
        /// The start of the expected content.
        begins: &'static str,
    },
    /// The certificate and the key cannot be used together.
    #[error("using the certificate {} with the key {} failed: {reason}", .certificate.display(), .key.display())]
    #[non_exhaustive]
    Pair {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// The reason.
        reason: rustls::Error,
    },
    /// TLS cannot be set up.
    #[error("setting up TLS failed: {0}")]
    Setup(rustls::Error),
    /// A self-signed certificate cannot be created.
    #[cfg(feature = "self-signed")]
    #[error("creating a self-signed certificate for {names} failed: {source}")]
    #[non_exhaustive]
    SelfSigned {
        /// The host names and addresses, separated by commas.
        names: String,
        /// The reason.
        source: rcgen::Error,
    },
}
