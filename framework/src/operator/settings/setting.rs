use std::ffi::{OsStr, OsString};

use clap::{
    Arg, ArgAction, Command,
    error::{ContextKind, ContextValue, Error, ErrorKind},
};

use super::{Origin, command::HANDOVER};

/// Flags that can only be given on the command line.
const NO_SETTINGS: [&str; 6] = [
    "config",
    "print-settings",
    "help",
    "version",
    // Nothing but the command line chooses where `dev` installs definitions.
    "api-server-kubeconfig",
    HANDOVER,
];

/// If the name of a flag ends with one of these words, its value is a secret, even if the flag is not marked.
const SECRETS: [&str; 8] = [
    "password",
    "passphrase",
    "token",
    "secret",
    "key",
    "credential",
    "credentials",
    "secrets",
];

/// Flags whose name ends so but whose value is a path.
const NO_SECRETS: [&str; 1] = ["metrics-cert-key"];

/// A flag as a setting, which the environment and the file may set too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'a> {
    pub(super) arg: &'a Arg,
    pub(super) name: &'a str,
}

impl<'a> Setting<'a> {
    /// All settings of a command.
    pub(super) fn all(command: &'a Command) -> impl Iterator<Item = Self> {
        command.get_arguments().filter_map(|arg| {
            let name = arg.get_long()?;
            let setting = !NO_SETTINGS.contains(&arg.get_id().as_str());
            setting.then_some(Self { arg, name })
        })
    }

    /// Whether its value must never be shown.
    pub(super) fn is_secret(&self) -> bool {
        let last = self.name.rsplit('-').next().unwrap_or_default();
        let is_called_so = SECRETS.contains(&last) && !NO_SECRETS.contains(&self.name);
        self.arg.is_hide_env_values_set() || is_called_so
    }

    /// The command line arguments that set these values.
    ///
    /// # Errors
    /// An error with the origin of the values if the flag does not accept them.
    pub(super) fn arguments(
        &self,
        values: &[OsString],
        origin: &Origin,
    ) -> Result<Vec<OsString>, Error> {
        self.check(values, origin)?;
        let flag = || OsString::from(format!("--{}", self.name));
        let with = |value: &OsStr| {
            let mut argument = flag();
            argument.push("=");
            argument.push(value);
            argument
        };
        let delimited = self.arg.get_value_delimiter();
        let delimiter = OsString::from(String::from_iter(delimited));
        let most = self
            .arg
            .get_num_args()
            .map_or(1, |range| range.max_values());
        match (self.arg.get_action(), values) {
            (ArgAction::SetTrue, [value]) => Ok(is(value, "true").then(flag).into_iter().collect()),
            (ArgAction::SetFalse, [value]) => {
                Ok(is(value, "false").then(flag).into_iter().collect())
            }
            (ArgAction::Count, [value]) => {
                let count = value.to_str().and_then(|value| value.parse().ok());
                Ok(std::iter::repeat_with(flag)
                    .take(count.unwrap_or_default())
                    .collect())
            }
            (ArgAction::Set | ArgAction::Append, []) => Ok(Vec::new()),
            (ArgAction::Set | ArgAction::Append, values) if delimited.is_some() => {
                Ok(vec![with(&values.join(&*delimiter))])
            }
            (ArgAction::Append, values) => Ok(values.iter().map(|value| with(value)).collect()),
            (ArgAction::Set, [value]) => Ok(vec![with(value)]),
            (ArgAction::Set, values) if most >= values.len() => {
                let mut arguments = vec![flag()];
                arguments.extend(values.iter().cloned());
                Ok(arguments)
            }
            (_, values) => Err(error(format!(
                "{origin}: {} takes one value, not {}",
                self.name,
                values.len()
            ))),
        }
    }

    /// Checks each value separately before clap sees all of them, because clap's error would not know the origin.
    fn check(&self, values: &[OsString], origin: &Origin) -> Result<(), Error> {
        let probe = Arg::new("value")
            .long("value")
            .action(ArgAction::Append)
            .num_args(1)
            .allow_hyphen_values(true)
            .value_parser(self.arg.get_value_parser().clone());
        let probe = match self.arg.get_value_delimiter() {
            Some(delimiter) => probe.value_delimiter(delimiter),
            None => probe,
        };
        let line = values.iter().map(|value| {
            let mut argument = OsString::from("--value=");
            argument.push(value);
            argument
        });
        let command = Command::new("")
            .no_binary_name(true)
            .disable_help_flag(true);
        match command.arg(probe).try_get_matches_from(line) {
            Ok(_) => Ok(()),
            Err(wrong) => {
                let shown = text(&wrong, ContextKind::InvalidValue);
                let value = shown.filter(|_| !self.is_secret());
                let value = value.map_or(String::new(), |value| format!(" '{value}'"));
                Err(error(format!(
                    "{origin}: invalid value{value} for {}{}",
                    self.name,
                    match self.is_secret() {
                        true => " (a secret, not shown)".to_owned(),
                        false => reason(&wrong),
                    }
                )))
            }
        }
    }

    /// clap's error for a value on the command line, without the value if it is a secret.
    pub(super) fn without_secret(command: &Command, wrong: Error) -> Error {
        let invalid = matches!(
            wrong.kind(),
            ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::InvalidUtf8
        );
        let flag = text(&wrong, ContextKind::InvalidArg).unwrap_or_default();
        let flag = flag.split([' ', '=', '[']).next().unwrap_or_default();
        let of = flag.strip_prefix("--").unwrap_or_default();
        let secret = Setting::all(command).any(|setting| setting.name == of && setting.is_secret());
        match invalid && secret {
            true => error(format!("invalid value for {flag} (a secret, not shown)")),
            false => wrong,
        }
    }
}

fn is(value: &OsStr, expected: &str) -> bool {
    value.to_str() == Some(expected)
}

/// An error about a setting, in one line.
pub(in crate::operator) fn error(text: String) -> Error {
    Error::raw(ErrorKind::ValueValidation, text + "\n")
}

fn text(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join(", ")),
        _ => None,
    }
}

/// The reason why clap refuses the value.
fn reason(error: &Error) -> String {
    if let Some(source) = std::error::Error::source(error) {
        return format!(": {source}");
    }
    match text(error, ContextKind::ValidValue) {
        Some(valid) if !valid.is_empty() => format!(": possible values: {valid}"),
        _ => String::new(),
    }
}
