use std::fmt;

use serde::Deserialize;

use crate::client::{Client, Error, ErrorKind, decode::decode_plain};

/// The Kubernetes release of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ServerVersion {
    /// `1`.
    pub major: String,
    /// `36`; some distributions write `36+`.
    pub minor: String,
    /// The full version, such as `v1.36.2`.
    pub git_version: String,
    /// Operating system and architecture, such as `linux/amd64`.
    pub platform: String,
}

impl ServerVersion {
    /// Major and minor number, without the marks of distributions. `None` if they are not numbers.
    pub fn release(&self) -> Option<(u32, u32)> {
        let number = |text: &str| {
            let end = text.find(|letter: char| !letter.is_ascii_digit());
            text.get(..end.unwrap_or(text.len()))?.parse().ok()
        };
        Some((number(&self.major)?, number(&self.minor)?))
    }
}

/// `v1.36.2`.
impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.git_version.is_empty() {
            return write!(f, "v{}.{}", self.major, self.minor);
        }
        f.write_str(&self.git_version)
    }
}

impl Client {
    /// Reads the release of the server.
    ///
    /// # Errors
    /// The request fails.
    pub async fn server_version(&self) -> Result<ServerVersion, Error> {
        let body = self.document("/version", "application/json").await?;
        decode_plain(&body)
            .map_err(|reason| Error::new("discover", "/version", ErrorKind::Decode { reason }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_parsed_from_the_versions_of_distributions() {
        for (major, minor, release) in [
            ("1", "36", Some((1, 36))),
            ("1", "29+", Some((1, 29))),
            ("1", "", None),
            ("", "x", None),
        ] {
            let version = ServerVersion {
                major: major.into(),
                minor: minor.into(),
                ..ServerVersion::default()
            };
            assert_eq!(version.release(), release, "{major}.{minor}");
        }
    }
}
