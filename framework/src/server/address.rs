use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

/// Where to listen: `host:port` with an IP address as host, or `:port` for every address of the
/// machine. Port 0 takes a free one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// `None` for every address of the machine.
    pub host: Option<IpAddr>,
    /// The TCP port.
    pub port: u16,
}

impl Address {
    /// That port on IPv4 loopback.
    pub const fn loopback(port: u16) -> Self {
        Self {
            host: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            port,
        }
    }

    /// What to bind, best first: for every address of the machine that is IPv6's wildcard, which takes
    /// IPv4 as well, and IPv4's where there is no IPv6.
    pub(super) fn candidates(&self) -> Vec<SocketAddr> {
        match self.host {
            Some(host) => vec![SocketAddr::new(host, self.port)],
            None => vec![
                SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), self.port),
                SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), self.port),
            ],
        }
    }
}

/// A text that is no [`Address`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no address: write `:8080`, `127.0.0.1:8080` or `[::1]:8080`")]
pub struct InvalidAddress {
    /// The text.
    pub text: String,
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let invalid = || InvalidAddress { text: text.into() };
        match text.strip_prefix(':') {
            Some(port) => Ok(Self {
                host: None,
                port: port.parse().map_err(|_| invalid())?,
            }),
            None => {
                let address: SocketAddr = text.parse().map_err(|_| invalid())?;
                Ok(Self {
                    host: Some(address.ip()),
                    port: address.port(),
                })
            }
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host {
            Some(host) => SocketAddr::new(host, self.port).fmt(f),
            None => write!(f, ":{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_as_it_is_written() {
        for text in [":8080", "127.0.0.1:0", "[::1]:9"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_address_says_how_one_is_written() {
        for text in ["", "8080", "localhost:8080", ":x", ":70000"] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{text}` is no address")),
                "{error}"
            );
        }
    }
}
