use std::{
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

use clap::{
    ArgMatches, Command,
    error::{ContextKind, ContextValue, Error, ErrorKind},
    parser::ValueSource,
};

use super::{
    Environment, Origin, SettingsFile,
    command::takes_settings,
    print::ResolvedSetting,
    setting::{Setting, error},
    variables::Variables,
};

/// A command line combined with the environment and the settings file.
pub(in crate::operator) struct Settings {
    /// The combined matches of the innermost subcommand.
    pub(in crate::operator) matches: ArgMatches,
    /// The combined matches of the whole command line.
    pub(in crate::operator) whole: ArgMatches,
    /// The subcommand, if one was given.
    pub(in crate::operator) subcommand: Option<String>,
    /// Each setting with its value and origin. A command that takes no settings from elsewhere has only its flags here.
    pub(in crate::operator) resolved: Vec<ResolvedSetting>,
    /// The settings file, if one was given.
    pub(in crate::operator) file: Option<SettingsFile>,
}

impl Settings {
    /// Combines `line`, which starts with the program's name, with the environment and the file. Without an environment neither
    /// counts, and required flags may be missing.
    ///
    /// # Errors
    /// clap's error if the line is invalid or asks for help, or if a value is invalid. The text names the origin of an
    /// invalid value.
    pub(in crate::operator) fn resolve(
        operator: &str,
        command: Command,
        line: Vec<OsString>,
        environment: Option<&Environment<'_>>,
    ) -> Result<Self, Error> {
        let (variables, command) = Variables::take(operator, command);
        let mut built = command.clone();
        built.build();
        let given = match command.clone().try_get_matches_from(&line) {
            // Required flags that are missing here may be set elsewhere.
            Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => {
                let lenient = command.clone().ignore_errors(true);
                lenient.try_get_matches_from(&line)?
            }
            Err(error) if error.kind() == ErrorKind::DisplayHelp => {
                let help = variables
                    .with_names_in_help(command)
                    .try_get_matches_from(&line);
                return Err(help.err().unwrap_or(error));
            }
            given => given.map_err(|error| {
                place_of_flags(operator, &built, &error).unwrap_or(hide_secrets(&built, error))
            })?,
        };
        let whole = given.clone();
        let (subcommand, given) = innermost(given);
        let target = match &subcommand {
            Some(name) => built.find_subcommand(name).unwrap_or(&built),
            None => &built,
        };
        let Some(environment) = environment.filter(|_| takes_settings(target)) else {
            let resolved = Setting::all(target)
                .filter(|setting| is_on_the_line(setting, &given))
                .map(|setting| ResolvedSetting::new(&setting, Origin::Flag, &given))
                .collect();
            return Ok(Self {
                matches: given,
                whole,
                subcommand,
                resolved,
                file: None,
            });
        };
        let file = match config(target, &given, &variables, environment) {
            Some(path) => Some(read(&path, &built)?),
            None => None,
        };
        let mut more = Vec::new();
        let mut origins = Vec::new();
        for setting in Setting::all(target) {
            let value = match is_on_the_line(&setting, &given) {
                true => Some((Vec::new(), Origin::Flag)),
                false => variables
                    .read(setting.arg, environment)
                    .map(|(value, origin)| (vec![value], origin))
                    .or_else(|| {
                        let (values, origin) = file.as_ref()?.get(setting.name)?;
                        Some((values.iter().map(OsString::from).collect(), origin))
                    }),
            };
            let (values, origin) = value.unwrap_or((Vec::new(), Origin::Default));
            if matches!(origin, Origin::Variable(_) | Origin::File { .. }) {
                more.extend(setting.arguments(&values, &origin)?);
            }
            origins.push((setting, origin));
        }
        let mut line = line;
        // Arguments after `--` are not flags.
        let end = line.iter().position(|argument| argument == "--");
        let end = end.unwrap_or(line.len());
        line.splice(end..end, more);
        let matches = command
            .try_get_matches_from(line)
            .map_err(|error| hide_secrets(&built, error))?;
        let whole = matches.clone();
        let (_, matches) = innermost(matches);
        let resolved = origins
            .into_iter()
            .map(|(setting, origin)| ResolvedSetting::new(&setting, origin, &matches))
            .collect();
        Ok(Self {
            matches,
            whole,
            subcommand,
            resolved,
            file,
        })
    }
}

impl Settings {
    /// The origin of a setting's value.
    pub(in crate::operator) fn origin(&self, name: &str) -> Origin {
        let resolved = self.resolved.iter().find(|resolved| resolved.name == name);
        resolved.map_or(Origin::Default, |resolved| resolved.origin.clone())
    }
}

/// Leaves the values out, because one of them may be a secret.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("subcommand", &self.subcommand)
            .finish_non_exhaustive()
    }
}

fn is_on_the_line(setting: &Setting<'_>, given: &ArgMatches) -> bool {
    given.value_source(setting.arg.get_id().as_str()) == Some(ValueSource::CommandLine)
}

fn innermost(matches: ArgMatches) -> (Option<String>, ArgMatches) {
    match matches.subcommand() {
        Some((name, of)) => (Some(name.to_owned()), of.clone()),
        None => (None, matches),
    }
}

fn config(
    command: &Command,
    given: &ArgMatches,
    variables: &Variables,
    environment: &Environment<'_>,
) -> Option<PathBuf> {
    let flag = given.get_one::<PathBuf>("config").cloned();
    flag.or_else(|| {
        let mut args = command.get_arguments();
        let arg = args.find(|arg| arg.get_id() == "config")?;
        let (value, _) = variables.read(arg, environment)?;
        Some(PathBuf::from(value))
    })
}

/// Reads the file and checks all its settings, including those of other subcommands, because all subcommands share
/// one file.
fn read(path: &Path, command: &Command) -> Result<SettingsFile, Error> {
    let file = SettingsFile::read(path).map_err(error)?;
    let commands = || [command].into_iter().chain(command.get_subcommands());
    for entry in &file.entries {
        let settings = commands()
            .filter(|command| takes_settings(command))
            .flat_map(Setting::all);
        let origin = file.origin(entry);
        let mut settings = settings.filter(|setting| setting.name == entry.name);
        let Some(setting) = settings.next() else {
            return Err(error(unknown(&entry.name, &origin, command)));
        };
        if let Some(values) = &entry.values {
            let values: Vec<OsString> = values.iter().map(OsString::from).collect();
            setting.arguments(&values, &origin)?;
        }
    }
    Ok(file)
}

/// The error text for an unknown name.
fn unknown(name: &str, origin: &Origin, command: &Command) -> String {
    let commands = [command].into_iter().chain(command.get_subcommands());
    let settings = commands
        .filter(|command| takes_settings(command))
        .flat_map(Setting::all);
    let mut names: Vec<&str> = settings.map(|setting| setting.name).collect();
    names.sort_unstable();
    names.dedup();
    let flag = format!("--{}", kebab(name));
    let similar = names.iter().find(|known| **known == &flag[2..]);
    let similar = similar.map(|known| (*known).to_owned()).or_else(|| {
        let probe = command.clone().try_get_matches_from(["", &flag]);
        match probe.err()?.get(ContextKind::SuggestedArg)? {
            ContextValue::String(flag) => Some(flag.trim_start_matches('-').to_owned()),
            _ => None,
        }
    });
    let similar = similar.map_or(String::new(), |name| format!("did you mean {name}? "));
    format!(
        "{origin}: unknown setting {name}: {similar}The settings are {}",
        names.join(", ")
    )
}

/// Writes `metricsAddress` and `metrics_address` as `metrics-address`.
fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            kebab.push('-');
        }
        kebab.push(match letter {
            '_' => '-',
            letter => letter.to_ascii_lowercase(),
        });
    }
    kebab
}

/// A flag of `run` or `dev` stands before the subcommand: the error that says where to write it. clap's own error only
/// says that both cannot be used together.
fn place_of_flags(operator: &str, command: &Command, wrong: &Error) -> Option<Error> {
    let (ErrorKind::ArgumentConflict, Some(ContextValue::String(name))) =
        (wrong.kind(), wrong.get(ContextKind::InvalidSubcommand))
    else {
        return None;
    };
    let shown = match wrong.get(ContextKind::PriorArg)? {
        ContextValue::String(flag) => vec![flag.as_str()],
        ContextValue::Strings(flags) => flags.iter().map(String::as_str).collect(),
        _ => return None,
    };
    let subcommand = command.find_subcommand(name)?;
    let flags: Vec<&str> = shown
        .iter()
        .filter_map(|flag| flag.split([' ', '=', '[']).next())
        .collect();
    let known = |flag: &&str| {
        let mut args = subcommand.get_arguments();
        let long = flag.strip_prefix("--");
        long.is_some() && args.any(|arg| arg.get_long() == long)
    };
    (!flags.is_empty() && flags.iter().all(known)).then(|| {
        error(format!(
            "write {} after the subcommand: `{operator} {name} {} …`",
            flags.join(", "),
            flags.join(" … "),
        ))
    })
}

fn hide_secrets(command: &Command, error: Error) -> Error {
    let commands = [command].into_iter().chain(command.get_subcommands());
    commands.fold(error, |error, command| {
        Setting::without_secret(command, error)
    })
}
