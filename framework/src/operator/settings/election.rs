use std::{fmt, time::Duration};

use clap::{Arg, error::Error};
use jiff::SignedDuration;

use super::{Defaults, Settings, defaults::switch, setting::error};
use crate::{
    election::{ElectionSetting, ElectionSettings},
    resource::dns,
};

/// A heading in the help.
const ELECTION: &str = "Leader election";

/// The leader election of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::operator) struct ElectionFlags {
    pub(in crate::operator) name: String,
    pub(in crate::operator) namespace: Option<String>,
    pub(in crate::operator) lease_duration: Duration,
    pub(in crate::operator) renew_deadline: Duration,
    pub(in crate::operator) retry_period: Duration,
}

/// The flags for the election of an operator. `elects` is the default of `--leader-elect`.
pub(super) fn args(operator: &str, defaults: &Defaults, elects: bool) -> [Arg; 6] {
    let program = settings(operator, defaults);
    let arg = |name: &'static str, value: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(value)
            .help_heading(ELECTION)
    };
    let time = |setting: ElectionSetting, time: Duration| {
        arg(flag(setting), "TIME")
            .value_parser(parse_duration)
            .default_value(format!("{time:?}"))
    };
    let name = arg(flag(ElectionSetting::Name), "NAME").value_parser(parse_name);
    // If the operator's name is not valid as the name of a Lease, the error is reported only where it is needed.
    let name = match parse_name(&program.name) {
        Ok(program) => name.default_value(program),
        Err(_) => name,
    };
    let namespace = arg(flag(ElectionSetting::Namespace), "NAME").value_parser(parse_namespace);
    let namespace = match program.namespace {
        Some(program) => namespace
            .default_value(program)
            .help("Namespace of the Lease"),
        None => namespace.help(
            "Namespace of the Lease [default: the pod's namespace, or that of the kubeconfig's context]",
        ),
    };
    [
        switch("leader-elect", elects, ELECTION)
            .help("Elect a leader: one process works, the others stand by"),
        name.help("Name of the Lease"),
        namespace,
        time(ElectionSetting::LeaseDuration, program.lease_duration)
            .help("Other processes take over after this time without a renewal"),
        time(ElectionSetting::RenewDeadline, program.renew_deadline)
            .help("A leader that has not renewed for this time stops and exits"),
        time(ElectionSetting::RetryPeriod, program.retry_period)
            .help("Time between renewals, and between attempts to become leader"),
    ]
}

impl ElectionFlags {
    /// The election of the settings. `None` if no leader is elected.
    ///
    /// # Errors
    /// An error that names the settings that contradict each other, and the origin of each.
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
        let text = |setting| matches.get_one::<String>(flag(setting)).cloned();
        let time = |setting, default| {
            let given = matches.get_one::<Duration>(flag(setting));
            given.copied().unwrap_or(default)
        };
        let flags = Self {
            name: text(ElectionSetting::Name).unwrap_or(program.name),
            namespace: text(ElectionSetting::Namespace).or(program.namespace),
            lease_duration: time(ElectionSetting::LeaseDuration, program.lease_duration),
            renew_deadline: time(ElectionSetting::RenewDeadline, program.renew_deadline),
            retry_period: time(ElectionSetting::RetryPeriod, program.retry_period),
        };
        let name_of = |setting: ElectionSetting, value: &str| {
            let flag = flag(setting);
            format!("--{flag} ({value}: {})", given.origin(flag))
        };
        let settings = flags.clone().onto(None);
        match settings.check_as(name_of) {
            Ok(()) => Ok(Some(flags)),
            Err(problem) => Err(error(problem)),
        }
    }

    /// Combines the flags with the options that only the program sets.
    pub(in crate::operator) fn onto(self, program: Option<ElectionSettings>) -> ElectionSettings {
        let mut settings = program.unwrap_or_else(|| ElectionSettings::new(""));
        settings.name = self.name;
        settings.namespace = self.namespace;
        settings.times(self.lease_duration, self.renew_deadline, self.retry_period)
    }
}

/// The program's settings, or the default ones.
fn settings(operator: &str, defaults: &Defaults) -> ElectionSettings {
    let program = defaults.election.clone();
    program.unwrap_or_else(|| ElectionSettings::new(operator))
}

fn flag(setting: ElectionSetting) -> &'static str {
    match setting {
        ElectionSetting::Name => "lease-name",
        ElectionSetting::Namespace => "lease-namespace",
        ElectionSetting::LeaseDuration => "lease-duration",
        ElectionSetting::RenewDeadline => "renew-deadline",
        ElectionSetting::RetryPeriod => "retry-period",
    }
}

fn parse_name(text: &str) -> Result<String, String> {
    checked(text, "the name of a Lease", dns::check_subdomain)
}

pub(super) fn parse_namespace(text: &str) -> Result<String, String> {
    checked(text, "the name of a namespace", dns::check_label)
}

fn checked(
    text: &str,
    what: impl fmt::Display,
    check: impl Fn(&str) -> Result<(), &'static str>,
) -> Result<String, String> {
    match check(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(rule) => Err(format!("{what} {rule}")),
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let parsed = text.parse::<SignedDuration>().ok();
    let parsed = parsed.and_then(|parsed| Duration::try_from(parsed).ok());
    parsed.ok_or_else(|| format!("`{text}` is not a time: write `15s`, `500ms` or `1m30s`"))
}
