use std::{fmt, path::PathBuf};

use secrecy::SecretString;

use super::ExecConfig;

/// How the client says who it is, beside a client certificate.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Credentials {
    /// Not at all, or by certificate only.
    #[default]
    None,
    /// A bearer token.
    Token(SecretString),
    /// A file that holds a bearer token, read again as it is renewed.
    TokenFile(PathBuf),
    /// A user name and a password.
    Basic {
        /// The user name.
        username: String,
        /// The password.
        password: SecretString,
    },
    /// Whatever a credential plugin prints.
    Exec(ExecConfig),
}

/// Shows which kind it is, never the secret.
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
