use std::{collections::HashMap, ffi::OsString};

use clap::{Arg, Command, Id};

use super::Origin;

/// How an environment variable is read.
pub(in crate::operator) type Environment<'a> = dyn Fn(&str) -> Option<OsString> + 'a;

/// The environment variables that belong to the flags of a command line.
#[derive(Debug)]
pub(super) struct Variables {
    prefix: String,
    /// Names that the user's flags say themselves, by flag.
    own: HashMap<Id, String>,
}

impl Variables {
    /// Takes the names that flags have from `command`, which reads no variable any more: their values pass through
    /// [`read`](Self::read).
    pub(super) fn take(operator: &str, command: Command) -> (Self, Command) {
        let mut own = HashMap::new();
        let command = without(command, &mut own);
        let prefix = shouted(operator);
        (Self { prefix, own }, command)
    }

    /// The name of a flag's variable: `WEBSITE_METRICS_ADDRESS` of the operator `website`.
    pub(super) fn name(&self, arg: &Arg) -> String {
        let own = self.own.get(arg.get_id());
        own.cloned().unwrap_or_else(|| {
            let long = arg.get_long().unwrap_or_default();
            format!("{}_{}", self.prefix, shouted(long))
        })
    }

    /// What the environment says of a flag. An empty variable says nothing: a template that leaves it empty means that.
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
    pub(super) fn shown(&self, command: Command) -> Command {
        let command = command.mut_args(|arg| {
            if arg.get_long().is_none() || arg.get_id() == "print-settings" {
                return arg;
            }
            let name = self.name(&arg);
            arg.env(name).hide_env_values(true)
        });
        command.mut_subcommands(|command| {
            let takes_settings = command.get_arguments().any(|arg| arg.get_id() == "config");
            match takes_settings {
                true => self.shown(command),
                false => command,
            }
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

fn shouted(name: &str) -> String {
    let shout = |letter: char| match letter.is_ascii_alphanumeric() {
        true => letter.to_ascii_uppercase(),
        false => '_',
    };
    name.chars().map(shout).collect()
}

/// Whether it is not a setting but one of the variables by which Kubernetes tells a container of Services: that of
/// a Service `website` has `WEBSITE_PORT=tcp://10.0.0.1:80` beside `WEBSITE_SERVICE_HOST`.
fn is_service_link(name: &str, value: &OsString, environment: &Environment<'_>) -> bool {
    let service = name.strip_suffix("_PORT");
    let link = value.to_str().is_some_and(|value| value.contains("://"));
    link && service.is_some_and(|service| environment(&format!("{service}_SERVICE_HOST")).is_some())
}
