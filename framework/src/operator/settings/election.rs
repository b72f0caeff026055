use std::{fmt, time::Duration};

use clap::{Arg, error::Error};
use jiff::SignedDuration;

use super::{Defaults, Settings, grammar::switch, setting::error};
use crate::{
    election::{ElectionSettings, Part},
    resource::dns,
};

/// Heading of the help.
const ELECTION: &str = "Leader election";

/// The election that the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::operator) struct ElectionFlags {
    pub(in crate::operator) name: String,
    pub(in crate::operator) namespace: Option<String>,
    pub(in crate::operator) lease_duration: Duration,
    pub(in crate::operator) renew_deadline: Duration,
    pub(in crate::operator) retry_period: Duration,
}

/// The flags of an operator of that name, which elects or does not unless somebody says otherwise.
pub(super) fn args(operator: &str, defaults: &Defaults, elects: bool) -> [Arg; 6] {
    let program = settings(operator, defaults);
    let arg = |name: &'static str, value: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(value)
            .help_heading(ELECTION)
    };
    let time = |part: Part, time: Duration| {
        arg(flag(part), "TIME")
            .value_parser(parse_duration)
            .default_value(format!("{time:?}"))
    };
    let name = arg(flag(Part::Name), "NAME").value_parser(parse_name);
    // A name that is none is told of where it is needed, and only there.
    let name = match parse_name(&program.name) {
        Ok(program) => name.default_value(program),
        Err(_) => name,
    };
    let namespace = arg(flag(Part::Namespace), "NAME").value_parser(parse_namespace);
    let namespace = match program.namespace {
        Some(program) => namespace
            .default_value(program)
            .help("Namespace of the Lease"),
        None => namespace.help(
            "Namespace of the Lease [default: that of the pod, or of the kubeconfig's context]",
        ),
    };
    [
        switch("leader-elect", elects, ELECTION)
            .help("Of several processes one works, the others stand by"),
        name.help("Name of the Lease that decides which one"),
        namespace,
        time(Part::LeaseDuration, program.lease_duration)
            .help("Others take over when they saw no renewal for so long"),
        time(Part::RenewDeadline, program.renew_deadline)
            .help("Who has not renewed for so long does not lead any more, and ends"),
        time(Part::RetryPeriod, program.retry_period)
            .help("Time between renewals, and between attempts to lead"),
    ]
}

impl ElectionFlags {
    /// What the settings say; `None` when nobody is elected.
    ///
    /// # Errors
    /// They are wrong together; the text says which of them, with where each stands.
    pub(in crate::operator) fn read(
        operator: &str,
        defaults: &Defaults,
        given: &Settings,
    ) -> Result<Option<Self>, Error> {
        let matches = &given.matches;
        if !matches.get_one("leader-elect").copied().unwrap_or(false) {
            return Ok(None);
        }
        let program = settings(operator, defaults);
        let text = |part| matches.get_one::<String>(flag(part)).cloned();
        let time = |part, default| {
            let given = matches.get_one::<Duration>(flag(part));
            given.copied().unwrap_or(default)
        };
        let flags = Self {
            name: text(Part::Name).unwrap_or(program.name),
            namespace: text(Part::Namespace).or(program.namespace),
            lease_duration: time(Part::LeaseDuration, program.lease_duration),
            renew_deadline: time(Part::RenewDeadline, program.renew_deadline),
            retry_period: time(Part::RetryPeriod, program.retry_period),
        };
        let called = |part: Part, value: &str| {
            let flag = flag(part);
            format!("--{flag} ({value}: {})", given.origin(flag))
        };
        let settings = flags.clone().onto(None);
        match settings.check_as(called) {
            Ok(()) => Ok(Some(flags)),
            Err(wrong) => Err(error(wrong)),
        }
    }

    /// Together with what only the program says of its election.
    pub(in crate::operator) fn onto(self, program: Option<ElectionSettings>) -> ElectionSettings {
        let mut settings = program.unwrap_or_else(|| ElectionSettings::new(""));
        settings.name = self.name;
        settings.namespace = self.namespace;
        settings.times(self.lease_duration, self.renew_deadline, self.retry_period)
    }
}

/// What the program says, or would.
fn settings(operator: &str, defaults: &Defaults) -> ElectionSettings {
    let program = defaults.election.clone();
    program.unwrap_or_else(|| ElectionSettings::new(operator))
}

fn flag(part: Part) -> &'static str {
    match part {
        Part::Name => "lease-name",
        Part::Namespace => "lease-namespace",
        Part::LeaseDuration => "lease-duration",
        Part::RenewDeadline => "renew-deadline",
        Part::RetryPeriod => "retry-period",
    }
}

fn parse_name(text: &str) -> Result<String, String> {
    named(text, "the name of a Lease", dns::check_subdomain)
}

fn parse_namespace(text: &str) -> Result<String, String> {
    named(text, "the name of a namespace", dns::check_label)
}

fn named(
    text: &str,
    what: impl fmt::Display,
    check: impl Fn(&str) -> Result<(), &'static str>,
) -> Result<String, String> {
    match check(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(has_to) => Err(format!("{what} {has_to}")),
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let parsed = text.parse::<SignedDuration>().ok();
    let parsed = parsed.and_then(|parsed| Duration::try_from(parsed).ok());
    parsed.ok_or_else(|| format!("`{text}` is no time: write `15s`, `500ms` or `1m30s`"))
}
