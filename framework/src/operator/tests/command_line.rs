use std::{collections::BTreeSet, time::Duration};

use crate::{
    client::KubeconfigOptions,
    operator::{
        NoFlags, Serving,
        command_line::*,
        logs::LogFormat,
        settings::{Defaults, ElectionFlags, ServingFlags, command},
    },
    server::Address,
};

fn parse(line: &str) -> Result<CommandLine, clap::Error> {
    let line = format!("website {line}");
    let line = line.split_whitespace();
    CommandLine::parse::<NoFlags>("website", &Defaults::default(), line, &|_| None)
}

/// The default in a cluster.
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

fn options(address: &str, election: Option<ElectionFlags>) -> RunOptions {
    RunOptions {
        namespaces: BTreeSet::new(),
        election,
        metrics_address: address.parse().ok(),
        serving: open(),
        webhooks: None,
        log: "info".parse().unwrap(),
        log_format: LogFormat::Text,
    }
}

#[test]
fn run_is_the_default_subcommand() {
    let run = |address: &str| CommandAction::Run {
        kubeconfig: KubeconfigOptions::default(),
        options: options(address, elected()),
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
        options: RunOptions {
            namespaces: ["apps".into(), "web".into()].into(),
            election: elected(),
            metrics_address: Some(Address::loopback(9)),
            serving: open(),
            webhooks: None,
            log: "debug".parse().unwrap(),
            log_format: LogFormat::Json,
        },
    };
    assert_eq!(parse(flags).unwrap().action, expected);
    assert_eq!(parse(&format!("run {flags}")).unwrap().action, expected);
}

#[test]
fn dev_uses_free_ports_on_loopback_by_default() {
    for (line, server) in [
        ("dev", DevOptions::default()),
        (
            "dev --port 6443 --data d",
            DevOptions {
                port: 6443,
                data: Some("d".into()),
                ..DevOptions::default()
            },
        ),
        (
            "dev --api-server-kubeconfig k",
            DevOptions {
                kubeconfig: Some("k".into()),
                ..DevOptions::default()
            },
        ),
        (
            "dev --install a.yaml --install b,c.json",
            DevOptions {
                install: vec!["a.yaml".into(), "b,c.json".into()],
                ..DevOptions::default()
            },
        ),
    ] {
        let mut options = options("127.0.0.1:0", None);
        options.serving.debug_page = true;
        assert_eq!(
            parse(line).unwrap().action,
            CommandAction::Dev { server, options }
        );
    }
}

#[test]
fn the_commands_that_print_what_run_needs_have_its_settings_and_read_no_variables() {
    let rbac = |namespace: &str, installs, run| {
        CommandAction::Rbac(RolesOptions {
            namespace: namespace.into(),
            installs,
            check: None,
            run,
        })
    };
    let default = || options(":8080", elected());
    let expected = rbac("website-system", false, default());
    assert_eq!(parse("rbac").unwrap().action, expected);
    let limited = RunOptions {
        namespaces: ["blue".into(), "green".into()].into(),
        election: None,
        ..default()
    };
    let line =
        "rbac -n blue,green --leader-elect=false --operator-namespace ops --install-definitions";
    assert_eq!(parse(line).unwrap().action, rbac("ops", true, limited));
    let line = ["website", "rbac"];
    let variables = |_: &str| Some("blue".into());
    let defaults = Defaults::default();
    let parsed = CommandLine::parse::<NoFlags>("website", &defaults, line, &variables);
    assert_eq!(parsed.unwrap().action, expected);
}

#[test]
fn a_certificate_of_the_program_that_no_secret_can_have_is_refused() {
    let line = ["website", "manifests", "--image", "x"];
    let parse = |serving: Serving, more: &[&str]| {
        let defaults = Defaults {
            serving,
            ..Defaults::default()
        };
        let line = line.iter().chain(more);
        CommandLine::parse::<NoFlags>("website", &defaults, line, &|_| None)
    };
    let apart = || Serving::https("/a/tls.crt", "/b/tls.key");
    let error = parse(apart(), &[]).unwrap_err().to_string();
    assert_eq!(
        error,
        "error: the certificate /a/tls.crt and its key /b/tls.key are in two folders, but a pod has one Secret with both: put them into \
         one folder in `Serving::https`, or write --metrics-cert-path /certificate\n"
    );
    parse(apart(), &["--metrics-cert-path", "/certificate"]).unwrap();
    parse(apart(), &["--metrics-address", "0"]).unwrap();
    parse(Serving::https("/a/tls.crt", "/a/tls.key"), &[]).unwrap();
}

#[test]
fn the_command_and_the_flag_for_the_version_print_the_same() {
    let mut defaults = Defaults::default();
    for (version, first) in [
        (None, "website without a version"),
        (Some("1.2.3"), "website 1.2.3"),
    ] {
        defaults.version = version.map(str::to_owned);
        let parse = |argument: &str| {
            let line = ["website", argument];
            CommandLine::parse::<NoFlags>("website", &defaults, line, &|_| None)
        };
        let Ok(CommandAction::Print(text)) = parse("version").map(|line| line.action) else {
            panic!("the command prints something else");
        };
        assert_eq!(text.lines().next(), Some(first));
        assert!(text.contains("\npilothouse "), "{text}");
        assert!(text.contains("\nKubernetes 1."), "{text}");
        let flag = parse("--version").unwrap_err();
        assert_eq!((flag.exit_code(), flag.to_string()), (0, text));
    }
    command::<NoFlags>("website", &defaults).debug_assert();
}

#[test]
fn the_clap_definition_is_valid() {
    // The second one cannot be the name of an object.
    for name in ["website", "Web_Site"] {
        command::<NoFlags>(name, &Defaults::default()).debug_assert();
    }
}

#[test]
fn an_invalid_line_gives_an_error_of_one_line() {
    let table = [
        ("serve", "error: unrecognized subcommand 'serve'"),
        (
            "dev --kubeconfig x",
            "error: unexpected argument '--kubeconfig' found",
        ),
        (
            "--namespace apps run",
            "error: write --namespace after the subcommand: `website run --namespace …`",
        ),
        (
            "--log debug -n apps dev",
            "error: write --log, --namespace after the subcommand: `website dev --log … --namespace …`",
        ),
        (
            "rbac -n Blue",
            "error: invalid value 'Blue' for '--namespace <NAME>': the name of a namespace has to be a DNS label: at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends",
        ),
        (
            "rbac --metrics-address 0 --metrics-auth",
            "error: --metrics-auth (command line) has no effect because --metrics-address is 0 (command line)",
        ),
        ("--port 1", "error: unexpected argument '--port' found"),
        (
            "--metrics-address 8080",
            "error: invalid value '8080' for '--metrics-address <ADDRESS>': `8080` is not an address to listen on: write `:8080`, `127.0.0.1:8080` or `[::1]:8080`",
        ),
        (
            "--kubeconfig x dev",
            "error: the subcommand 'dev' cannot be used with '--kubeconfig <FILE>'",
        ),
        (
            "--log pilothouse=loud",
            "error: invalid value 'pilothouse=loud' for '--log <FILTER>': unknown level `loud`: write a level such as `debug`, or `info,pilothouse=debug`; the levels are off, error, warn, info, debug and trace",
        ),
    ];
    for (line, expected) in table {
        let text = parse(line).unwrap_err().to_string();
        assert_eq!(text.lines().next(), Some(expected));
    }
}
