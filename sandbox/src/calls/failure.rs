use std::io;

use rustls::CertificateError;

/// An error of a connection in the words of Go. `address` is the address that was dialed.
pub(super) fn dial(address: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!("dial tcp {address}: connect: connection refused")
        }
        io::ErrorKind::TimedOut => format!("dial tcp {address}: i/o timeout"),
        _ => format!("dial tcp {address}: {error}"),
    }
}

/// A host that has no address.
pub(super) fn lookup(host: &str) -> String {
    format!("dial tcp: lookup {host}: no such host")
}

/// An error of a TLS handshake in the words of Go. `host` is the name that the certificate should have.
pub(super) fn handshake(host: &str, error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|error| error.downcast_ref());
    let Some(rustls::Error::InvalidCertificate(wrong)) = inner else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => "EOF".into(),
            _ => format!("tls: {error}"),
        };
    };
    let why = match wrong {
        CertificateError::UnknownIssuer => "certificate signed by unknown authority".to_owned(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "certificate has expired or is not yet valid".to_owned()
        }
        CertificateError::NotValidForName => format!("certificate is not valid for {host}"),
        CertificateError::NotValidForNameContext { presented, .. } => names(host, presented),
        other => other.to_string(),
    };
    format!("tls: failed to verify certificate: x509: {why}")
}

/// A certificate for other names. rustls writes them as `DnsName("web")` and `IpAddress(127.0.0.1)`.
fn names(host: &str, presented: &[String]) -> String {
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    let of_kind = presented
        .iter()
        .filter(|name| name.starts_with("IpAddress") == is_address);
    let names: Vec<&str> = of_kind
        .filter_map(|name| {
            let inner = name.split_once('(')?.1.strip_suffix(')')?;
            Some(inner.trim_matches('"'))
        })
        .collect();
    match (is_address, names.is_empty()) {
        (true, true) => {
            format!("cannot validate certificate for {host} because it doesn't contain any IP SANs")
        }
        (false, true) => {
            format!("certificate is not valid for any names, but wanted to match {host}")
        }
        _ => format!("certificate is valid for {}, not {host}", names.join(", ")),
    }
}

/// How many bytes of an answer an error shows.
const SHOWN: usize = 2048;

/// An answer that is not a success, in the words of client-go.
pub(super) fn answer(code: u16, content_type: &str, body: &[u8]) -> String {
    if let Ok(status) = serde_json::from_slice::<serde_json::Value>(body)
        && status["kind"] == "Status"
        && status["apiVersion"] == "v1"
        && let Some(message) = status["message"].as_str()
    {
        return message.to_owned();
    }
    let is_text = content_type.is_empty() || content_type.starts_with("text/");
    let shown = body.get(..SHOWN).unwrap_or(body);
    let text = match is_text {
        true => String::from_utf8_lossy(shown).trim().to_owned(),
        false => "unknown".to_owned(),
    };
    match code {
        400 => "the server rejected our request for an unknown reason".into(),
        401 => "the server has asked for the client to provide credentials".into(),
        403 | 415 => text,
        404 => "the server could not find the requested resource".into(),
        405 => "the server does not allow this method on the requested resource".into(),
        406 if text.is_empty() || text == "unknown" => {
            "the server was unable to respond with a content type that the client supports".into()
        }
        406 => text,
        409 => "the server reported a conflict".into(),
        422 => "the server rejected our request due to an error in our request".into(),
        429 => "the server has received too many requests and has asked us to try again later".into(),
        503 => "the server is currently unable to handle the request".into(),
        504 => "the server was unable to return a response in the time allotted, but may still be processing the request".into(),
        500.. => format!("an error on the server ({text:?}) has prevented the request from succeeding"),
        _ => format!(
            "the server responded with the status code {code} but did not return more information"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_fails_is_told_in_the_words_of_client_go() {
        assert_eq!(
            answer(500, "text/plain; charset=utf-8", b"boom\n"),
            "an error on the server (\"boom\") has prevented the request from succeeding"
        );
        assert_eq!(
            answer(500, "application/json", b"{}"),
            "an error on the server (\"unknown\") has prevented the request from succeeding"
        );
        assert_eq!(
            answer(404, "text/plain", b"404 page not found"),
            "the server could not find the requested resource"
        );
        assert_eq!(
            answer(302, "", b""),
            "the server responded with the status code 302 but did not return more information"
        );
        let status = br#"{"kind":"Status","apiVersion":"v1","message":"not today"}"#;
        assert_eq!(answer(503, "application/json", status), "not today");
    }

    #[test]
    fn a_certificate_for_other_names_lists_them() {
        let presented = [
            "DnsName(\"web\")".to_owned(),
            "IpAddress(10.0.0.1)".to_owned(),
        ];
        assert_eq!(
            names("shop", &presented),
            "certificate is valid for web, not shop"
        );
        assert_eq!(
            names("127.0.0.1", &presented),
            "certificate is valid for 10.0.0.1, not 127.0.0.1"
        );
        assert_eq!(
            names("127.0.0.1", &presented[..1]),
            "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"
        );
    }
}
