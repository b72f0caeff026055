//! The flags of metrics, health and the debug page.

use super::{Start, Variables, error_of};
use crate::operator::{
    Serving,
    command_line::CommandAction,
    settings::{Defaults, ServingFlags},
};

fn served(start: &Start<'_>) -> ServingFlags {
    match start.parse().unwrap().action {
        CommandAction::Run { options, .. } | CommandAction::Dev { options, .. } => options.serving,
        other => panic!("{other:?}"),
    }
}

#[test]
fn metrics_are_served_by_the_settings_of_every_origin() {
    let certificate = Serving::https("/c/tls.crt", "/c/tls.key");
    let all = [
        ("WEB_SITE_METRICS_SECURE", "true"),
        ("WEB_SITE_METRICS_CERT_PATH", "/c"),
        ("WEB_SITE_METRICS_CERT_NAME", "one.pem"),
        ("WEB_SITE_METRICS_CERT_KEY", "other.pem"),
        ("WEB_SITE_METRICS_AUTH", "true"),
    ];
    let in_file = "metrics-secure: true\nmetrics-cert-path: /c\nmetrics-auth: true";
    let table: [(&str, Variables<'_>, &str, Serving); 10] = [
        ("", &[], "", Serving::http()),
        ("--metrics-secure", &[], "", Serving::self_signed()),
        ("--metrics-auth", &[], "", Serving::http().authorized()),
        (
            "--metrics-secure --metrics-cert-path /c",
            &[],
            "",
            certificate.clone(),
        ),
        (
            "--metrics-secure=true --metrics-cert-path /c --metrics-cert-name a --metrics-cert-key b",
            &[],
            "",
            Serving::https("/c/a", "/c/b"),
        ),
        (
            "",
            &all,
            "",
            Serving::https("/c/one.pem", "/c/other.pem").authorized(),
        ),
        ("", &[], in_file, certificate.clone().authorized()),
        ("--metrics-auth=false", &[], in_file, certificate),
        // A setting that turns HTTPS off overrides other settings of lower priority.
        (
            "--metrics-secure=false",
            &[],
            in_file,
            Serving::http().authorized(),
        ),
        (
            "--metrics-address 0",
            &[],
            in_file,
            Serving::https("/c/tls.crt", "/c/tls.key").authorized(),
        ),
    ];
    for (line, environment, file, expected) in table {
        for subcommand in ["run", "dev"] {
            let line = format!("{subcommand} --image x {line}");
            let start = Start::of(&line, environment, file);
            assert_eq!(served(&start).serving, expected, "{line} {file}");
        }
    }
}

#[test]
fn a_flag_has_priority_over_the_programs_serving() {
    let program = Serving::https("/p/one", "/q/two").authorized();
    let mut start = Start::of("--image x", &[], "");
    start.defaults = Defaults {
        serving: program.clone(),
        debug_page: true,
        ..Defaults::default()
    };
    let both = |start: &Start<'_>| {
        let ServingFlags {
            serving,
            debug_page,
            debug_hosts: _,
        } = served(start);
        (serving, debug_page)
    };
    assert_eq!(both(&start), (program.clone(), true));
    assert_eq!(
        start.printed("metrics-secure"),
        "metrics-secure: true # default"
    );
    start.line = "--image x --metrics-auth=false --debug-page=false";
    let open = Serving::https("/p/one", "/q/two");
    assert_eq!(both(&start), (open, false));
    start.line = "--image x --metrics-secure=false";
    assert_eq!(both(&start), (Serving::http().authorized(), true));
    start.line = "--image x --metrics-cert-path /c";
    let other = Serving::https("/c/tls.crt", "/c/tls.key").authorized();
    assert_eq!(both(&start), (other, true));
    // The program's own options are never reported as a mistake of the user.
    start.line = "--image x --metrics-address 0";
    assert_eq!(both(&start), (program, true));
}

#[test]
fn the_debug_page_is_served_only_on_request() {
    for (line, environment, file, expected) in [
        ("", &[][..], "", false),
        ("--debug-page", &[], "", true),
        ("", &[("WEB_SITE_DEBUG_PAGE", "true")], "", true),
        ("", &[], "debug-page: true", true),
        ("--debug-page=false", &[], "debug-page: true", false),
    ] {
        let line = format!("--image x {line}");
        let start = Start::of(&line, environment, file);
        assert_eq!(served(&start).debug_page, expected, "{line} {file}");
    }
}

#[test]
fn the_debug_page_is_served_for_the_configured_hosts() {
    let table: [(&str, Variables<'_>, &str, &[&str]); 5] = [
        ("", &[], "", &["of.program"]),
        ("--debug-page --debug-host a.b,c", &[], "", &["a.b", "c"]),
        (
            "--debug-page",
            &[("WEB_SITE_DEBUG_HOST", "a.b")],
            "",
            &["a.b"],
        ),
        ("", &[], "debug-page: true\ndebug-host: [a, b]", &["a", "b"]),
        // A setting that turns the page off overrides settings of lower priority.
        ("--debug-page=false", &[], "debug-host: a", &["a"]),
    ];
    for (line, environment, file, expected) in table {
        let line = format!("--image x {line}");
        let mut start = Start::of(&line, environment, file);
        start.defaults.debug_hosts = vec!["of.program".into()];
        assert_eq!(served(&start).debug_hosts, expected, "{line} {file}");
    }
}

#[test]
fn a_setting_without_effect_is_reported_with_the_other_setting_and_their_origins() {
    let table: [(&str, Variables<'_>, &str, &str); 10] = [
        (
            "--metrics-cert-path /c",
            &[],
            "",
            "--metrics-cert-path (command line) has no effect without --metrics-secure",
        ),
        (
            "",
            &[],
            "metrics-secure: false\nmetrics-cert-path: /c",
            "--metrics-cert-path (~/site.yaml:2) has no effect without --metrics-secure",
        ),
        (
            "--metrics-cert-path /c",
            &[("WEB_SITE_METRICS_SECURE", "false")],
            "",
            "--metrics-cert-path (command line) has no effect without --metrics-secure",
        ),
        (
            "",
            &[("WEB_SITE_METRICS_CERT_KEY", "tls.key")],
            "",
            "--metrics-cert-key (WEB_SITE_METRICS_CERT_KEY) has no effect without --metrics-secure",
        ),
        (
            "--metrics-secure --metrics-cert-name a",
            &[],
            "",
            "--metrics-cert-name (command line) has no effect without --metrics-cert-path",
        ),
        (
            "--metrics-secure --metrics-address 0",
            &[],
            "",
            "--metrics-secure (command line) has no effect because --metrics-address is 0 (command line)",
        ),
        (
            "--metrics-auth",
            &[("WEB_SITE_METRICS_ADDRESS", "0")],
            "",
            "--metrics-auth (command line) has no effect because --metrics-address is 0 (WEB_SITE_METRICS_ADDRESS)",
        ),
        (
            "",
            &[],
            "debug-page: true\nmetrics-address: 0",
            "--debug-page (~/site.yaml:1) has no effect because --metrics-address is 0 (~/site.yaml:2)",
        ),
        (
            "--debug-host debug.example.com",
            &[],
            "",
            "--debug-host (command line) has no effect without --debug-page",
        ),
        (
            "--metrics-secure=yes",
            &[],
            "",
            "invalid value 'yes' for '--metrics-secure[=<true|false>]'",
        ),
    ];
    for (line, environment, file, expected) in table {
        let line = format!("--image x {line}");
        assert_eq!(
            error_of(&line, environment, file),
            format!("error: {expected}"),
            "{line} {file}"
        );
    }
}

#[test]
fn the_name_of_the_key_file_is_not_a_secret() {
    let start = Start::of(
        "--image x --metrics-secure --metrics-cert-path /c --metrics-cert-key site.key",
        &[],
        "",
    );
    assert_eq!(
        start.printed("metrics-cert-key"),
        "metrics-cert-key: site.key # command line"
    );
}
