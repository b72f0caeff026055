//! The flags of the election.

use std::time::Duration;

use super::{Start, Variables, told};
use crate::{
    election::ElectionSettings,
    operator::{
        command_line::CommandAction,
        settings::{Defaults, ElectionFlags},
    },
};

/// What comes of a start; `None` when nobody is elected.
fn elected(start: &Start<'_>) -> Option<ElectionFlags> {
    match start.parse().unwrap().action {
        CommandAction::Run { shared, .. } | CommandAction::Dev { shared, .. } => shared.election,
        other => panic!("{other:?}"),
    }
}

/// Name, namespace and times of an election, in one line.
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
fn run_elects_and_dev_does_not_unless_told_otherwise() {
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
fn its_settings_come_from_wherever_settings_do() {
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
fn a_program_that_elects_nobody_is_left_alone_and_can_be_overruled() {
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
fn what_only_the_program_says_stays() {
    let program = ElectionSettings::new("d")
        .identity("me")
        .label("team", "web");
    let flags = elected(&Start::of("--image x --lease-name a", &[], "")).unwrap();
    let settings = flags.onto(Some(program));
    assert_eq!((&*settings.name, &*settings.identity), ("a", "me"));
    assert_eq!(settings.labels, [("team".to_owned(), "web".to_owned())]);
}

#[test]
fn what_would_let_two_lead_or_none_names_the_flags_and_where_they_stand() {
    let table: [(&str, Variables<'_>, &str, &str); 8] = [
        (
            "--renew-deadline 15s",
            &[],
            "",
            "--lease-duration (15s: default) has to be longer than --renew-deadline (15s: command line): otherwise two could lead at once",
        ),
        (
            "",
            &[("WEB_SITE_LEASE_DURATION", "5s")],
            "renew-deadline: 6s",
            "--lease-duration (5s: WEB_SITE_LEASE_DURATION) has to be longer than --renew-deadline (6s: ~/site.yaml:1): otherwise two could lead at once",
        ),
        (
            "--retry-period 9s",
            &[],
            "",
            "--renew-deadline (10s: default) has to be longer than 1.2 times --retry-period (9s: command line): otherwise one failed renewal ends leadership",
        ),
        (
            "--lease-duration 15500ms",
            &[],
            "",
            "--lease-duration (15.5s: command line) has to be whole seconds, as the Lease tells it",
        ),
        (
            "--retry-period 0s",
            &[],
            "",
            "--retry-period (0ns: command line) has to be longer than nothing",
        ),
        (
            "--lease-duration 9223372036854775807s",
            &[],
            "",
            "--lease-duration (9223372036854775807s: command line) is more than the Lease can tell",
        ),
        (
            "",
            &[("WEB_SITE_RETRY_PERIOD", "2")],
            "",
            "WEB_SITE_RETRY_PERIOD: invalid value '2' for retry-period: `2` is no time: write `15s`, `500ms` or `1m30s`",
        ),
        (
            "",
            &[],
            "retry-period: -2s",
            "~/site.yaml:1: invalid value '-2s' for retry-period: `-2s` is no time: write `15s`, `500ms` or `1m30s`",
        ),
    ];
    for (line, environment, file, expected) in table {
        let line = format!("--image x {line}");
        assert_eq!(
            told(&line, environment, file),
            format!("error: {expected}"),
            "{line}"
        );
        // Who elects nobody needs no times that fit.
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
fn what_cannot_be_a_lease_or_a_namespace_is_told_and_so_is_an_operators_name() {
    assert_eq!(
        told("--image x --lease-name Web", &[], ""),
        "error: invalid value 'Web' for '--lease-name <NAME>': the name of a Lease has to be a DNS name: at most 253 lower-case letters, digits, `-` and `.`, with a letter or digit at both ends and around each `.`"
    );
    assert_eq!(
        told("--image x", &[("WEB_SITE_LEASE_NAMESPACE", "a.b")], ""),
        "error: WEB_SITE_LEASE_NAMESPACE: invalid value 'a.b' for lease-namespace: the name of a namespace has to be a DNS label: at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends"
    );
    let mut start = Start::of("--image x", &[], "");
    start.defaults.election = Some(ElectionSettings::new("Web Site"));
    assert_eq!(
        start.parse().unwrap_err().lines().next().unwrap(),
        "error: --lease-name (`Web Site`: default) has to be a DNS name: at most 253 lower-case letters, digits, `-` and `.`, with a letter or digit at both ends and around each `.`"
    );
    // Where nobody is elected no Lease needs a name.
    for line in ["--image x --leader-elect=false", "dev --image x"] {
        start.line = line;
        assert_eq!(election(&start), "none", "{line}");
    }
    start.line = "--image x --lease-name web";
    assert_eq!(election(&start), "web - [15s, 10s, 2s]");
}
