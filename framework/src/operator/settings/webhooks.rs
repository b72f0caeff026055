use std::path::PathBuf;

use clap::{Arg, ArgMatches, value_parser};

use super::Defaults;
use crate::{operator::WebhookServing, server::Address};

/// A heading in the help.
const WEBHOOKS: &str = "Webhooks";

const ADDRESS: &str = "webhook-address";
/// The flag for a folder with certificates.
pub(super) const CERTIFICATES: &str = "webhook-certificate-dir";
const URL: &str = "webhook-url";

/// The address in `dev`: a free port, so that several operators run side by side.
const DEV_ADDRESS: &str = "127.0.0.1:0";
/// The URL in `dev`. The port is that of the address.
const DEV_URL: &str = "https://127.0.0.1:0";

/// The flags of a program with webhooks. `is_local` says whether the API server runs in the same process.
pub(super) fn args(defaults: &Defaults, is_local: bool) -> Vec<Arg> {
    let Some(program) = &defaults.webhooks else {
        return Vec::new();
    };
    let (address, url) = match is_local {
        true => (DEV_ADDRESS.to_owned(), Some(DEV_URL.to_owned())),
        false => (program.address.to_string(), program.url.clone()),
    };
    let certificates = program.certificates.iter();
    vec![
        Arg::new(ADDRESS)
            .long(ADDRESS)
            .value_name("ADDRESS")
            .value_parser(|text: &str| text.parse::<Address>())
            .default_value(address)
            .help_heading(WEBHOOKS)
            .help("Serve webhooks over HTTPS at this address"),
        Arg::new(CERTIFICATES)
            .long(CERTIFICATES)
            .value_name("FOLDER")
            .value_parser(value_parser!(PathBuf))
            .default_values(certificates.map(|folder| folder.clone().into_os_string()))
            .help_heading(WEBHOOKS)
            .help("Folder with tls.crt, tls.key and ca.crt; without it the operator makes certificates itself"),
        Arg::new(URL)
            .long(URL)
            .value_name("URL")
            .value_parser(parse_url)
            .default_values(url)
            .help_heading(WEBHOOKS)
            .help("Let the API server call the webhooks at this URL, such as https://192.0.2.1:9443, instead of the Service"),
    ]
}

/// How the command line serves webhooks.
pub(in crate::operator) fn read(program: &WebhookServing, matches: &ArgMatches) -> WebhookServing {
    WebhookServing {
        address: matches.get_one(ADDRESS).copied().unwrap_or(program.address),
        certificates: matches.get_one(CERTIFICATES).cloned(),
        url: matches.get_one(URL).cloned(),
        ..program.clone()
    }
}

/// An API server accepts only HTTPS, and the framework adds the path.
fn parse_url(text: &str) -> Result<String, String> {
    let problem =
        || format!("`{text}` is not the URL of webhooks: write `https://host:port` without a path");
    let text = text.strip_suffix('/').unwrap_or(text);
    let uri: http::Uri = text.parse().map_err(|_| problem())?;
    let is_bare = uri.path() == "/" && uri.query().is_none();
    match uri.scheme_str() == Some("https") && is_bare && uri.host().is_some() {
        true => Ok(text.to_owned()),
        false => Err(problem()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_https_and_no_path() {
        for url in [
            "https://127.0.0.1:9443",
            "https://[::1]:9443/",
            "https://hooks.example.com",
        ] {
            assert_eq!(parse_url(url), Ok(url.trim_end_matches('/').to_owned()));
        }
        for url in [
            "",
            "127.0.0.1:9443",
            "http://127.0.0.1",
            "https://a/validate",
            "https://a?x=1",
        ] {
            assert!(parse_url(url).is_err(), "{url}");
        }
    }
}
