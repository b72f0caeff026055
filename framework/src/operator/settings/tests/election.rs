//! The flags of the leader election.

use std::time::Duration;

use super::{Start, Variables, error_of};
use crate::{
    election::ElectionSettings,
    operator::{
        command_line::CommandAction,
        settings::{Defaults, ElectionFlags},
    },
};

/// The election of a start. `None` if no leader is elected.
fn elected(start: &Start<'_>) -> Option<ElectionFlags> {
    match start.parse().unwrap().action {
        CommandAction::Run { options, .. } | CommandAction::Dev { options, .. } => options.election,
        other => panic!("{other:?}"),
    }
}

/// Name, namespace and durations of an election, in one line.
fn election(start: &Start<'_>) -> String {
    let Some(flags) = elected(start) else {
        return "none".into();
    };
    let namespace = flags.namespace.as_deref().unwrap_or("-");
    let times = [
        flags.lease_duration,
        flags.renew_deadline,
        flags.retry_period,
    ];
    format!("{} {namespace} {times:?}", flags.name)
}

const USUAL: &str = "web-site - [15s, 10s, 2s]";

#[test]
fn run_elects_by_default_and_dev_does_not() {
    let table: [(&str, Variables<'_>, &str, &str); 9] = [
        ("", &[], "", USUAL),
        ("run", &[], "", USUAL),
        ("dev", &[], "", "none"),
        ("run --leader-elect=false", &[], "", "none"),
        ("dev --leader-elect", &[], "", USUAL),
        ("run", &[("WEB_SITE_LEADER_ELECT", "false")], "", "none"),
        ("run", &[], "leader-elect: false", "none"),
        (
            "run --leader-elect",
            &[("WEB_SITE_LEADER_ELECT", "false")],
            "leader-elect: false",
            USUAL,
        ),
        (
            "run",
            &[("WEB_SITE_LEADER_ELECT", "true")],
            "leader-elect: false",
            USUAL,
        ),
    ];
    for (line, environment, file, expected) in table {
        let line = format!("{line} --image x");
        let start = Start::of(&line, environment, file);
        assert_eq!(election(&start), expected, "{line} {environment:?} {file}");
    }
}

#[test]
fn election_settings_come_from_every_source_of_settings() {
    let flags = "--image x --lease-name a --lease-namespace ns-a --lease-duration 1m30s --renew-deadline 60s --retry-period 500ms";
    let environment = [
        ("WEB_SITE_LEASE_NAME", "b"),
        ("WEB_SITE_LEASE_NAMESPACE", "ns-b"),
        ("WEB_SITE_LEASE_DURATION", "30s"),
        ("WEB_SITE_RENEW_DEADLINE", "20s"),
        ("WEB_SITE_RETRY_PERIOD", "3s"),
    ];
    let file = "lease-name: c\nlease-namespace: ns-c\nlease-duration: 40s\nrenew-deadline: 1.5s\nretry-period: 1s";
    let mut start = Start::of(flags, &environment, file);
    start.defaults = Defaults {
        election: Some(ElectionSettings::new("d").namespace("ns-d").times(
            seconds(50),
            seconds(45),
            seconds(5),
        )),
        ..Defaults::default()
    };
    assert_eq!(election(&start), "a ns-a [90s, 60s, 500ms]");
    start.line = "--image x";
    assert_eq!(election(&start), "b ns-b [30s, 20s, 3s]");
    start.environment = &[];
    assert_eq!(election(&start), "c ns-c [40s, 1.5s, 1s]");
    start.file = None;
    assert_eq!(election(&start), "d ns-d [50s, 45s, 5s]");
    assert_eq!(
        start.printed("lease-duration"),
        "lease-duration: 50s # default"
    );
    start.defaults = Defaults::default();
    assert_eq!(election(&start), USUAL);
    assert_eq!(
        start.printed("lease-name"),
        "lease-name: web-site # default"
    );
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_program_without_election_does_not_elect_unless_a_flag_asks_for_it() {
    let mut start = Start::of("--image x", &[], "");
    start.defaults.elects = Some(false);
    assert_eq!(election(&start), "none");
    start.line = "--image x --leader-elect";
    assert_eq!(election(&start), USUAL);
    start.defaults.elects = Some(true);
    start.line = "dev --image x";
    assert_eq!(election(&start), "none");
}

#[test]
fn options_that_only_the_program_sets_are_kept() {
    let program = ElectionSettings::new("d")
        .identity("me")
        .label("team", "web");
    let flags = elected(&Start::of("--image x --lease-name a", &[], "")).unwrap();
    let settings = flags.onto(Some(program));
    assert_eq!((&*settings.name, &*settings.identity), ("a", "me"));
    assert_eq!(settings.labels, [("team".to_owned(), "web".to_owned())]);
}

#[test]
fn contradicting_durations_name_the_flags_and_their_origin() {
    let table: [(&str, Variables<'_>, &str, &str); 8] = [
        (
            "--renew-deadline 15s",
            &[],
            "",
            "--lease-duration (15s: default) must be longer than --renew-deadline (15s: command line): otherwise two processes could lead at once",
        ),
        (
            "",
            &[("WEB_SITE_LEASE_DURATION", "5s")],
            "renew-deadline: 6s",
            "--lease-duration (5s: WEB_SITE_LEASE_DURATION) must be longer than --renew-deadline (6s: ~/site.yaml:1): otherwise two processes could lead at once",
        ),
        (
            "--retry-period 9s",
            &[],
            "",
            "--renew-deadline (10s: default) must be longer than 1.2 times --retry-period (9s: command line): otherwise one failed renewal ends leadership",
        ),
        (
            "--lease-duration 15500ms",
            &[],
            "",
            "--lease-duration (15.5s: command line) must be whole seconds, because the Lease stores whole seconds",
        ),
        (
            "--retry-period 0s",
            &[],
            "",
            "--retry-period (0ns: command line) must be longer than zero",
        ),
        (
            "--lease-duration 9223372036854775807s",
            &[],
            "",
            "--lease-duration (9223372036854775807s: command line) is longer than a Lease can store (2147483647 s)",
        ),
        (
            "",
            &[("WEB_SITE_RETRY_PERIOD", "2")],
            "",
            "WEB_SITE_RETRY_PERIOD: invalid value '2' for retry-period: `2` is not a time: write `15s`, `500ms` or `1m30s`",
        ),
        (
            "",
            &[],
            "retry-period: -2s",
            "~/site.yaml:1: invalid value '-2s' for retry-period: `-2s` is not a time: write `15s`, `500ms` or `1m30s`",
        ),
    ];
    for (line, environment, file, expected) in table {
        let line = format!("--image x {line}");
        assert_eq!(
            error_of(&line, environment, file),
            format!("error: {expected}"),
            "{line}"
        );
        // Without an election the durations need not fit.
        if expected.starts_with("--") {
            let line = format!("{line} --leader-elect=false");
            assert!(
                Start::of(&line, environment, file).parse().is_ok(),
                "{line}"
            );
        }
    }
}

#[test]
fn an_invalid_name_of_a_lease_a_namespace_or_an_operator_is_refused() {
    assert_eq!(
        error_of("--image x --lease-name Web", &[], ""),
        "error: invalid value 'Web' for '--lease-name <NAME>': the name of a Lease has to be a DNS name: at most 253 lower-case letters, digits, `-` and `.`, with a letter or digit at both ends and around each `.`"
    );
    assert_eq!(
        error_of("--image x", &[("WEB_SITE_LEASE_NAMESPACE", "a.b")], ""),
        "error: WEB_SITE_LEASE_NAMESPACE: invalid value 'a.b' for lease-namespace: the name of a namespace has to be a DNS label: at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends"
    );
    let mut start = Start::of("--image x", &[], "");
    start.defaults.election = Some(ElectionSettings::new("Web Site"));
    assert_eq!(
        start.parse().unwrap_err().lines().next().unwrap(),
        "error: --lease-name (`Web Site`: default) has to be a DNS name: at most 253 lower-case letters, digits, `-` and `.`, with a letter or digit at both ends and around each `.`"
    );
    // Without an election no Lease needs a name.
    for line in ["--image x --leader-elect=false", "dev --image x"] {
        start.line = line;
        assert_eq!(election(&start), "none", "{line}");
    }
    start.line = "--image x --lease-name web";
    assert_eq!(election(&start), "web - [15s, 10s, 2s]");
}
