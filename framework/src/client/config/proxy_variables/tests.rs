use http::Uri;

use super::*;

/// The variables of an environment.
fn variables(set: &[(&str, &str)]) -> ProxyVariables {
    ProxyVariables::of(|name| {
        let found = set.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

/// The proxy for `server`, or the error.
fn proxy(set: &[(&str, &str)], server: &str) -> String {
    let server: Uri = server.parse().unwrap();
    match variables(set).proxy_for(&server) {
        Ok(Some(proxy)) => proxy.shown(),
        Ok(None) => "direct".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// The variables, the server, and the expected result.
type Case = (
    &'static [(&'static str, &'static str)],
    &'static str,
    &'static str,
);

#[test]
fn each_kind_of_server_has_its_variable_and_capitals_come_first() {
    let table: &[Case] = &[
        (&[], "https://host", "direct"),
        (
            &[("HTTPS_PROXY", "s"), ("HTTP_PROXY", "p")],
            "https://host",
            "http://s:80 (HTTPS_PROXY)",
        ),
        (
            &[("HTTPS_PROXY", "s"), ("HTTP_PROXY", "p:9")],
            "http://host",
            "http://p:9 (HTTP_PROXY)",
        ),
        (&[("HTTPS_PROXY", "s")], "http://host", "direct"),
        (&[("HTTP_PROXY", "p")], "https://host", "direct"),
        (&[("ALL_PROXY", "p")], "https://host", "direct"),
        (
            &[("HTTPS_PROXY", ""), ("https_proxy", "https://l")],
            "https://host",
            "https://l:443 (https_proxy)",
        ),
        (
            &[("HTTPS_PROXY", "socks5://U:1"), ("https_proxy", "l")],
            "https://host",
            "socks5://U:1 (HTTPS_PROXY)",
        ),
        (
            &[
                ("HTTPS_PROXY", "p"),
                ("NO_PROXY", "other"),
                ("no_proxy", "host"),
            ],
            "https://host",
            "http://p:80 (HTTPS_PROXY)",
        ),
        (
            &[("HTTPS_PROXY", "p"), ("no_proxy", "host")],
            "https://host",
            "direct",
        ),
        (
            &[("HTTPS_PROXY", "p"), ("REQUEST_METHOD", "GET")],
            "https://host",
            "http://p:80 (HTTPS_PROXY)",
        ),
        (
            &[("HTTP_PROXY", "p"), ("REQUEST_METHOD", "GET")],
            "http://host",
            "HTTP_PROXY is not used in a CGI program (REQUEST_METHOD is set), where anybody may set it by a header: unset one of them",
        ),
    ];
    for (set, server, expected) in table {
        assert_eq!(proxy(set, server), *expected, "{set:?}");
    }
}

#[test]
fn an_invalid_proxy_address_is_an_error_only_if_it_would_be_used() {
    let set = [("HTTPS_PROXY", "foo://me:hunter2@p"), ("NO_PROXY", "host")];
    assert_eq!(proxy(&set, "https://host"), "direct");
    assert_eq!(
        proxy(&set, "https://other"),
        "HTTPS_PROXY: a proxy's URL must begin with http://, https:// or socks5://"
    );
    assert!(!format!("{:?}", variables(&set)).contains("hunter2"));
}

/// Servers that are never reached through a proxy of the environment.
const ALWAYS: &str = "localhost:6443 127.0.0.2 [::1]:6443 [::ffff:127.0.0.1]";

const SERVERS: &[&str] = &[
    "example.com",
    "example.com:6443",
    "EXAMPLE.com",
    "www.example.com",
    "notexample.com",
    "example.com.",
    "localhost:6443",
    "127.0.0.2",
    "[::1]:6443",
    "[::2]",
    "[::ffff:127.0.0.1]",
    "10.0.0.1",
    "10.0.0.1:6443",
    "11.0.0.1",
    "[fd00::1]:6443",
    "[fe00::1]",
    "[::ffff:10.0.0.1]",
    "kubernetes.default.svc",
    "www.wildcard.io",
    "wildcard.io",
    "barbaz.net",
    "a.barbaz.net",
    "192.168.1.2:81",
    "192.168.1.3",
    "[2001:db8::52:0:2]",
    "[2002:db8:a::123]",
    "http://10.0.0.3",
    "10.0.0.4",
];

/// `NO_PROXY`, and the servers that are then reached directly, beside those that always are. The answers are those of
/// golang.org/x/net/http/httpproxy v0.57.0.
const TABLE: &[(&str, &str)] = &[
    ("", ""),
    ("*", "everything"),
    ("a, *", "everything"),
    (
        "foobar.com, .barbaz.net, *.wildcard.io, 192.168.1.1, 192.168.1.2:81, 192.168.1.3:80, 10.0.0.0/30, 2001:db8::52:0:1, [2001:db8::52:0:2]:443, [2001:db8::52:0:3]:80, 2002:db8:a::45/64",
        "10.0.0.1 10.0.0.1:6443 [::ffff:10.0.0.1] www.wildcard.io a.barbaz.net 192.168.1.2:81 [2001:db8::52:0:2] [2002:db8:a::123] http://10.0.0.3",
    ),
    (":1", ""),
    (
        "Example.COM",
        "example.com example.com:6443 EXAMPLE.com www.example.com",
    ),
    (".example.com", "www.example.com"),
    ("*.example.com", "www.example.com"),
    ("ample.com", ""),
    ("example.com:443", "example.com EXAMPLE.com www.example.com"),
    ("example.com:6443", "example.com:6443"),
    (
        "example.com:",
        "example.com example.com:6443 EXAMPLE.com www.example.com",
    ),
    ("*example.com", ""),
    (
        "10.0.0.0/8",
        "10.0.0.1 10.0.0.1:6443 [::ffff:10.0.0.1] http://10.0.0.3 10.0.0.4",
    ),
    (
        "10.1.2.3/8",
        "10.0.0.1 10.0.0.1:6443 [::ffff:10.0.0.1] http://10.0.0.3 10.0.0.4",
    ),
    ("10.0.0.0/33", ""),
    ("10.0.0.0/", ""),
    (
        "0.0.0.0/0",
        "10.0.0.1 10.0.0.1:6443 11.0.0.1 [::ffff:10.0.0.1] 192.168.1.2:81 192.168.1.3 http://10.0.0.3 10.0.0.4",
    ),
    (
        "::/0",
        "[::2] [fd00::1]:6443 [fe00::1] [2001:db8::52:0:2] [2002:db8:a::123]",
    ),
    (
        "::ffff:10.0.0.0/104",
        "10.0.0.1 10.0.0.1:6443 [::ffff:10.0.0.1] http://10.0.0.3 10.0.0.4",
    ),
    ("10.0.0.1", "10.0.0.1 10.0.0.1:6443 [::ffff:10.0.0.1]"),
    ("10.0.0.1:443", "10.0.0.1 [::ffff:10.0.0.1]"),
    ("10.0.0.1:6443", "10.0.0.1:6443"),
    ("[10.0.0.1]:6443", "10.0.0.1:6443"),
    ("[fd00::1]", ""),
    ("[fd00::1]:6443", "[fd00::1]:6443"),
    ("fd00::1", "[fd00::1]:6443"),
    ("fd00::/8", "[fd00::1]:6443"),
    ("FD00::1", "[fd00::1]:6443"),
    (".", "example.com."),
    ("*.", "example.com."),
    ("**", ""),
    ("cluster.local,svc", "kubernetes.default.svc"),
    (
        "::ffff:10.0.0.1",
        "10.0.0.1 10.0.0.1:6443 [::ffff:10.0.0.1]",
    ),
    ("010.0.0.1", ""),
    (
        "10.0.0.0/08",
        "10.0.0.1 10.0.0.1:6443 [::ffff:10.0.0.1] http://10.0.0.3 10.0.0.4",
    ),
];

#[test]
fn no_proxy_is_read_as_by_kubectl() {
    for (no_proxy, direct) in TABLE {
        let set = [
            ("HTTPS_PROXY", "p"),
            ("HTTP_PROXY", "p"),
            ("NO_PROXY", *no_proxy),
        ];
        for server in SERVERS {
            let among = |list: &str| list.split(' ').any(|one| one == *server);
            let expected = *direct == "everything" || among(direct) || among(ALWAYS);
            let url = match server.starts_with("http:") {
                true => (*server).to_owned(),
                false => format!("https://{server}"),
            };
            let is_direct = proxy(&set, &url) == "direct";
            assert_eq!(is_direct, expected, "{server} with NO_PROXY={no_proxy}");
        }
    }
}
