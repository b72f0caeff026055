use http::uri::Authority;

/// The port in `authority`, or else `default`. `None` if the text there is not a port; `Authority` itself treats that
/// as no port.
pub(crate) fn port(authority: &Authority, default: u16) -> Option<u16> {
    let text = authority.as_str();
    let address = text.rsplit_once('@').map_or(text, |(_, address)| address);
    match address.strip_prefix(authority.host()) {
        Some("" | ":") => Some(default),
        _ => authority.port_u16().filter(|port| *port != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_port_does_not_count_as_no_port() {
        let table = [
            ("host", Some(443)),
            ("host:", Some(443)),
            ("user:80@[fd00::1]", Some(443)),
            ("[fd00::1]:6443", Some(6443)),
            ("host:0", None),
            ("host:64430", Some(64430)),
            ("host:664430", None),
            ("host:https", None),
        ];
        for (text, expected) in table {
            assert_eq!(port(&text.parse().unwrap(), 443), expected, "{text}");
        }
    }
}
