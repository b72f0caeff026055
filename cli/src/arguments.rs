use std::{ffi::OsString, path::PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

/// What the command line asks for.
pub(crate) enum Arguments {
    New(NewOptions),
    AddKind(AddKindOptions),
    AddWebhook(AddWebhookOptions),
    AddVersion(AddVersionOptions),
    Import(ImportOptions),
    Dev(DevOptions),
    Check(CheckOptions),
}

/// The options of `new`.
pub(crate) struct NewOptions {
    pub(crate) name: String,
    pub(crate) kind: Option<String>,
    pub(crate) api_version: Option<String>,
    pub(crate) path: Option<PathBuf>,
    /// Whether the operator becomes a member of a new workspace.
    pub(crate) workspace: bool,
    /// The folder of the framework, instead of the published one.
    pub(crate) framework: Option<PathBuf>,
}

/// The options of `add kind`.
pub(crate) struct AddKindOptions {
    pub(crate) kind: String,
    pub(crate) api_version: Option<String>,
    pub(crate) package: Option<String>,
}

/// The options of `add webhook`.
pub(crate) struct AddWebhookOptions {
    pub(crate) kind: String,
    pub(crate) package: Option<String>,
}

/// The options of `add version`.
pub(crate) struct AddVersionOptions {
    pub(crate) kind: String,
    /// The new version.
    pub(crate) version: String,
    pub(crate) package: Option<String>,
}

/// The options of `import`.
pub(crate) struct ImportOptions {
    /// A file, `-` for the standard input, or a kind and a context of the kubeconfig with `@` between them.
    pub(crate) from: String,
    /// The kinds, if not all.
    pub(crate) kinds: Vec<String>,
    pub(crate) version: Option<String>,
    /// Whether the operator is going to define the kind itself.
    pub(crate) own: bool,
    pub(crate) print: bool,
    pub(crate) package: Option<String>,
}

/// The options of `dev`.
pub(crate) struct DevOptions {
    pub(crate) package: Option<String>,
    pub(crate) port: u16,
    pub(crate) data: Option<PathBuf>,
    /// For the operator's own `dev`.
    pub(crate) arguments: Vec<OsString>,
}

/// The options of `check`.
pub(crate) struct CheckOptions {
    pub(crate) package: Option<String>,
    /// More files to try the operator with.
    pub(crate) files: Vec<PathBuf>,
    /// For the operator.
    pub(crate) arguments: Vec<OsString>,
}

/// Reads the command line. Ends the program if it is wrong, or if it asks for help.
pub(crate) fn read() -> Arguments {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // Cargo calls `cargo-pilothouse pilothouse …`.
    let by_cargo = arguments.get(1).is_some_and(|first| first == "pilothouse");
    let skipped = usize::from(by_cargo);
    from(command().get_matches_from(arguments.into_iter().skip(skipped)))
}

fn from(mut matches: ArgMatches) -> Arguments {
    match matches.remove_subcommand() {
        Some((name, mut new)) if name == "new" => Arguments::New(NewOptions {
            name: new.remove_one("name").unwrap_or_default(),
            kind: new.remove_one("kind"),
            api_version: new.remove_one("api-version"),
            path: new.remove_one("path"),
            workspace: new.get_flag("workspace"),
            framework: new.remove_one("framework"),
        }),
        Some((name, mut import)) if name == "import" => Arguments::Import(ImportOptions {
            from: import.remove_one("from").unwrap_or_default(),
            kinds: import.remove_many("kind").into_iter().flatten().collect(),
            version: import.remove_one("version"),
            own: import.get_flag("own"),
            print: import.get_flag("print"),
            package: import.remove_one("package"),
        }),
        Some((name, mut dev)) if name == "dev" => Arguments::Dev(DevOptions {
            package: dev.remove_one("package"),
            port: dev.remove_one("port").unwrap_or_default(),
            data: dev.remove_one("data"),
            arguments: dev.remove_many("arguments").into_iter().flatten().collect(),
        }),
        Some((name, mut check)) if name == "check" => Arguments::Check(CheckOptions {
            package: check.remove_one("package"),
            files: check.remove_many("file").into_iter().flatten().collect(),
            arguments: check
                .remove_many("arguments")
                .into_iter()
                .flatten()
                .collect(),
        }),
        Some((_, mut add)) => {
            let (name, mut what) = add.remove_subcommand().unzip();
            let mut of = |name| what.as_mut().and_then(|what| what.remove_one(name));
            match name.as_deref() {
                Some("webhook") => Arguments::AddWebhook(AddWebhookOptions {
                    kind: of("kind").unwrap_or_default(),
                    package: of("package"),
                }),
                Some("version") => Arguments::AddVersion(AddVersionOptions {
                    kind: of("kind").unwrap_or_default(),
                    version: of("version").unwrap_or_default(),
                    package: of("package"),
                }),
                _ => Arguments::AddKind(AddKindOptions {
                    kind: of("kind").unwrap_or_default(),
                    api_version: of("api-version"),
                    package: of("package"),
                }),
            }
        }
        None => unreachable!("clap asks for a subcommand"),
    }
}

fn command() -> Command {
    let value = |name: &'static str, unit: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(unit).help(help)
    };
    let path = || value_parser!(PathBuf);
    let package = || {
        value(
            "package",
            "NAME",
            "The operator's package, if the workspace has several",
        )
        .short('p')
    };
    let api_version = |help| value("api-version", "GROUP/VERSION", help);
    let arguments = |help: &'static str| {
        Arg::new("arguments")
            .value_name("ARGUMENTS")
            .last(true)
            .num_args(0..)
            .value_parser(value_parser!(OsString))
            .help(help)
    };
    Command::new("cargo pilothouse")
        .bin_name("cargo pilothouse")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Starts Kubernetes operators with Pilothouse.")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("new")
                .about("Write the folder of a new operator: a kind, its reconciler, tests, and what it takes to deploy it")
                .args([
                    Arg::new("name")
                        .value_name("NAME")
                        .required(true)
                        .help("The name of the operator, of its package and of its folder"),
                    value("kind", "KIND", "The kind of its objects [default: from the name]"),
                    api_version("The apiVersion of the kind [default: example.com/v1]"),
                    value("path", "FOLDER", "The folder to write [default: the name]").value_parser(path()),
                    value("framework", "FOLDER", "Use the framework of this folder, instead of the published one")
                        .value_parser(path()),
                    Arg::new("workspace")
                        .long("workspace")
                        .action(ArgAction::SetTrue)
                        .help("Write a workspace with the operator as its first member"),
                ]),
        )
        .subcommand(
            Command::new("add")
                .about("Add to the operator in this folder")
                .subcommand_required(true)
                .arg_required_else_help(true)
                .subcommand(
                    Command::new("kind")
                        .about("Write a kind with its reconciler and its tests, and add it to the operator")
                        .args([
                            Arg::new("kind")
                                .value_name("KIND")
                                .required(true)
                                .help("The kind, such as CronTask"),
                            api_version("The apiVersion of the kind [default: that of the operator's other kinds]"),
                            package(),
                        ]),
                )
                .subcommand(
                    Command::new("webhook")
                        .about("Write a mutation and a validation of a kind with their tests, and add them to the operator")
                        .args([
                            Arg::new("kind")
                                .value_name("KIND")
                                .required(true)
                                .help("The kind, which the operator has already"),
                            package(),
                        ]),
                )
                .subcommand(
                    Command::new("version")
                        .about("Give a kind a new version, and keep its types of today as an older one, with conversions and a test")
                        .args([
                            Arg::new("kind")
                                .value_name("KIND")
                                .required(true)
                                .help("The kind, which the operator has already"),
                            Arg::new("version")
                                .value_name("VERSION")
                                .required(true)
                                .help("The new version, such as v2"),
                            package(),
                        ]),
                ),
        )
        .subcommand(
            Command::new("import")
                .about("Write Rust types for kinds that another program defines")
                .args([
                    Arg::new("from")
                        .value_name("FILE|KIND@CONTEXT")
                        .required(true)
                        .help("A file with CustomResourceDefinitions, `-` for the standard input, or a kind and a context of the kubeconfig"),
                    value("kind", "KIND", "Only this kind of the file; several times for several kinds")
                        .action(ArgAction::Append),
                    value("version", "VERSION", "Only this version [default: all that are served]"),
                    Arg::new("own")
                        .long("own")
                        .action(ArgAction::SetTrue)
                        .help("The operator is going to define the kind itself: write the schema, too"),
                    Arg::new("print")
                        .long("print")
                        .action(ArgAction::SetTrue)
                        .help("Print the types, and write no file"),
                    package(),
                ]),
        )
        .subcommand(
            Command::new("dev")
                .about("Run the operator with an API server, and rebuild and restart it when a source changes")
                .args([
                    package(),
                    value("port", "PORT", "Port of the API server on loopback; 0 takes a free one")
                        .value_parser(value_parser!(u16))
                        .default_value("0"),
                    value("data", "FOLDER", "Keep the objects in this folder for the next start; without it they end with the command")
                        .value_parser(path()),
                    arguments("For the `dev` of the operator, such as `-- --install more.yaml`"),
                ]),
        )
        .subcommand(
            Command::new("check")
                .about("Try the operator on an API server, with the files of the folder `example`, and list what should be better")
                .args([
                    package(),
                    value("file", "FILE", "Try it with the objects of this file, too; several times for several files")
                        .action(ArgAction::Append)
                        .value_parser(path()),
                    arguments("For the operator, such as flags that it requires"),
                ]),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn what_follows_two_dashes_is_for_the_operator() {
        let line = "x dev -p web --port 6443 -- --install a.yaml --log debug";
        let matches = command().get_matches_from(line.split(' '));
        let Arguments::Dev(options) = from(matches) else {
            panic!("another subcommand");
        };
        assert_eq!(options.package.as_deref(), Some("web"));
        assert_eq!(options.port, 6443);
        assert_eq!(options.arguments, ["--install", "a.yaml", "--log", "debug"]);
    }
}
