use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
};

use http::{StatusCode, header, request::Parts, uri::Authority};

use super::{Reply, reply::text_reply};

/// The host names for which a page may be requested, so that no web site can read the page through a
/// browser.
///
/// A web site can let its own name resolve to the address of this server (DNS rebinding). The browser
/// then sends the site's requests to this server and gives the responses to the site. But such a request
/// names the site as its host. A page that is served only for its own hosts is safe.
///
/// These hosts are allowed, with any port:
///
/// * `localhost`, names that end with `.localhost`, and loopback addresses;
/// * the address that the server is bound to. If the server is bound to every address of the machine, any
///   IP address is allowed, because a web site cannot use an address of this machine as its own host;
/// * the names that the caller [adds](Self::names).
///
/// A request for another host, or without a host, gets status 421.
#[derive(Clone, Debug)]
pub struct Hosts {
    bound: IpAddr,
    names: BTreeSet<String>,
}

impl Hosts {
    /// The hosts of a server that is bound to `bound`.
    pub fn new(bound: SocketAddr) -> Self {
        Self {
            bound: bound.ip().to_canonical(),
            names: BTreeSet::new(),
        }
    }

    /// Also allows these names or addresses, such as the name of an Ingress. Upper and lower case are equal.
    #[must_use]
    pub fn names(mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let names = names.into_iter().map(|name| normalized(name.as_ref()));
        self.names.extend(names);
        self
    }

    /// The response to a request for another host. `None` if the host is allowed.
    pub(super) fn refusal(&self, head: &Parts) -> Option<Reply> {
        let in_uri = head.uri.authority().map(Authority::as_str);
        let hosts = head.headers.get_all(header::HOST).iter();
        let hosts = hosts.map(|host| host.to_str().unwrap_or_default());
        let given: Vec<&str> = in_uri.into_iter().chain(hosts).collect();
        let refused = match given.iter().find(|host| !self.allows(host)) {
            Some(host) => format!("the host {host:?} is not allowed for this page"),
            None if given.is_empty() => "the request has no Host header".to_owned(),
            None => return None,
        };
        let text = format!(
            "{refused}: use localhost or an address that the server listens on, or allow the name with --debug-host\n"
        );
        Some(text_reply(StatusCode::MISDIRECTED_REQUEST, text))
    }

    fn allows(&self, given: &str) -> bool {
        let Ok(authority) = given.parse::<Authority>() else {
            return false;
        };
        if given.contains('@') {
            return false;
        }
        let host = normalized(authority.host());
        if self.names.contains(&host) || host == "localhost" || host.ends_with(".localhost") {
            return true;
        }
        let address = host.trim_start_matches('[').trim_end_matches(']');
        let Ok(address) = address.parse::<IpAddr>() else {
            return false;
        };
        let address = address.to_canonical();
        address.is_loopback() || self.bound.is_unspecified() || address == self.bound
    }
}

fn normalized(name: &str) -> String {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn allows(bound: &str, host: &str) -> bool {
        let hosts = Hosts::new(bound.parse().unwrap()).names(["Debug.Example.COM", "10.9.9.9"]);
        let request = Request::get("/debug").header(header::HOST, host);
        let (head, ()) = request.body(()).unwrap().into_parts();
        hosts.refusal(&head).is_none()
    }

    #[test]
    fn hosts_of_the_machine_and_configured_names_are_allowed() {
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "localhost.",
            "website.localhost",
            "127.0.0.1:8080",
            "127.9.9.9",
            "[::1]:8080",
            "10.1.2.3",
            "10.1.2.3:8080",
            "[::ffff:10.1.2.3]",
            "debug.example.com:443",
            "debug.example.com.",
            "10.9.9.9",
        ] {
            assert!(allows("10.1.2.3:8080", host), "{host}");
        }
    }

    #[test]
    fn other_names_and_addresses_are_refused() {
        for host in [
            "",
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "notlocalhost",
            "127.0.0.1.evil.example",
            "10.1.2.4",
            "[2001:db8::1]",
            "localhost@evil.example",
            "evil@localhost",
            "localhost/",
            "localhost, evil.example",
            "\u{e9}vil",
        ] {
            assert!(!allows("10.1.2.3:8080", host), "{host}");
        }
    }

    #[test]
    fn a_server_on_every_address_allows_any_address_but_no_other_name() {
        for bound in ["0.0.0.0:1", "[::]:1"] {
            assert!(allows(bound, "10.1.2.4:8080"));
            assert!(allows(bound, "[2001:db8::1]"));
            assert!(!allows(bound, "evil.example"));
        }
    }

    #[test]
    fn every_host_of_a_request_must_be_allowed_and_one_is_required() {
        let hosts = Hosts::new("127.0.0.1:1".parse().unwrap());
        let check = |uri: &str, given: &[&str]| {
            let request = Request::get(uri);
            let request = given
                .iter()
                .fold(request, |request, host| request.header(header::HOST, *host));
            let (head, ()) = request.body(()).unwrap().into_parts();
            let refusal = hosts.refusal(&head);
            refusal.map(|refused| refused.status().as_u16())
        };
        // In HTTP/2 the URI holds the host.
        assert_eq!(check("http://localhost:1/debug", &[]), None);
        assert_eq!(check("http://evil.example/debug", &[]), Some(421));
        assert_eq!(
            check("http://localhost/debug", &["evil.example"]),
            Some(421)
        );
        assert_eq!(check("/debug", &["localhost", "evil.example"]), Some(421));
        assert_eq!(check("/debug", &[]), Some(421));
    }
}
