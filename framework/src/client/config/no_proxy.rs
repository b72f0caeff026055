use std::net::IpAddr;

/// The servers that are not reached through the proxy of the environment: `NO_PROXY`, read as programs in Go read it
/// (golang.org/x/net/http/httpproxy). So it means the same here as for kubectl.
///
/// Entries are separated by commas:
/// * `*`: all servers;
/// * `10.0.0.0/8`, `fd00::/8`: addresses in this range, whatever the port;
/// * `10.0.0.1`, `fd00::1`, `10.0.0.1:6443`, `[fd00::1]:6443`: this address, with this port if there is one;
/// * `example.com`, `example.com:6443`: this name and all below it;
/// * `.example.com`, `*.example.com`: all names below it.
///
/// Names are compared without regard to case and never looked up, so a range does not apply to names. `localhost` and
/// loopback addresses are never reached through a proxy. Other entries are ignored. A name that is not ASCII must be
/// written as in the server's URL (`xn--…`).
#[derive(Default)]
pub(super) struct NoProxy {
    everything: bool,
    ranges: Vec<(IpAddr, u8)>,
    addresses: Vec<(IpAddr, String)>,
    names: Vec<Name>,
}

struct Name {
    /// With the leading dot.
    suffix: String,
    below_only: bool,
    /// As it was written. Empty for any port.
    port: String,
}

impl NoProxy {
    pub(super) fn parse(text: &str) -> Self {
        let mut all = Self::default();
        for entry in text.split(',') {
            all.add(&entry.trim().to_ascii_lowercase());
        }
        all
    }

    fn add(&mut self, entry: &str) {
        if entry == "*" {
            self.everything = true;
            return;
        }
        if let Some(range) = range(entry) {
            self.ranges.push(range);
            return;
        }
        let (host, port) = split_port(entry).unwrap_or((entry, ""));
        let port = port.to_owned();
        if let Ok(address) = host.parse::<IpAddr>() {
            self.addresses.push((address.to_canonical(), port));
            return;
        }
        let host = match host.strip_prefix('*') {
            Some(below) if below.starts_with('.') => below,
            _ => host,
        };
        if host.is_empty() {
            return;
        }
        let below_only = host.starts_with('.');
        self.names.push(Name {
            suffix: if below_only {
                host.to_owned()
            } else {
                format!(".{host}")
            },
            below_only,
            port,
        });
    }

    /// Whether `host`, without brackets, is reached directly at `port`.
    pub(super) fn excludes(&self, host: &str, port: u16) -> bool {
        let host = host.to_ascii_lowercase();
        if host == "localhost" {
            return true;
        }
        let port = port.to_string();
        let fits = |wanted: &str| wanted.is_empty() || wanted == port;
        // An IPv6 address may name an interface. Such a host is never a name.
        let address = host.split('%').next().unwrap_or_default();
        if let Ok(address) = address.parse::<IpAddr>() {
            let address = address.to_canonical();
            return self.everything
                || address.is_loopback()
                || self.ranges.iter().any(|range| contains(*range, address))
                || self
                    .addresses
                    .iter()
                    .any(|(own, port)| *own == address && fits(port));
        }
        self.everything
            || self.names.iter().any(|name| {
                let is_it = !name.below_only && name.suffix.strip_prefix('.') == Some(&*host);
                (is_it || host.ends_with(&name.suffix)) && fits(&name.port)
            })
    }
}

/// An address range in CIDR notation.
fn range(entry: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = entry.split_once('/')?;
    let address = address.parse::<IpAddr>().ok()?;
    let digits = !length.is_empty() && length.bytes().all(|digit| digit.is_ascii_digit());
    let length = length.parse::<u8>().ok().filter(|_| digits)?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    if length > most {
        return None;
    }
    match address.to_canonical() {
        IpAddr::V4(inner) if address.is_ipv6() => {
            // A range of IPv4 addresses in IPv6's notation.
            length
                .checked_sub(96)
                .map(|length| (IpAddr::V4(inner), length))
        }
        address => Some((address, length)),
    }
}

fn contains((network, length): (IpAddr, u8), address: IpAddr) -> bool {
    let (different, width) = match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            ((network.to_bits() ^ address.to_bits()).into(), 32)
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => (network.to_bits() ^ address.to_bits(), 128),
        _ => return false,
    };
    // The differing bits without those after the prefix.
    u128::checked_shr(different, width - u32::from(length)).unwrap_or(0) == 0
}

/// Host and port of `host:port` or `[address]:port`.
fn split_port(entry: &str) -> Option<(&str, &str)> {
    let (host, port) = entry.rsplit_once(':')?;
    let host = match host.strip_prefix('[') {
        Some(host) => host.strip_suffix(']')?,
        None if host.contains(':') => return None,
        None => host,
    };
    (![host, port].concat().contains(['[', ']'])).then_some((host, port))
}
