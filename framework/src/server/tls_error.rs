use std::{io, path::PathBuf};

/// Why a server has no certificate to show. Nothing of a file's content is in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    #[non_exhaustive]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file holds something else than it should.
    #[error("{} holds no {what}: it must be PEM, beginning with -----BEGIN {begins}", .path.display())]
    #[non_exhaustive]
    Content {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
        /// How that begins.
        begins: &'static str,
    },
    /// Certificate and key cannot be used together.
    #[error("the certificate {} and the key {} cannot be used: {reason}", .certificate.display(), .key.display())]
    #[non_exhaustive]
    Pair {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// What is wrong with them.
        reason: rustls::Error,
    },
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Setup(rustls::Error),
    /// A certificate cannot be made.
    #[cfg(feature = "self-signed")]
    #[error("a certificate cannot be made for {names}: {source}")]
    #[non_exhaustive]
    SelfSigned {
        /// For whom.
        names: String,
        /// What is wrong.
        source: rcgen::Error,
    },
}
