use std::{collections::BTreeSet, ffi::OsString, path::PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;

use super::{
    logs::{Filter, LogFormat},
    settings::{
        Defaults, ElectionFlags, Environment, MetricsAddress, ServingFlags, Settings, command,
        print,
    },
};
use crate::{client::KubeconfigOptions, server::Address};

/// What the command line asks for.
#[derive(Debug)]
pub(super) struct CommandLine {
    pub(super) action: CommandAction,
    pub(super) settings: Settings,
}

/// The subcommand with its flags.
#[derive(Debug, PartialEq)]
pub(super) enum CommandAction {
    /// Runs the operator against a cluster.
    Run {
        kubeconfig: KubeconfigOptions,
        shared: Shared,
    },
    /// Runs it against an API server in this process.
    Dev { port: u16, shared: Shared },
    /// Prints the definitions of its kinds.
    Crd,
    /// Prints what is here: the settings, or completions.
    Print(String),
}

/// What `run` and `dev` have both.
#[derive(Debug, PartialEq)]
pub(super) struct Shared {
    pub(super) namespaces: BTreeSet<String>,
    pub(super) election: Option<ElectionFlags>,
    pub(super) metrics_address: Option<Address>,
    pub(super) serving: ServingFlags,
    pub(super) log: Filter,
    pub(super) log_format: LogFormat,
}

impl CommandLine {
    /// Reads a command line, the program's name first, and the settings that the environment and a file add to it.
    ///
    /// # Errors
    /// It asks for help, or for what there is not; clap's error says which.
    pub(super) fn parse<F: Args>(
        name: &str,
        defaults: &Defaults,
        line: impl IntoIterator<Item = impl Into<OsString>>,
        environment: &Environment<'_>,
    ) -> Result<Self, clap::Error> {
        let grammar = command::<F>(name, defaults);
        let line = line.into_iter().map(Into::into).collect();
        let settings = Settings::resolve(name, grammar.clone(), line, environment)?;
        let matches = &settings.matches;
        let shared = || Shared::read(name, defaults, &settings);
        let action = match settings.subcommand.as_deref() {
            Some("crd") => CommandAction::Crd,
            Some("completions") => {
                let shell = matches.get_one::<Shell>("shell");
                CommandAction::Print(completions(shell.copied(), grammar))
            }
            _ if matches.get_flag("print-settings") => {
                // What would not run is told here, too.
                shared()?;
                CommandAction::Print(print(&settings.shown))
            }
            Some("dev") => CommandAction::Dev {
                port: matches.get_one("port").copied().unwrap_or_default(),
                shared: shared()?,
            },
            _ => CommandAction::Run {
                kubeconfig: KubeconfigOptions {
                    path: matches.get_one::<PathBuf>("kubeconfig").cloned(),
                    context: matches.get_one::<String>("context").cloned(),
                    ..KubeconfigOptions::default()
                },
                shared: shared()?,
            },
        };
        Ok(Self { action, settings })
    }
}

/// What the shell reads to complete this command line.
fn completions(shell: Option<Shell>, mut command: Command) -> String {
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(
        shell.unwrap_or(Shell::Bash),
        &mut command,
        name,
        &mut script,
    );
    String::from_utf8_lossy(&script).into_owned()
}

impl Shared {
    fn read(operator: &str, defaults: &Defaults, settings: &Settings) -> Result<Self, clap::Error> {
        let matches = &settings.matches;
        let names = matches.get_many::<String>("namespace");
        let metrics_address = matches.get_one::<MetricsAddress>("metrics-address");
        let json = matches.get_one::<String>("log-format");
        Ok(Self {
            namespaces: names.into_iter().flatten().cloned().collect(),
            election: ElectionFlags::read(operator, defaults, settings)?,
            metrics_address: metrics_address.and_then(|address| address.0),
            serving: ServingFlags::read(defaults, settings)?,
            log: matches.get_one("log").cloned().unwrap_or_default(),
            log_format: match json.map(String::as_str) {
                Some("json") => LogFormat::Json,
                _ => LogFormat::Text,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::operator::{NoFlags, Serving};

    fn parse(line: &str) -> Result<CommandLine, clap::Error> {
        let line = format!("website {line}");
        let line = line.split_whitespace();
        CommandLine::parse::<NoFlags>("website", &Defaults::default(), line, &|_| None)
    }

    /// What a cluster has unless somebody says otherwise.
    fn elected() -> Option<ElectionFlags> {
        Some(ElectionFlags {
            name: "website".into(),
            namespace: None,
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        })
    }

    fn open() -> ServingFlags {
        ServingFlags {
            serving: Serving::http(),
            debug_page: false,
            debug_hosts: Vec::new(),
        }
    }

    fn shared(address: &str, election: Option<ElectionFlags>) -> Shared {
        Shared {
            namespaces: BTreeSet::new(),
            election,
            metrics_address: address.parse().ok(),
            serving: open(),
            log: "info".parse().unwrap(),
            log_format: LogFormat::Text,
        }
    }

    #[test]
    fn run_is_what_happens_without_a_subcommand() {
        let run = |address: &str| CommandAction::Run {
            kubeconfig: KubeconfigOptions::default(),
            shared: shared(address, elected()),
        };
        for line in ["", "run"] {
            assert_eq!(parse(line).unwrap().action, run(":8080"), "{line}");
        }
        assert_eq!(parse("--metrics-address 0").unwrap().action, run("0"));
    }

    #[test]
    fn flags_are_read_with_and_without_the_subcommand() {
        let flags = "--kubeconfig /tmp/k --context c -n apps,web --metrics-address 127.0.0.1:9 --log debug --log-format json";
        let expected = CommandAction::Run {
            kubeconfig: KubeconfigOptions {
                path: Some("/tmp/k".into()),
                context: Some("c".into()),
                ..KubeconfigOptions::default()
            },
            shared: Shared {
                namespaces: ["apps".into(), "web".into()].into(),
                election: elected(),
                metrics_address: Some(Address::loopback(9)),
                serving: open(),
                log: "debug".parse().unwrap(),
                log_format: LogFormat::Json,
            },
        };
        assert_eq!(parse(flags).unwrap().action, expected);
        assert_eq!(parse(&format!("run {flags}")).unwrap().action, expected);
    }

    #[test]
    fn dev_takes_free_ports_on_loopback_unless_told() {
        let dev = |port| CommandAction::Dev {
            port,
            shared: shared("127.0.0.1:0", None),
        };
        assert_eq!(parse("dev").unwrap().action, dev(0));
        assert_eq!(parse("dev --port 6443").unwrap().action, dev(6443));
    }

    #[test]
    fn the_grammar_is_sound() {
        command::<NoFlags>("website", &Defaults::default()).debug_assert();
    }

    #[test]
    fn what_is_wrong_is_told_in_one_line() {
        let table = [
            ("serve", "error: unrecognized subcommand 'serve'"),
            (
                "dev --kubeconfig x",
                "error: unexpected argument '--kubeconfig' found",
            ),
            ("--port 1", "error: unexpected argument '--port' found"),
            (
                "--metrics-address 8080",
                "error: invalid value '8080' for '--metrics-address <ADDRESS>': `8080` is no address: write `:8080`, `127.0.0.1:8080` or `[::1]:8080`",
            ),
            (
                "--log pilothouse=loud",
                "error: invalid value 'pilothouse=loud' for '--log <FILTER>': error parsing level filter: expected one of \"off\", \"error\", \"warn\", \"info\", \"debug\", \"trace\", or a number 0-5: write a level such as `debug`, or `info,pilothouse=debug`",
            ),
        ];
        for (line, expected) in table {
            let text = parse(line).unwrap_err().to_string();
            assert_eq!(text.lines().next(), Some(expected));
        }
    }
}
