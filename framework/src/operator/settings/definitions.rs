use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, value_parser};

use super::{command::CHECK, moving::FORCE};

/// The name of the flag with older definitions.
pub(in crate::operator) const COMPATIBLE_WITH: &str = "compatible-with";
/// The commands below `crd`.
pub(in crate::operator) const INSTALL: &str = "install";
pub(in crate::operator) const MIGRATE: &str = "migrate";

/// The command `crd`. `cluster` makes the flags for the connection to a cluster.
pub(super) fn crd<const FLAGS: usize>(check: Arg, cluster: fn() -> [Arg; FLAGS]) -> Command {
    let install = Command::new(INSTALL)
        .about("Install the CustomResourceDefinitions in a cluster, unless stored objects or clients would lose something, and wait until their kinds are served")
        .args(cluster())
        .arg(
            Arg::new(FORCE)
                .long(FORCE)
                .action(ArgAction::SetTrue)
                .help("Install them nevertheless, and print what is ignored"),
        );
    let migrate = Command::new(MIGRATE)
        .about("Write the objects of the operator's kinds that are stored in an old version again, so that the version can be removed")
        .args(cluster());
    Command::new("crd")
        .args_conflicts_with_subcommands(true)
        .arg(check)
        .arg(
            Arg::new(COMPATIBLE_WITH)
                .long(COMPATIBLE_WITH)
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with(CHECK)
                .help("Print nothing, but fail and list what stored objects and clients lose, compared with the definitions in this file, or of a cluster: `kubectl get crd NAME -o yaml | … --compatible-with -`"),
        )
        .about("Print the CustomResourceDefinitions as YAML, for `kubectl apply -f -`")
        .subcommand(install)
        .subcommand(migrate)
}
