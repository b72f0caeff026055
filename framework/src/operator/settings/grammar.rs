use std::{collections::BTreeSet, path::PathBuf};

use clap::{Arg, ArgAction, Args, Command, builder::Str, value_parser};

use clap_complete::Shell;

use super::{election, serving};
use crate::{
    election::ElectionSettings,
    operator::{Serving, logs},
    server::Address,
};

/// Where metrics and health are served unless somebody says otherwise.
const METRICS_ADDRESS: &str = ":8080";

/// The same of `dev`: a free port, so that several run side by side.
const DEV_METRICS_ADDRESS: &str = "127.0.0.1:0";

/// What the program says itself, which the command line may overrule.
#[derive(Clone, Debug, Default)]
pub(in crate::operator) struct Defaults {
    pub(in crate::operator) metrics_address: Option<Address>,
    pub(in crate::operator) namespaces: BTreeSet<String>,
    /// Whether it elects; `None` when it does not say.
    pub(in crate::operator) elects: Option<bool>,
    pub(in crate::operator) election: Option<ElectionSettings>,
    pub(in crate::operator) serving: Serving,
    pub(in crate::operator) debug_page: bool,
    pub(in crate::operator) debug_hosts: Vec<String>,
}

/// Headings of the help.
const CLUSTER: &str = "Cluster";
pub(super) const ENDPOINTS: &str = "Metrics and health";
const LOG: &str = "Log";
const SETTINGS: &str = "Settings";

/// Below the flags that are settings.
const PRECEDENCE: &str = "A flag comes before its environment variable, that before the file of --config, \
                          that before the default.";

/// The grammar of the command line, the user's flags `F` included.
pub(in crate::operator) fn command<F: Args>(name: &str, defaults: &Defaults) -> Command {
    let about = format!("The operator {name}.");
    let command = Command::new(name.to_owned())
        .args_conflicts_with_subcommands(true)
        .subcommand_negates_reqs(true)
        .args(cluster());
    let run = Command::new("run").args(cluster());
    let dev = Command::new("dev").arg(
        Arg::new("port")
            .long("port")
            .value_name("PORT")
            .value_parser(value_parser!(u16))
            .default_value("0")
            .help_heading(CLUSTER)
            .help("Port of the API server on loopback; 0 takes a free one"),
    );
    let crd = Command::new("crd")
        .about("Print the CustomResourceDefinitions as YAML, for `kubectl apply -f -`");
    let completions = Command::new("completions")
        .about(format!(
            "Print the completions of a shell, to be read at its start: source <({name} completions bash)"
        ))
        .arg(
            Arg::new("shell")
                .value_name("SHELL")
                .required(true)
                .value_parser(value_parser!(Shell))
                .help("The shell that is to complete"),
        );
    let finished = |command, metrics_address, elects| {
        let command = shared(command, name, defaults, metrics_address, elects);
        with_flags::<F>(command, name)
    };
    let elects = defaults.elects.unwrap_or(true);
    finished(command, METRICS_ADDRESS, elects)
        .about(about)
        .subcommand(
            finished(run, METRICS_ADDRESS, elects)
                .about("Run against a cluster; what happens without a subcommand"),
        )
        .subcommand(
            // Nobody else works there.
            finished(dev, DEV_METRICS_ADDRESS, false).about(
                "Run against an API server in this process, for trying things out with kubectl",
            ),
        )
        .subcommand(crd)
        .subcommand(completions)
}

/// The user's flags under a heading of their own, unless they have theirs.
fn with_flags<F: Args>(command: Command, name: &str) -> Command {
    let heading = Str::from(format!("Options of {name}"));
    F::augment_args(command.next_help_heading(heading)).after_help(PRECEDENCE)
}

/// How a cluster is reached.
fn cluster() -> [Arg; 2] {
    [
        Arg::new("kubeconfig")
            .long("kubeconfig")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help_heading(CLUSTER)
            .help(
                "The kubeconfig [default: $KUBECONFIG, the pod's service account, ~/.kube/config]",
            ),
        Arg::new("context")
            .long("context")
            .value_name("NAME")
            .help_heading(CLUSTER)
            .help("The kubeconfig's context [default: its current one]"),
    ]
}

/// What `run` and `dev` have both.
fn shared(
    command: Command,
    name: &str,
    defaults: &Defaults,
    metrics_address: &'static str,
    elects: bool,
) -> Command {
    let metrics_address = match &defaults.metrics_address {
        Some(address) => address.to_string(),
        None => metrics_address.to_owned(),
    };
    let namespace = Arg::new("namespace")
        .long("namespace")
        .short('n')
        .value_name("NAME")
        .value_delimiter(',')
        .default_values(&defaults.namespaces)
        .help_heading(CLUSTER);
    let namespace = match defaults.namespaces.is_empty() {
        true => {
            namespace.help("Work in this namespace only, or in these: one,other [default: all]")
        }
        false => namespace.help("Work in this namespace only, or in these: one,other"),
    };
    command
        .arg(namespace)
        .args(election::args(name, defaults, elects))
        .arg(
            Arg::new("metrics-address")
                .long("metrics-address")
                .value_name("ADDRESS")
                .value_parser(parse_metrics_address)
                .default_value(metrics_address)
                .help_heading(ENDPOINTS)
                .help("Serve /metrics, /healthz and /readyz there; 0 for nowhere"),
        )
        .args(serving::args(defaults))
        .arg(
            Arg::new("log")
                .long("log")
                .value_name("FILTER")
                .value_parser(logs::parse_filter)
                .default_value(logs::DEFAULT_FILTER)
                .help_heading(LOG)
                .help("What to log: a level, or levels by module; also RUST_LOG"),
        )
        .arg(
            Arg::new("log-format")
                .long("log-format")
                .value_name("FORMAT")
                .value_parser(["text", "json"])
                .default_value("text")
                .help_heading(LOG)
                .help("How to log, to standard error"),
        )
        .arg(
            Arg::new("config")
                .long("config")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help_heading(SETTINGS)
                .help("A YAML file of settings, each named as its flag without the dashes"),
        )
        .arg(
            Arg::new("print-settings")
                .long("print-settings")
                .action(ArgAction::SetTrue)
                .help_heading(SETTINGS)
                .help("Print all settings with where each comes from, as such a file, and end"),
        )
}

/// A flag that is on or off: `--name` turns it on, `--name=false` off.
pub(super) fn switch(name: &'static str, default: bool, heading: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("true|false")
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("true")
        .default_value(if default { "true" } else { "false" })
        .value_parser(value_parser!(bool))
        .hide_possible_values(true)
        .help_heading(heading)
}

/// An address, or none.
#[derive(Clone)]
pub(in crate::operator) struct MetricsAddress(pub(in crate::operator) Option<Address>);

fn parse_metrics_address(text: &str) -> Result<MetricsAddress, String> {
    if text == "0" {
        return Ok(MetricsAddress(None));
    }
    let address = text.parse::<Address>().map_err(|error| error.to_string())?;
    Ok(MetricsAddress(Some(address)))
}
