use std::{fmt, path::PathBuf};

use secrecy::SecretString;

use super::ExecConfig;

/// The credentials of the client, beside a client certificate.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Credentials {
    /// No credentials, or only a client certificate.
    #[default]
    None,
    /// A bearer token.
    Token(SecretString),
    /// A file with a bearer token, which is read again when it changes.
    TokenFile(PathBuf),
    /// A user name and a password.
    Basic {
        /// The user name.
        username: String,
        /// The password.
        password: SecretString,
    },
    /// The credentials that a plugin prints.
    Exec(ExecConfig),
}

/// Shows the kind of the credentials, never the secret.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Token(_) => f.write_str("Token([redacted])"),
            Self::TokenFile(path) => f.debug_tuple("TokenFile").field(path).finish(),
            Self::Basic { .. } => f.write_str("Basic([redacted])"),
            Self::Exec(plugin) => f.debug_tuple("Exec").field(plugin).finish(),
        }
    }
}
