use std::path::PathBuf;

use clap::{Arg, error::Error, value_parser};

use super::{
    Defaults, Settings,
    grammar::{ENDPOINTS, MetricsAddress, switch},
    setting::error,
};
use crate::operator::Serving;

/// How the command line asks for metrics, health and the debug page to be served.
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

pub(super) fn args(defaults: &Defaults) -> [Arg; 7] {
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
            .help("Serve over HTTPS, by a certificate that nobody can verify unless one is named"),
        file(CERT_PATH, "FOLDER")
            .help("Where the certificate and its key are, as in a mounted Secret"),
        file(CERT_NAME, "FILE").help("The certificate's file in that folder [default: tls.crt]"),
        file(CERT_KEY, "FILE").help("The key's file in that folder [default: tls.key]"),
        switch(AUTH, serving.is_authorized(), ENDPOINTS).help(
            "Show metrics and the debug page to those only whom the API server lets read them",
        ),
        switch(DEBUG_PAGE, defaults.debug_page, ENDPOINTS)
            .help("Serve /debug there: a page of what the operator does, object by object"),
        Arg::new(DEBUG_HOST)
            .long(DEBUG_HOST)
            .value_name("NAME")
            .value_delimiter(',')
            .default_values(&defaults.debug_hosts)
            .help_heading(ENDPOINTS)
            .help("Answer requests for /debug by this host name, too, or by these: one,other"),
    ]
}

impl ServingFlags {
    /// What the settings say.
    ///
    /// # Errors
    /// One of them says nothing because of another; the text says which, with where each stands.
    pub(in crate::operator) fn read(defaults: &Defaults, given: &Settings) -> Result<Self, Error> {
        let matches = &given.matches;
        let is_on = |name| matches.get_one(name).copied().unwrap_or(false);
        let path = |name| matches.get_one::<PathBuf>(name).cloned();
        let hosts = matches.get_many::<String>(DEBUG_HOST);
        let program = &defaults.serving;
        let address = matches.get_one::<MetricsAddress>(ADDRESS);
        if address.is_some_and(|address| address.0.is_none()) {
            let why = format!("as --{ADDRESS} is 0 ({})", given.origin(ADDRESS));
            let switches = [
                (SECURE, program.is_secure()),
                (AUTH, program.is_authorized()),
                (DEBUG_PAGE, defaults.debug_page),
            ];
            for (said, program) in switches {
                if is_on(said) && !program {
                    because(given, said, ADDRESS, &why)?;
                }
            }
        }
        if !is_on(DEBUG_PAGE) {
            because(
                given,
                DEBUG_HOST,
                DEBUG_PAGE,
                &format!("without --{DEBUG_PAGE}"),
            )?;
        }
        if !is_on(SECURE) {
            for said in [CERT_PATH, CERT_NAME, CERT_KEY] {
                because(given, said, SECURE, &format!("without --{SECURE}"))?;
            }
        }
        let folder = path(CERT_PATH);
        if folder.is_none() {
            for said in [CERT_NAME, CERT_KEY] {
                because(given, said, CERT_PATH, &format!("without --{CERT_PATH}"))?;
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

/// That `said` says nothing because of another setting, unless that one comes before it: who says so overrules.
fn because(given: &Settings, said: &str, other: &str, why: &str) -> Result<(), Error> {
    let origin = given.origin(said);
    match origin.is_default() || given.origin(other).comes_before(&origin) {
        true => Ok(()),
        false => Err(error(format!("--{said} ({origin}) says nothing {why}"))),
    }
}
