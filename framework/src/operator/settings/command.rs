use std::{collections::BTreeSet, path::PathBuf};

use clap::{
    Arg, ArgAction, Args, Command,
    builder::{Resettable, Str},
    value_parser,
};

use clap_complete::Shell;

use super::{
    Defaults, definitions, election, manifests, moving,
    serving::{self, ENDPOINTS, parse_metrics_address},
    webhooks,
};
use crate::operator::{logs, version};

/// The default address of metrics and health.
const METRICS_ADDRESS: &str = ":8080";

/// The default address in `dev`: a free port, so that several operators run side by side.
const DEV_METRICS_ADDRESS: &str = "127.0.0.1:0";

/// Headings in the help.
const CLUSTER: &str = "Cluster";
const LOG: &str = "Log";
const SETTINGS: &str = "Settings";

/// The note below the flags in the help.
const PRECEDENCE: &str = "Priority: the flag, then its environment variable, then the file of --config, then the default.";

/// The note below the flags of the commands that print what `run` needs.
const SETTINGS_OF_RUN: &str = "Give the settings with which the operator runs in the cluster. Environment variables are not read.";

/// The flags that make a difference to the roles.
const SETTINGS_OF_ROLES: [&str; 10] = [
    CHECK,
    OPERATOR_NAMESPACE,
    "install-definitions",
    "namespace",
    "leader-elect",
    "lease-name",
    "lease-namespace",
    "metrics-auth",
    "debug-page",
    webhooks::CERTIFICATES,
];

/// The flag for the namespace of the operator's pods.
pub(in crate::operator) const OPERATOR_NAMESPACE: &str = "operator-namespace";

/// The flag for a process that takes the place of another one.
pub(in crate::operator) const HANDOVER: &str = "handover";

/// The flag for a file that is compared with the output.
pub(in crate::operator) const CHECK: &str = "check";

/// The clap definition of the command line, including the user's flags `F`.
pub(in crate::operator) fn command<F: Args>(name: &str, defaults: &Defaults) -> Command {
    let about = format!("The operator {name}.");
    let command = Command::new(name.to_owned())
        // Without a version clap adds no flag.
        .version(Resettable::from(version_flag::<F>(defaults).map(Str::from)))
        .args_conflicts_with_subcommands(true)
        .subcommand_negates_reqs(true)
        .args(cluster());
    let run = Command::new("run").args(cluster());
    let dev = Command::new("dev").args([
        // Another name than that of `run`, whose lines and settings must not choose where definitions are installed.
        Arg::new("api-server-kubeconfig")
            .long("api-server-kubeconfig")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .conflicts_with_all(["port", "data"])
            .help_heading(CLUSTER)
            .help("Work with the API server of this kubeconfig, and install the definitions there; without it the command starts a server"),
        Arg::new("port")
            .long("port")
            .value_name("PORT")
            .value_parser(value_parser!(u16))
            .default_value("0")
            .help_heading(CLUSTER)
            .help("Port of the API server on loopback; 0 means a free port"),
        Arg::new("install")
            .long("install")
            .value_name("FILE")
            .action(ArgAction::Append)
            .value_parser(value_parser!(PathBuf))
            .help_heading(CLUSTER)
            .help("Install the definitions and objects of this YAML or JSON file before the start; several times for several files"),
        Arg::new("data")
            .long("data")
            .value_name("FOLDER")
            .value_parser(value_parser!(PathBuf))
            .help_heading(CLUSTER)
            .help("Keep the objects of the API server in this folder for the next start; without it they end with the command"),
        // The tool `cargo pilothouse dev` gives it.
        Arg::new(HANDOVER)
            .long(HANDOVER)
            .value_name("FOLDER")
            .value_parser(value_parser!(PathBuf))
            .requires("api-server-kubeconfig")
            .hide(true)
            .help("Install the definitions, and work when a line comes on standard input; its end stops the command. The folder keeps the ports"),
    ]);
    // The tool `cargo pilothouse check` calls it.
    // Its arguments stand before those of the user, which count more.
    let scorecard = Command::new("scorecard")
        .hide(true)
        .override_usage("cargo pilothouse check [OPTIONS] [-- OPTIONS OF THE OPERATOR]")
        .args_override_self(true).arg(
        Arg::new("files")
            .value_name("FILE")
            .num_args(0..)
            .value_parser(value_parser!(PathBuf))
            .help("Files in YAML or JSON: objects to try the operator with, and definitions that `crd` has printed, to compare with the present ones"),
    );
    let crd = definitions::crd(check(), cluster);
    let rbac = printing(Command::new("rbac"), name, defaults)
        .about("Print the ServiceAccount and the least roles as YAML, for `kubectl apply -f -`")
        .after_help(SETTINGS_OF_RUN)
        .arg(
            Arg::new("install-definitions")
                .long("install-definitions")
                .action(ArgAction::SetTrue)
                .help("Also allow the operator to install the definitions of its kinds"),
        )
        // The others make no difference to the roles.
        .mut_args(
            |arg| match SETTINGS_OF_ROLES.contains(&arg.get_id().as_str()) {
                true => arg,
                false => arg.hide(true),
            },
        );
    let manifests = printing(Command::new("manifests"), name, defaults)
        .about("Print everything that the operator needs in a cluster as YAML, for `kubectl apply -f -`")
        .after_help(SETTINGS_OF_RUN)
        .args(manifests::args())
        .mut_arg(CHECK, |check| {
            check.help("Print nothing, but fail and show the difference if this file has another content, or this folder with --output")
        });
    let alerts = Command::new("alerts")
        .about("Print the alerts as a rule file of Prometheus")
        .arg(
            manifests::prometheus_rule()
                .help("Print a PrometheusRule for the Prometheus operator instead"),
        )
        .arg(operator_namespace(name).requires(manifests::PROMETHEUS_RULE))
        .arg(check());
    let dashboard = Command::new("dashboard")
        .about("Print a dashboard for Grafana as JSON")
        .arg(check());
    let uninstall = moving::uninstall(connected(name, defaults, "uninstall"), name);
    let adopt_from = moving::adopt_from(connected(name, defaults, "adopt-from"));
    let completions = Command::new("completions")
        .about(format!(
            "Print the completions for a shell. Load them when the shell starts: source <({name} completions bash)"
        ))
        .arg(
            Arg::new("shell")
                .value_name("SHELL")
                .required(true)
                .value_parser(value_parser!(Shell))
                .help("The shell"),
        );
    let finished = |command, metrics_address, elects| {
        let command = shared(command, name, defaults, metrics_address, elects);
        with_flags::<F>(command, name)
    };
    let elects = defaults.elects.unwrap_or(true);
    finished(command, METRICS_ADDRESS, elects)
        .about(about)
        .subcommand(
            finished(run, METRICS_ADDRESS, elects).about("Run against a cluster (the default)"),
        )
        .subcommand(
            // No other process works there.
            finished(dev, DEV_METRICS_ADDRESS, false).about(match cfg!(feature = "dev") {
                true => "Run against an API server in this process, to try things out with kubectl",
                false => {
                    "Left out of this build: it has no API server. Build it with the feature `dev`"
                }
            }),
        )
        .subcommand(finished(scorecard, DEV_METRICS_ADDRESS, false).about(
            "Try the operator on an API server in this process, and list what should be better",
        ))
        .subcommand(crd)
        .subcommand(rbac)
        .subcommand(manifests)
        .subcommand(alerts)
        .subcommand(dashboard)
        .subcommand(uninstall)
        .subcommand(adopt_from)
        .subcommand(completions)
        .subcommand(
            Command::new("version")
                .about("Print the versions of the program, of the framework and of Kubernetes"),
        )
        .subcommands(defaults.subcommands.iter().cloned().map(|own| {
            // Commands below it have them, too.
            own.args(cluster().map(|arg| arg.global(true)))
        }))
}

/// Whether a command has settings. The other commands only print something, or are the program's own.
pub(super) fn takes_settings(command: &Command) -> bool {
    // The program's own commands may have a flag `--config`, too.
    let mut args = command.get_arguments();
    args.any(|arg| arg.get_id() == "print-settings")
}

/// The text of `--version`. `None` if the program's own flags use the name.
fn version_flag<F: Args>(defaults: &Defaults) -> Option<String> {
    let own = F::augment_args(Command::new(""));
    let is_taken = own.get_arguments().any(|arg| {
        arg.get_id() == "version"
            || arg.get_long() == Some("version")
            || arg.get_short() == Some('V')
    });
    (!is_taken).then(|| version::text(defaults.version.as_deref()))
}

/// Adds the user's flags under their own heading, unless they set one themselves.
fn with_flags<F: Args>(command: Command, name: &str) -> Command {
    let heading = Str::from(format!("Options of {name}"));
    F::augment_args(command.next_help_heading(heading)).after_help(PRECEDENCE)
}

/// Adds the settings of `run` to a command that prints what `run` needs. As it takes none from elsewhere, the output is the
/// same on every machine.
fn printing(command: Command, name: &str, defaults: &Defaults) -> Command {
    let elects = defaults.elects.unwrap_or(true);
    settings(command, name, defaults, METRICS_ADDRESS, elects)
        .arg(operator_namespace(name))
        .arg(check())
}

/// A command that connects to a cluster in which the operator ran with some settings. It takes none from elsewhere. Flags that make
/// no difference are hidden, so that a line of `run` can be used.
fn connected(name: &str, defaults: &Defaults, command: &'static str) -> Command {
    let elects = defaults.elects.unwrap_or(true);
    let command = Command::new(command).args(cluster());
    settings(command, name, defaults, METRICS_ADDRESS, elects)
        .mut_args(
            |arg| match moving::SETTINGS.contains(&arg.get_id().as_str()) {
                true => arg,
                false => arg.hide(true),
            },
        )
        .after_help(SETTINGS_OF_RUN)
}

/// The flag for the namespace of the objects that are printed.
pub(super) fn operator_namespace(name: &str) -> Arg {
    Arg::new(OPERATOR_NAMESPACE)
        .long(OPERATOR_NAMESPACE)
        .value_name("NAME")
        .value_parser(election::parse_namespace)
        .help_heading(CLUSTER)
        // No default for clap, which panics if the name is not valid. The command reports it.
        .help(format!(
            "Namespace of the operator's pods [default: {name}-system]"
        ))
}

/// The flag of the commands that print objects.
fn check() -> Arg {
    Arg::new(CHECK)
        .long(CHECK)
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Print nothing, but fail and show the difference if this file has another content")
}

/// The names of the flags for the connection to a cluster.
pub(super) const CLUSTER_FLAGS: [&str; 2] = ["kubeconfig", "context"];

/// The flags for the connection to a cluster.
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

/// Parses one item of the list of namespaces. An empty name would mean all namespaces.
fn parse_namespaces_item(item: &str) -> Result<String, String> {
    match item.trim() {
        "" => Err(
            "the name is empty: name each namespace, or leave the setting out to work in all"
                .into(),
        ),
        name => election::parse_namespace(name),
    }
}

fn are_valid(namespaces: &BTreeSet<String>) -> bool {
    let mut names = namespaces.iter();
    names.all(|name| election::parse_namespace(name).is_ok())
}

/// Adds the flags that `run` and `dev` have in common.
fn shared(
    command: Command,
    name: &str,
    defaults: &Defaults,
    metrics_address: &'static str,
    elects: bool,
) -> Command {
    settings(command, name, defaults, metrics_address, elects)
        .arg(
            Arg::new("config")
                .long("config")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help_heading(SETTINGS)
                .help("YAML file with settings, named as the flags without the dashes"),
        )
        .arg(
            Arg::new("print-settings")
                .long("print-settings")
                .action(ArgAction::SetTrue)
                .help_heading(SETTINGS)
                .help(
                    "Print all settings with their origin, in the format of such a file, and exit",
                ),
        )
}

/// Adds the framework's settings.
fn settings(
    command: Command,
    name: &str,
    defaults: &Defaults,
    metrics_address: &'static str,
    elects: bool,
) -> Command {
    let is_local = metrics_address == DEV_METRICS_ADDRESS;
    let metrics_address = match &defaults.metrics_address {
        Some(address) => address.to_string(),
        None => metrics_address.to_owned(),
    };
    let namespace = Arg::new("namespace")
        .long("namespace")
        .short('n')
        .value_name("NAME")
        .value_delimiter(',')
        .value_parser(parse_namespaces_item)
        // If the program's namespaces are not valid, the start reports it.
        .default_values(
            defaults
                .namespaces
                .iter()
                .filter(|_| are_valid(&defaults.namespaces)),
        )
        .help_heading(CLUSTER);
    let namespace = match defaults.namespaces.is_empty() {
        true => {
            namespace.help("Work only in this namespace, or in several: one,other [default: all]")
        }
        false => namespace.help("Work only in this namespace, or in several: one,other"),
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
                .help(
                    "Serve /metrics, /healthz, /livez and /readyz at this address; 0 turns it off",
                ),
        )
        .args(serving::args(defaults, is_local))
        .args(webhooks::args(defaults, is_local))
        .arg(
            Arg::new("log")
                .long("log")
                .value_name("FILTER")
                .value_parser(logs::parse_filter)
                .default_value(logs::DEFAULT_FILTER)
                .help_heading(LOG)
                .help("Log filter: a level, or levels by module; also RUST_LOG"),
        )
        .arg(
            Arg::new("log-format")
                .long("log-format")
                .value_name("FORMAT")
                .value_parser(["text", "json"])
                .default_value("text")
                .help_heading(LOG)
                .help("Format of the log on standard error"),
        )
}
