use std::{ffi::OsString, path::PathBuf};

use clap::{Arg, ArgMatches, Args, Command, value_parser};

use super::logging::LogFormat;
use crate::{client::KubeconfigOptions, server::Address};

/// Where metrics and health are served unless the command line says otherwise.
const DEFAULT_METRICS_ADDRESS: &str = ":8080";

/// What the command line asks for.
#[derive(Debug)]
pub(super) struct CommandLine {
    pub(super) action: CommandAction,
    pub(super) log: Option<String>,
    pub(super) log_format: LogFormat,
    /// Everything that was given, for the user's own flags.
    pub(super) matches: ArgMatches,
}

/// The subcommand with its flags.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CommandAction {
    /// Runs the operator against a cluster.
    Run {
        kubeconfig: KubeconfigOptions,
        namespaces: Vec<String>,
        metrics_address: Option<Address>,
    },
    /// Runs it against an API server in this process.
    Dev {
        port: u16,
        namespaces: Vec<String>,
        metrics_address: Option<Address>,
    },
    /// Prints the definitions of its kinds.
    Crd,
}

impl CommandLine {
    /// Reads a command line, the program's name first.
    ///
    /// # Errors
    /// It asks for help, or for what there is not; clap's error says which.
    pub(super) fn parse<F: Args>(
        name: &str,
        line: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Self, clap::Error> {
        let matches = command::<F>(name).try_get_matches_from(line)?;
        let log = matches.get_one::<String>("log").cloned();
        let log_format = match matches.get_one::<String>("log-format").map(String::as_str) {
            Some("json") => LogFormat::Json,
            _ => LogFormat::Text,
        };
        let (action, matches) = match matches.subcommand() {
            Some(("dev", dev)) => (
                CommandAction::Dev {
                    port: dev.get_one("port").copied().unwrap_or_default(),
                    namespaces: namespaces(dev),
                    metrics_address: metrics_address(dev),
                },
                dev.clone(),
            ),
            Some(("crd", crd)) => (CommandAction::Crd, crd.clone()),
            Some((_, run)) => (run_action(run), run.clone()),
            None => (run_action(&matches), matches),
        };
        Ok(Self {
            action,
            log,
            log_format,
            matches,
        })
    }
}

fn run_action(matches: &ArgMatches) -> CommandAction {
    CommandAction::Run {
        kubeconfig: KubeconfigOptions {
            path: matches.get_one::<PathBuf>("kubeconfig").cloned(),
            context: matches.get_one::<String>("context").cloned(),
            ..KubeconfigOptions::default()
        },
        namespaces: namespaces(matches),
        metrics_address: metrics_address(matches),
    }
}

fn namespaces(matches: &ArgMatches) -> Vec<String> {
    let names = matches.get_many::<String>("namespace");
    names.into_iter().flatten().cloned().collect()
}

fn metrics_address(matches: &ArgMatches) -> Option<Address> {
    matches
        .get_one::<MetricsAddress>("metrics-address")
        .and_then(|address| address.0)
}

/// An address, or none.
#[derive(Clone)]
struct MetricsAddress(Option<Address>);

fn parse_metrics_address(text: &str) -> Result<MetricsAddress, String> {
    if text == "0" {
        return Ok(MetricsAddress(None));
    }
    let address = text.parse::<Address>().map_err(|error| error.to_string())?;
    Ok(MetricsAddress(Some(address)))
}

/// The grammar of the command line, the user's flags `F` included.
fn command<F: Args>(name: &str) -> Command {
    let metrics_address = |default: &'static str| {
        Arg::new("metrics-address")
            .long("metrics-address")
            .value_name("ADDRESS")
            .value_parser(parse_metrics_address)
            .default_value(default)
            .help("Serve /metrics, /healthz and /readyz there; 0 for nowhere")
    };
    let namespace = Arg::new("namespace")
        .long("namespace")
        .short('n')
        .value_name("NAME")
        .value_delimiter(',')
        .help("Work in this namespace only, or in these: one,other [default: in all of them]");
    let run_arguments = [
        Arg::new("kubeconfig")
            .long("kubeconfig")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help(
                "The kubeconfig [default: $KUBECONFIG, the pod's service account, ~/.kube/config]",
            ),
        Arg::new("context")
            .long("context")
            .value_name("NAME")
            .help("The kubeconfig's context [default: its current one]"),
        namespace.clone(),
        metrics_address(DEFAULT_METRICS_ADDRESS),
    ];
    let run = Command::new("run")
        .about("Run against a cluster; what happens without a subcommand")
        .args(&run_arguments);
    let dev = Command::new("dev")
        .about("Run against an API server in this process, for trying things out with kubectl")
        .arg(
            Arg::new("port")
                .long("port")
                .value_name("PORT")
                .value_parser(value_parser!(u16))
                .default_value("0")
                .help("Port of the API server on loopback; 0 takes a free one"),
        )
        .arg(namespace)
        .arg(metrics_address("127.0.0.1:0"));
    let crd = Command::new("crd")
        .about("Print the CustomResourceDefinitions as YAML, for `kubectl apply -f -`");
    let command = Command::new(name.to_owned())
        .about(format!("The operator {name}."))
        .args_conflicts_with_subcommands(true)
        .subcommand_negates_reqs(true)
        .args(&run_arguments)
        .subcommand(F::augment_args(run))
        .subcommand(F::augment_args(dev))
        .subcommand(crd)
        .arg(
            Arg::new("log")
                .long("log")
                .value_name("FILTER")
                .global(true)
                .help("What to log: a level, or levels by module [default: $RUST_LOG, info]"),
        )
        .arg(
            Arg::new("log-format")
                .long("log-format")
                .value_name("FORMAT")
                .value_parser(["text", "json"])
                .default_value("text")
                .global(true)
                .help("How to log, to standard error"),
        );
    F::augment_args(command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::NoFlags;

    fn parse(line: &str) -> Result<CommandLine, clap::Error> {
        CommandLine::parse::<NoFlags>("website", format!("website {line}").split_whitespace())
    }

    fn run(metrics_address: Option<Address>) -> CommandAction {
        CommandAction::Run {
            kubeconfig: KubeconfigOptions::default(),
            namespaces: Vec::new(),
            metrics_address,
        }
    }

    #[test]
    fn run_is_what_happens_without_a_subcommand() {
        let default = DEFAULT_METRICS_ADDRESS.parse().ok();
        for line in ["", "run", "--log debug", "run --log-format json"] {
            assert_eq!(parse(line).unwrap().action, run(default), "{line}");
        }
        assert_eq!(parse("--metrics-address 0").unwrap().action, run(None));
    }

    #[test]
    fn flags_are_read_with_and_without_the_subcommand() {
        let flags = "--kubeconfig /tmp/k --context c -n apps,web --metrics-address 127.0.0.1:9";
        let expected = CommandAction::Run {
            kubeconfig: KubeconfigOptions {
                path: Some("/tmp/k".into()),
                context: Some("c".into()),
                ..KubeconfigOptions::default()
            },
            namespaces: vec!["apps".into(), "web".into()],
            metrics_address: Some(Address::loopback(9)),
        };
        assert_eq!(parse(flags).unwrap().action, expected);
        assert_eq!(parse(&format!("run {flags}")).unwrap().action, expected);
    }

    #[test]
    fn dev_takes_free_ports_on_loopback_unless_told() {
        let dev = |port| CommandAction::Dev {
            port,
            namespaces: Vec::new(),
            metrics_address: Some(Address::loopback(0)),
        };
        assert_eq!(parse("dev").unwrap().action, dev(0));
        assert_eq!(
            parse("dev --port 6443 --log debug").unwrap().action,
            dev(6443)
        );
    }

    #[test]
    fn the_grammar_is_sound() {
        command::<NoFlags>("website").debug_assert();
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
        ];
        for (line, expected) in table {
            let text = parse(line).unwrap_err().to_string();
            assert_eq!(text.lines().next(), Some(expected));
        }
    }
}
