use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

/// An address to listen on: `host:port` with an IP address as the host, or `:port` for every address of
/// the machine. Port 0 means a free port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The IP address. `None` means every address of the machine.
    pub host: Option<IpAddr>,
    /// The TCP port.
    pub port: u16,
}

impl Address {
    /// The port on IPv4 loopback.
    pub const fn loopback(port: u16) -> Self {
        Self {
            host: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            port,
        }
    }

    /// The socket addresses to try, best first. For every address of the machine that is the IPv6 wildcard,
    /// which accepts IPv4 too, and then the IPv4 wildcard for machines without IPv6.
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

/// The error of a text that is not an [`Address`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an address to listen on: write `:8080`, `127.0.0.1:8080` or `[::1]:8080`")]
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
    fn an_address_is_printed_as_it_was_parsed() {
        for text in [":8080", "127.0.0.1:0", "[::1]:9"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn an_invalid_address_is_refused_with_examples() {
        for text in ["", "8080", "localhost:8080", ":x", ":70000"] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{text}` is not an address")),
                "{error}"
            );
        }
    }
}
