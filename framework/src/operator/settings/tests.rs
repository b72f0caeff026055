use std::{collections::HashMap, ffi::OsString, fs};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use super::{Defaults, command};
use crate::operator::command_line::{CommandAction, CommandLine};

mod election;
mod serving;

/// The user's flags: one of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Own {
    image: String,
    token: Option<String>,
    mirrors: Vec<String>,
    verbose: bool,
    strictness: u8,
    region: Option<String>,
}

impl FromArgMatches for Own {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mirrors = matches.get_many::<String>("mirror");
        Ok(Self {
            image: matches.get_one("image").cloned().unwrap_or_default(),
            token: matches.get_one("api-token").cloned(),
            mirrors: mirrors.into_iter().flatten().cloned().collect(),
            verbose: matches.get_flag("verbose"),
            strictness: matches.get_count("strict"),
            region: matches.get_one("region").cloned(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Own {
    fn augment_args(command: Command) -> Command {
        command.args([
            Arg::new("image")
                .long("image")
                .value_name("IMAGE")
                .required(true)
                .help("Image of the web server"),
            Arg::new("api-token")
                .long("api-token")
                .value_name("TOKEN")
                .requires("region")
                .value_parser(|text: &str| match text.starts_with("t-") {
                    true => Ok(text.to_owned()),
                    false => Err(format!("`{text}` does not begin with t-")),
                })
                .help("Token of the registry"),
            Arg::new("mirror")
                .long("mirror")
                .value_name("URL")
                .action(ArgAction::Append)
                .help("Mirrors of the registry"),
            Arg::new("verbose")
                .long("verbose")
                .action(ArgAction::SetTrue)
                .help("Say more in status"),
            Arg::new("strict")
                .long("strict")
                .action(ArgAction::Count)
                .help("Refuse more"),
            Arg::new("region")
                .long("region")
                .env("CLOUD_REGION")
                .value_parser(value_parser!(String))
                .help("Region of the registry"),
        ])
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Names and values of variables.
type Variables<'a> = &'a [(&'a str, &'a str)];

/// One start of the operator `web-site`: its command line, its environment and the text of its file.
struct Start<'a> {
    line: &'a str,
    environment: Variables<'a>,
    file: Option<&'a str>,
    defaults: Defaults,
}

impl<'a> Start<'a> {
    fn of(line: &'a str, environment: &'a [(&'a str, &'a str)], file: &'a str) -> Self {
        Self {
            line,
            environment,
            file: Some(file).filter(|file| !file.is_empty()),
            defaults: Defaults::default(),
        }
    }

    /// Parses the start. In errors the folder of the file is replaced by `~`.
    fn parse(&self) -> Result<CommandLine, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("site.yaml");
        let mut environment: HashMap<&str, OsString> = self
            .environment
            .iter()
            .map(|(name, value)| (*name, OsString::from(*value)))
            .collect();
        if let Some(text) = self.file {
            fs::write(&path, text).unwrap();
            environment.insert("WEB_SITE_CONFIG", path.clone().into_os_string());
        }
        let folder = folder.path().to_str().unwrap();
        let line = format!("web-site {}", self.line).replace('~', folder);
        CommandLine::parse::<Own>(
            "web-site",
            &self.defaults,
            line.split_whitespace(),
            &|name| environment.get(name).cloned(),
        )
        .map_err(|error| error.to_string().replace(folder, "~"))
    }

    /// The line that `--print-settings` prints for a setting.
    fn printed(&self, name: &str) -> String {
        let start = Start {
            line: &format!("{} --print-settings", self.line),
            defaults: self.defaults.clone(),
            ..*self
        };
        let CommandAction::Print(text) = start.parse().unwrap().action else {
            panic!("nothing is printed");
        };
        let mut lines = text.lines();
        let begins = |line: &&str| {
            line.trim_start_matches("# ")
                .starts_with(&format!("{name}:"))
        };
        lines.find(begins).unwrap().to_owned()
    }

    fn own(&self) -> Own {
        Own::from_arg_matches(&self.parse().unwrap().settings.matches).unwrap()
    }
}

/// The first line of the error of an invalid start.
fn error_of(line: &str, environment: &[(&str, &str)], file: &str) -> String {
    let error = Start::of(line, environment, file).parse().unwrap_err();
    error.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn flag_then_environment_then_file_then_program_default_have_priority() {
    let mut start = Start::of(
        "--image nginx --metrics-address :1",
        &[("WEB_SITE_METRICS_ADDRESS", ":2")],
        "metrics-address: :3",
    );
    start.defaults.metrics_address = ":4".parse().ok();
    let printed = |start: &Start<'_>| {
        let line = start.printed("metrics-address");
        line.rsplit_once('/')
            .map_or(line.clone(), |(_, file)| format!("{} {file}", &line[..21]))
    };
    assert_eq!(printed(&start), "metrics-address: \":1\" # command line");
    start.line = "--image nginx";
    assert_eq!(
        printed(&start),
        "metrics-address: \":2\" # WEB_SITE_METRICS_ADDRESS"
    );
    start.environment = &[("WEB_SITE_METRICS_ADDRESS", "")];
    assert_eq!(printed(&start), "metrics-address: \":3\" site.yaml:1");
    start.file = None;
    assert_eq!(printed(&start), "metrics-address: \":4\" # default");
    start.defaults.metrics_address = None;
    assert_eq!(printed(&start), "metrics-address: \":8080\" # default");
}

#[test]
fn flags_that_main_does_not_name_are_an_error_that_says_what_to_write() {
    let matches = clap::Command::new("site").get_matches_from(["site"]);
    let error = crate::operator::setup::flags_in::<Own>(&matches).unwrap_err();
    let expected = "error: the command line does not define the flag `image` of pilothouse::operator::settings::tests::Own: \
                    end `main` with `.main_with::<Own>()`\n";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn the_users_flags_are_settings_too() {
    let own = |line, environment, file| Start::of(line, environment, file).own();
    let expected = Own {
        image: "nginx".into(),
        token: Some("t-1".into()),
        mirrors: vec!["a".into(), "b, c".into()],
        verbose: true,
        strictness: 2,
        region: Some("eu".into()),
    };
    let file =
        "image: nginx\napi-token: t-1\nmirror: [a, 'b, c']\nverbose: true\nstrict: 2\nregion: eu\n";
    for line in ["", "run", "dev"] {
        assert_eq!(own(line, &[], file), expected, "{line}");
    }
    let environment = [
        ("WEB_SITE_IMAGE", "nginx"),
        ("WEB_SITE_API_TOKEN", "t-1"),
        ("WEB_SITE_MIRROR", "a"),
        ("WEB_SITE_VERBOSE", "true"),
        ("WEB_SITE_STRICT", "2"),
        ("CLOUD_REGION", "eu"),
    ];
    let of_environment = own("", &environment, "mirror: [c, d]\nverbose: false\n");
    assert_eq!(of_environment.mirrors, ["a"]);
    assert_eq!(
        of_environment,
        Own {
            mirrors: vec!["a".into()],
            ..expected.clone()
        }
    );
    // Lists are not combined, and a switch that the command line sets is not set again.
    let of_line = own(
        "--mirror x --mirror y --verbose --strict",
        &environment,
        file,
    );
    assert_eq!(of_line.mirrors, ["x", "y"]);
    assert_eq!((of_line.verbose, of_line.strictness), (true, 1));
}

#[test]
fn a_false_variable_turns_off_a_switch_that_the_file_turns_on() {
    let start = Start::of(
        "--image nginx",
        &[("WEB_SITE_VERBOSE", "false")],
        "verbose: true",
    );
    assert!(!start.own().verbose);
}

#[test]
fn namespaces_come_from_every_source_of_settings() {
    let mut start = Start::of(
        "--image x -n a,b",
        &[("WEB_SITE_NAMESPACE", "c,d")],
        "namespace: [e, f]",
    );
    start.defaults.namespaces = ["g".into()].into();
    let namespaces = |start: &Start<'_>| match start.parse().unwrap().action {
        CommandAction::Run { options, .. } => Vec::from_iter(options.namespaces).join(","),
        other => panic!("{other:?}"),
    };
    assert_eq!(namespaces(&start), "a,b");
    start.line = "--image x";
    assert_eq!(namespaces(&start), "c,d");
    start.environment = &[("WEB_SITE_NAMESPACE", "c, d ")];
    assert_eq!(namespaces(&start), "c,d", "spaces do not count");
    start.environment = &[];
    assert_eq!(namespaces(&start), "e,f");
    start.file = None;
    assert_eq!(namespaces(&start), "g");
}

#[test]
fn the_log_filter_can_also_be_set_by_rust_log() {
    let log = |line, environment, file| Start::of(line, environment, file).printed("log");
    let both = [("WEB_SITE_LOG", "debug"), ("RUST_LOG", "trace")];
    assert_eq!(log("--image x", &both, ""), "log: debug # WEB_SITE_LOG");
    assert_eq!(
        log("--image x", &both[1..], "log: warn"),
        "log: trace # RUST_LOG"
    );
}

#[test]
fn one_file_serves_all_subcommands() {
    let file = "port: 6443\nkubeconfig: /tmp/k\nimage: x";
    let port = |line| match Start::of(line, &[], file).parse().unwrap().action {
        CommandAction::Dev { server, .. } => Some(server.port),
        _ => None,
    };
    assert_eq!(
        (port("dev"), port("run"), port("")),
        (Some(6443), None, None)
    );
    // Printing definitions needs no settings: neither the file nor required flags are checked.
    assert_eq!(
        Start::of("crd", &[], "a: [").parse().unwrap().action,
        CommandAction::Crd {
            check: None,
            compatible_with: None
        }
    );
}

#[test]
fn the_error_of_an_invalid_value_names_its_origin() {
    let table: &[(&str, Variables<'_>, &str, &str)] = &[
        (
            "--image x --log-format xml",
            &[],
            "",
            "error: invalid value 'xml' for '--log-format <FORMAT>'",
        ),
        (
            "--image x",
            &[("WEB_SITE_LOG_FORMAT", "xml")],
            "",
            "error: WEB_SITE_LOG_FORMAT: invalid value 'xml' for log-format: possible values: text, json",
        ),
        (
            "--image x",
            &[("RUST_LOG", "web=loud")],
            "",
            "error: RUST_LOG: invalid value 'web=loud' for log: unknown level `loud`: write a level such as `debug`, or `info,pilothouse=debug`; the levels are off, error, warn, info, debug and trace",
        ),
        (
            "--image x",
            &[],
            "image: y\nmetrics-address: 8080",
            "error: ~/site.yaml:2: invalid value '8080' for metrics-address: `8080` is not an address to listen on: write `:8080`, `127.0.0.1:8080` or `[::1]:8080`",
        ),
        // The file is checked even if another subcommand runs or a flag overrides the value.
        (
            "run --image x",
            &[],
            "port: http",
            "error: ~/site.yaml:1: invalid value 'http' for port: invalid digit found in string",
        ),
        (
            "--image x --log info",
            &[],
            "log: loud=loud",
            "error: ~/site.yaml:1: invalid value 'loud=loud' for log: unknown level `loud`: write a level such as `debug`, or `info,pilothouse=debug`; the levels are off, error, warn, info, debug and trace",
        ),
        (
            "--image x",
            &[("WEB_SITE_LOG", "infoo")],
            "",
            "error: WEB_SITE_LOG: invalid value 'infoo' for log: unknown level `infoo`: write a level such as `debug`",
        ),
        (
            "--image x --log=",
            &[],
            "",
            "error: invalid value '' for '--log <FILTER>': a level is missing: write a level such as `debug`",
        ),
        (
            "--image x -n a,,b",
            &[],
            "",
            "error: invalid value '' for '--namespace <NAME>': the name is empty: name each namespace, or leave the setting out to work in all",
        ),
        (
            "--image x",
            &[("WEB_SITE_NAMESPACE", "Bad_Name")],
            "",
            "error: WEB_SITE_NAMESPACE: invalid value 'Bad_Name' for namespace: the name of a namespace has to be a DNS label: ",
        ),
        (
            "--image x",
            &[],
            "namespace: [a, '']",
            "error: ~/site.yaml:1: invalid value '' for namespace: the name is empty: ",
        ),
        (
            "--image x --debug-page --debug-host a,,b",
            &[],
            "",
            "error: invalid value '' for '--debug-host <NAME>': the name is empty: ",
        ),
        (
            "",
            &[],
            "image: [x, y]",
            "error: ~/site.yaml:1: image takes one value, not 2",
        ),
        (
            "",
            &[],
            "verbose: maybe",
            "error: ~/site.yaml:1: invalid value 'maybe' for verbose: possible values: true, false",
        ),
    ];
    for (line, environment, file, expected) in table {
        let error = error_of(line, environment, file);
        assert!(error.starts_with(expected), "{error}");
    }
    assert_eq!(
        error_of("--config ~/none.yaml", &[], ""),
        "error: the settings file ~/none.yaml does not exist: check --config"
    );
}

#[test]
fn a_required_flag_that_is_set_nowhere_gives_claps_error() {
    let text = Start::of("run", &[], "log: info").parse().unwrap_err();
    assert!(
        text.starts_with(
            "error: the following required arguments were not provided:\n  --image <IMAGE>\n"
        ),
        "{text}"
    );
    // A requirement between flags holds for values of every origin.
    let text = Start::of("--image x", &[("WEB_SITE_API_TOKEN", "t-1")], "");
    let text = text.parse().unwrap_err();
    assert!(text.contains("--region"), "{text}");
    let together = Start::of(
        "--image x --region eu",
        &[("WEB_SITE_API_TOKEN", "t-1")],
        "",
    );
    assert_eq!(together.own().token.as_deref(), Some("t-1"));
}

#[test]
fn an_unknown_name_is_reported_with_a_suggestion_and_all_names() {
    let all = "The settings are api-token, context, data, debug-host, debug-page, image, install, kubeconfig, leader-elect, lease-duration, lease-name, lease-namespace, log, log-format, metrics-address, metrics-auth, metrics-cert-key, metrics-cert-name, metrics-cert-path, metrics-secure, mirror, namespace, port, region, renew-deadline, retry-period, strict, verbose";
    let table = [
        ("metricsAddress", "did you mean metrics-address? "),
        ("metrics_address", "did you mean metrics-address? "),
        ("metrics-adress", "did you mean metrics-address? "),
        ("leaderElect", "did you mean leader-elect? "),
        ("config", ""),
        ("print-settings", ""),
        ("zzz", ""),
    ];
    for (name, suggestion) in table {
        let error = error_of("", &[], &format!("log: info\n{name}: hunter2"));
        assert_eq!(
            error,
            format!("error: ~/site.yaml:2: unknown setting {name}: {suggestion}{all}")
        );
    }
}

#[test]
fn a_secret_is_never_shown() {
    let secret = "hunter2";
    let in_file = format!("api-token: {secret}\nimage: x\nregion: eu");
    let table: &[(&str, Variables<'_>, &str)] = &[
        ("--image x --region eu --api-token hunter2", &[], ""),
        ("dev --image x --region eu --api-token=hunter2", &[], ""),
        (
            "--image x --region eu",
            &[("WEB_SITE_API_TOKEN", secret)],
            "",
        ),
        ("run", &[], &in_file),
    ];
    for (line, environment, file) in table {
        let start = Start::of(line, environment, file);
        let text = start.parse().unwrap_err();
        assert!(text.contains("api-token"), "{text}");
        assert!(!text.contains(secret), "{text}");
    }
    let start = Start::of(
        "",
        &[("WEB_SITE_API_TOKEN", "t-hunter2")],
        "image: x\nregion: eu",
    );
    assert_eq!(
        start.printed("api-token"),
        "# api-token: a secret, not shown # WEB_SITE_API_TOKEN"
    );
    let parsed = start.parse().unwrap();
    assert!(!format!("{parsed:?}").contains(secret));
    let help = Start::of("--help", start.environment, "")
        .parse()
        .unwrap_err();
    assert!(
        help.contains("WEB_SITE_API_TOKEN") && !help.contains(secret),
        "{help}"
    );
}

#[test]
fn a_service_variable_of_kubernetes_is_not_a_setting() {
    let link = "tcp://10.0.0.1:80";
    let links = [
        ("WEB_SITE_SERVICE_HOST", "10.0.0.1"),
        ("WEB_SITE_PORT", link),
    ];
    let start = Start::of("dev --image x", &links, "");
    assert_eq!(start.printed("port"), "port: 0 # default");
    // Without such a Service the variable is a setting.
    assert_eq!(
        error_of("dev --image x", &links[1..], ""),
        format!(
            "error: WEB_SITE_PORT: invalid value '{link}' for port: invalid digit found in string"
        )
    );
}

#[test]
fn printed_settings_are_a_file_with_the_same_effect() {
    let file = "image: 'a: b'\nmirror: [x, \"y, z\", 'null']\nverbose: true\nlog: warn\nnamespace: [a, b]\nregion: eu";
    let start = Start::of("--print-settings", &[], file);
    let CommandAction::Print(printed) = start.parse().unwrap().action else {
        panic!("nothing is printed");
    };
    let again = Start::of("", &[], &printed);
    assert_eq!(again.own(), Start::of("", &[], file).own());
    assert_eq!(
        again.parse().unwrap().action,
        Start::of("", &[], file).parse().unwrap().action
    );
}

#[test]
fn arguments_after_two_dashes_are_not_changed() {
    let text = Start::of("--image x --", &[], "log: info");
    assert!(text.parse().is_ok());
}

#[test]
fn help_shows_defaults_and_variables() {
    for (name, line) in [
        ("help", "--help"),
        ("help_dev", "dev --help"),
        ("help_uninstall", "uninstall --help"),
        ("help_adopt_from", "adopt-from --help"),
    ] {
        insta::assert_snapshot!(name, Start::of(line, &[], "").parse().unwrap_err());
    }
    command::<Own>("web-site", &Defaults::default()).debug_assert();
}
