use std::path::PathBuf;

use clap::{Arg, error::Error, value_parser};

use super::{Defaults, Settings, defaults::switch, setting::error};
use crate::{operator::Serving, server::Address};

/// A heading in the help.
pub(super) const ENDPOINTS: &str = "Metrics and health";

/// How metrics, health and the debug page are served, by the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::operator) struct ServingFlags {
    pub(in crate::operator) serving: Serving,
    pub(in crate::operator) debug_page: bool,
    pub(in crate::operator) debug_hosts: Vec<String>,
}

const SECURE: &str = "metrics-secure";
const CERT_PATH: &str = "metrics-cert-path";
const CERT_NAME: &str = "metrics-cert-name";
const CERT_KEY: &str = "metrics-cert-key";
const AUTH: &str = "metrics-auth";
const DEBUG_PAGE: &str = "debug-page";
const DEBUG_HOST: &str = "debug-host";
const ADDRESS: &str = "metrics-address";

/// With `is_local`, for `dev`, the debug page is served unless it is refused.
pub(super) fn args(defaults: &Defaults, is_local: bool) -> [Arg; 7] {
    let file = |name: &'static str, value: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(value)
            .value_parser(value_parser!(PathBuf))
            .help_heading(ENDPOINTS)
    };
    let serving = &defaults.serving;
    [
        switch(SECURE, serving.is_secure(), ENDPOINTS)
            .help("Serve HTTPS; with a self-signed certificate unless one is given"),
        file(CERT_PATH, "FOLDER")
            .help("Folder with the certificate and its key, such as a mounted Secret"),
        file(CERT_NAME, "FILE").help("The certificate's file in that folder [default: tls.crt]"),
        file(CERT_KEY, "FILE").help("The key's file in that folder [default: tls.key]"),
        switch(AUTH, serving.is_authorized(), ENDPOINTS)
            .help("Serve metrics and the debug page only to users that the API server authorizes"),
        switch(DEBUG_PAGE, defaults.debug_page || is_local, ENDPOINTS).help(
            "Also serve /debug: a page that shows the operator's current work for each object",
        ),
        Arg::new(DEBUG_HOST)
            .long(DEBUG_HOST)
            .value_name("NAME")
            .value_delimiter(',')
            .value_parser(parse_debug_host)
            .default_values(
                defaults
                    .debug_hosts
                    .iter()
                    .filter(|name| !name.trim().is_empty()),
            )
            .help_heading(ENDPOINTS)
            .help("Serve /debug also for this host name, or for several: one,other"),
    ]
}

impl ServingFlags {
    /// Reads the flags from the settings.
    ///
    /// # Errors
    /// An error if a setting has no effect because of another one. It names both and their origin.
    pub(in crate::operator) fn read(defaults: &Defaults, given: &Settings) -> Result<Self, Error> {
        let matches = &given.matches;
        let is_on = |name| matches.get_one(name).copied().unwrap_or(false);
        let path = |name| matches.get_one::<PathBuf>(name).cloned();
        let hosts = matches.get_many::<String>(DEBUG_HOST);
        let program = &defaults.serving;
        let address = matches.get_one::<MetricsAddress>(ADDRESS);
        if address.is_some_and(|address| address.0.is_none()) {
            let why = format!("because --{ADDRESS} is 0 ({})", given.origin(ADDRESS));
            let switches = [
                (SECURE, program.is_secure()),
                (AUTH, program.is_authorized()),
                (DEBUG_PAGE, defaults.debug_page),
            ];
            for (said, program) in switches {
                if is_on(said) && !program {
                    check_has_effect(given, said, ADDRESS, &why)?;
                }
            }
        }
        if !is_on(DEBUG_PAGE) {
            check_has_effect(
                given,
                DEBUG_HOST,
                DEBUG_PAGE,
                &format!("without --{DEBUG_PAGE}"),
            )?;
        }
        if !is_on(SECURE) {
            for said in [CERT_PATH, CERT_NAME, CERT_KEY] {
                check_has_effect(given, said, SECURE, &format!("without --{SECURE}"))?;
            }
        }
        let folder = path(CERT_PATH);
        if folder.is_none() {
            for said in [CERT_NAME, CERT_KEY] {
                check_has_effect(given, said, CERT_PATH, &format!("without --{CERT_PATH}"))?;
            }
        }
        let serving = match folder {
            _ if !is_on(SECURE) => Serving::http(),
            Some(folder) => {
                let file = |name, usual: &str| folder.join(path(name).unwrap_or(usual.into()));
                Serving::https(file(CERT_NAME, "tls.crt"), file(CERT_KEY, "tls.key"))
            }
            None if program.is_secure() => program.clone(),
            None => Serving::self_signed(),
        };
        Ok(Self {
            serving: serving.authorized_if(is_on(AUTH)),
            debug_page: is_on(DEBUG_PAGE),
            debug_hosts: hosts.into_iter().flatten().cloned().collect(),
        })
    }
}

/// Parses one item of the list of host names.
fn parse_debug_host(item: &str) -> Result<String, String> {
    match item.trim() {
        "" => Err("the name is empty: write a host name such as `debug.example.com`".into()),
        name => Ok(name.to_owned()),
    }
}

/// An address; `None` turns the endpoints off.
#[derive(Clone)]
pub(in crate::operator) struct MetricsAddress(pub(in crate::operator) Option<Address>);

pub(super) fn parse_metrics_address(text: &str) -> Result<MetricsAddress, String> {
    if text == "0" {
        return Ok(MetricsAddress(None));
    }
    let address = text.parse::<Address>().map_err(|error| error.to_string())?;
    Ok(MetricsAddress(Some(address)))
}

/// Checks that the setting `said` has an effect although `other` turns its feature off. It is an error unless `other`
/// has priority over it: then the user has overridden it on purpose.
fn check_has_effect(given: &Settings, said: &str, other: &str, why: &str) -> Result<(), Error> {
    let origin = given.origin(said);
    match origin.is_default() || given.origin(other).overrides(&origin) {
        true => Ok(()),
        false => Err(error(format!("--{said} ({origin}) has no effect {why}"))),
    }
}
