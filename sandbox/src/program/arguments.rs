use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, value_parser};

/// What the command line asks for.
pub(crate) enum Arguments {
    Serve(Box<Options>),
    /// Links the programs for envtest in this folder.
    Assets(PathBuf),
}

/// The options of the server.
pub(crate) struct Options {
    pub(crate) addr: SocketAddr,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) rbac: bool,
    pub(crate) simulate: bool,
    pub(crate) cbor: bool,
    pub(crate) controls: bool,
    pub(crate) seed: Option<u64>,
    pub(crate) audit: Option<PathBuf>,
    pub(crate) data: Option<PathBuf>,
}

/// Reads the command line. Ends the program if it is wrong, or if it asks for help.
pub(crate) fn read() -> Arguments {
    let mut matches = command().get_matches();
    if let Some((_, assets)) = matches.subcommand() {
        let folder = assets.get_one::<PathBuf>("folder");
        return Arguments::Assets(folder.cloned().unwrap_or_default());
    }
    let ip = matches.remove_one("address");
    let port = matches.remove_one("port");
    Arguments::Serve(Box::new(Options {
        addr: SocketAddr::new(
            ip.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            port.unwrap_or_default(),
        ),
        kubeconfig: matches.remove_one("kubeconfig").unwrap_or_default(),
        rbac: matches.get_flag("rbac"),
        simulate: matches.get_flag("simulate"),
        cbor: matches.get_flag("cbor"),
        controls: matches.get_flag("controls"),
        seed: matches.remove_one("seed"),
        audit: matches.remove_one("audit"),
        data: matches.remove_one("data"),
    }))
}

fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .help(help)
            .action(ArgAction::SetTrue)
    };
    let value = |name: &'static str, unit: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(unit).help(help)
    };
    let path = || value_parser!(PathBuf);
    Command::new("pilothouse-sandbox")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A Kubernetes API server in one process, for development and tests.")
        .subcommand_negates_reqs(true)
        .args_conflicts_with_subcommands(true)
        .args([
            value("address", "IP", "The address to listen on")
                .value_parser(value_parser!(IpAddr))
                .default_value("127.0.0.1"),
            value("port", "PORT", "The port to listen on; 0 takes a free one")
                .value_parser(value_parser!(u16))
                .default_value("0"),
            value("kubeconfig", "FILE", "Where to write the kubeconfig of the administrator")
                .value_parser(path())
                .default_value("sandbox.kubeconfig"),
            flag("rbac", "Let roles and bindings decide what other users may do"),
            flag("simulate", "Run workloads, as the controllers and nodes of a cluster would"),
            flag("cbor", "Offer CBOR"),
            flag("controls", "Serve faults, snapshots and recorded requests below /sandbox/"),
            value("seed", "NUMBER", "Make names and UIDs repeatable; time begins at 2026-01-01")
                .value_parser(value_parser!(u64))
                .conflicts_with("data"),
            value("data", "FOLDER", "Keep the objects in this folder for the next start; without it they end with the program")
                .value_parser(path()),
            value("audit", "FILE", "Append a line of audit.k8s.io/v1 for each request").value_parser(path()),
        ])
        .subcommand(
            Command::new("assets")
                .about("Put the programs kube-apiserver and etcd for envtest into a folder, and print its path")
                .after_help("Use it so: KUBEBUILDER_ASSETS=$(pilothouse-sandbox assets bin) go test ./...")
                .arg(
                    Arg::new("folder")
                        .value_name("FOLDER")
                        .help("The folder, which is created if it does not exist")
                        .value_parser(path())
                        .required(true),
                ),
        )
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
