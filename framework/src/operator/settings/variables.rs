use std::{collections::HashMap, ffi::OsString};

use clap::{Arg, Command, Id};

use super::{Origin, command::takes_settings};

/// A function that reads an environment variable.
pub(in crate::operator) type Environment<'a> = dyn Fn(&str) -> Option<OsString> + 'a;

/// The environment variables of a command line's flags.
#[derive(Debug)]
pub(super) struct Variables {
    prefix: String,
    /// The names that the user's flags set themselves, by flag.
    own: HashMap<Id, String>,
}

impl Variables {
    /// Removes the variables' names from the flags of `command`, so that clap reads no variable.
    /// [`read`](Self::read) reads them instead.
    pub(super) fn take(operator: &str, command: Command) -> (Self, Command) {
        let mut own = HashMap::new();
        let command = without(command, &mut own);
        let prefix = screaming_case(operator);
        (Self { prefix, own }, command)
    }

    /// The name of a flag's variable, such as `WEBSITE_METRICS_ADDRESS` for the operator `website`.
    pub(super) fn name(&self, arg: &Arg) -> String {
        let own = self.own.get(arg.get_id());
        own.cloned().unwrap_or_else(|| {
            let long = arg.get_long().unwrap_or_default();
            format!("{}_{}", self.prefix, screaming_case(long))
        })
    }

    /// The value of a flag's variable. An empty variable counts as not set, because a template may leave it empty.
    pub(super) fn read(
        &self,
        arg: &Arg,
        environment: &Environment<'_>,
    ) -> Option<(OsString, Origin)> {
        let name = self.name(arg);
        let also = (arg.get_id() == "log").then(|| "RUST_LOG".to_owned());
        [Some(name), also].into_iter().flatten().find_map(|name| {
            let value = environment(&name).filter(|value| !value.is_empty())?;
            let setting = !is_service_link(&name, &value, environment);
            setting.then_some((value, Origin::Variable(name)))
        })
    }

    /// The command with the variables' names in its help.
    pub(super) fn with_names_in_help(&self, command: Command) -> Command {
        let command = command.mut_args(|arg| {
            let id = arg.get_id().as_str();
            let only_argument = ["print-settings", "api-server-kubeconfig"].contains(&id);
            if arg.get_long().is_none() || only_argument {
                return arg;
            }
            let name = self.name(&arg);
            arg.env(name).hide_env_values(true)
        });
        command.mut_subcommands(|command| match takes_settings(&command) {
            true => self.with_names_in_help(command),
            false => command,
        })
    }
}

fn without(command: Command, own: &mut HashMap<Id, String>) -> Command {
    let command = command.mut_args(|arg| {
        if let Some(name) = arg.get_env().and_then(|name| name.to_str()) {
            own.insert(arg.get_id().clone(), name.to_owned());
        }
        arg.env(None::<&'static str>)
    });
    command.mut_subcommands(|command| without(command, own))
}

/// The name of the variable for a setting of the framework, such as `WEBSITE_METRICS_ADDRESS`.
pub(in crate::operator) fn variable(operator: &str, setting: &str) -> String {
    format!("{}_{}", screaming_case(operator), screaming_case(setting))
}

fn screaming_case(name: &str) -> String {
    let upper = |letter: char| match letter.is_ascii_alphanumeric() {
        true => letter.to_ascii_uppercase(),
        false => '_',
    };
    name.chars().map(upper).collect()
}

/// Whether this is not a setting but a variable that Kubernetes sets for a Service. For a Service `website`, a
/// container has `WEBSITE_PORT=tcp://10.0.0.1:80` and `WEBSITE_SERVICE_HOST`.
fn is_service_link(name: &str, value: &OsString, environment: &Environment<'_>) -> bool {
    let service = name.strip_suffix("_PORT");
    let link = value.to_str().is_some_and(|value| value.contains("://"));
    link && service.is_some_and(|service| environment(&format!("{service}_SERVICE_HOST")).is_some())
}
