use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command, error::Error, parser::ValueSource, value_parser};

use super::{
    Origin,
    command::{CHECK, OPERATOR_NAMESPACE},
    image,
    setting::{Setting, error},
};

/// The flag for the form of the output.
pub(in crate::operator) const OUTPUT: &str = "output";

/// A heading in the help.
const MANIFESTS: &str = "Manifests";

/// The flag for the alerts as an object of the Prometheus operator.
pub(in crate::operator) const PROMETHEUS_RULE: &str = "prometheus-rule";

/// The flag for a monitor of the pods.
pub(in crate::operator) const POD_MONITOR: &str = "pod-monitor";

/// The flag for a namespace that may be shared.
pub(in crate::operator) const CREATE_NAMESPACE: &str = "create-namespace";

/// The flag without its help, which differs between the commands.
pub(super) fn prometheus_rule() -> Arg {
    Arg::new(PROMETHEUS_RULE)
        .long(PROMETHEUS_RULE)
        .action(ArgAction::SetTrue)
        .help_heading(MANIFESTS)
}

/// The flags of `manifests` beside the settings of `run`.
pub(super) fn args() -> [Arg; 8] {
    [
        Arg::new(OUTPUT)
            .long(OUTPUT)
            .value_names(["FORMAT", "DIR"])
            .num_args(1..=2)
            .help_heading(MANIFESTS)
            .help(
                "Write a folder instead: `kustomize DIR` for a base with overlays, `helm DIR` for a chart; \
                 with --check DIR, only compare it [default: yaml]",
            ),
        Arg::new("image")
            .long("image")
            .value_name("NAME")
            .value_parser(image::parse)
            .help_heading(MANIFESTS)
            .help("The image of the operator, such as registry.example.com/website:1.0 (required)"),
        Arg::new("replicas")
            .long("replicas")
            .value_name("NUMBER")
            .value_parser(value_parser!(i32).range(1..))
            .allow_negative_numbers(true)
            .default_value("1")
            .help_heading(MANIFESTS)
            .help("Number of pods; all but the leader stand by"),
        Arg::new(CREATE_NAMESPACE)
            .long(CREATE_NAMESPACE)
            .action(ArgAction::SetTrue)
            .help_heading(MANIFESTS)
            .help("Also print the namespace of --operator-namespace, if nothing else is in it: who deletes the printed objects deletes all of it"),
        Arg::new("service-monitor")
            .long("service-monitor")
            .action(ArgAction::SetTrue)
            .help_heading(MANIFESTS)
            .help("Also print a ServiceMonitor for the Prometheus operator"),
        Arg::new(POD_MONITOR)
            .long(POD_MONITOR)
            .action(ArgAction::SetTrue)
            .conflicts_with("service-monitor")
            .help_heading(MANIFESTS)
            .help("Also print a PodMonitor: Prometheus reads the pods without the Service, and sends no token"),
        prometheus_rule()
            .help("Also print a PrometheusRule with the alerts for the Prometheus operator"),
        Arg::new("args")
            .value_name("ARGS")
            .num_args(0..)
            .last(true)
            .help("More flags of `run` for the container, such as the program's own"),
    ]
}

/// The arguments for the container: the settings of `run` that are on the line of `manifests`, and those after `--`. A flag of the
/// program may have the name of one that only `manifests` has, such as `--image`.
///
/// # Errors
/// clap's error if an argument is not UTF-8.
pub(in crate::operator) fn container_arguments(
    grammar: &Command,
    given: &ArgMatches,
) -> Result<Vec<String>, Error> {
    let mut arguments = vec![OsString::from("run")];
    let own = args();
    let is_own = |id: &str| {
        [OPERATOR_NAMESPACE, CHECK].contains(&id) || own.iter().any(|arg| arg.get_id() == id)
    };
    let manifests = grammar.find_subcommand("manifests");
    for setting in manifests.into_iter().flat_map(Setting::all) {
        let id = setting.arg.get_id().as_str();
        if !is_own(id) && given.value_source(id) == Some(ValueSource::CommandLine) {
            let values: Vec<OsString> = given
                .get_raw(id)
                .into_iter()
                .flatten()
                .map(OsString::from)
                .collect();
            arguments.extend(setting.arguments(&values, &Origin::Flag)?);
        }
    }
    let more = given.get_many::<String>("args").into_iter().flatten();
    arguments.extend(more.map(OsString::from));
    let texts = arguments.into_iter().map(OsString::into_string);
    texts
        .collect::<Result<_, _>>()
        .map_err(|argument| error(format!("the argument {argument:?} is not UTF-8")))
}
