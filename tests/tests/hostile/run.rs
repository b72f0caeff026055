//! Runs a row and checks its limits.

use std::{collections::BTreeMap, time::Duration};

use pilothouse::{
    election::{ElectionSettings, Phase},
    health::Query,
    operator::{Operator, Running},
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    log::Log,
    program::{Keeper, Seen, widget},
    row::{Call, CallOutcome, Health, Program, Row},
    server::{Protocol, Server},
};

/// The time for which the server is hostile.
const HOSTILE: Duration = Duration::from_secs(60);

/// The longest line that the program may log, whatever the server sends.
const LONGEST: usize = 16 * 1024;

/// Namespace and name of the Lease.
const LEASE: (&str, &str) = ("default", "hostile");

/// Returns a released Lease. The election must not wait for a lease duration, because it is not on the paused clock.
fn released() -> Value {
    json!({"metadata": {}, "spec": {"holderIdentity": "", "leaseDurationSeconds": 1}})
}

/// Runs a row over a protocol.
pub(crate) async fn run(protocol: Protocol, row: Row) {
    let server = Server::new(
        protocol,
        row.misbehave.clone(),
        row.tamper,
        row.connects,
        // A loop exceeds the limit long before this number.
        row.requests * 20 + 1000,
    );
    server.change(|world| {
        world.put("widgets", ("default", "changed"), widget(1));
        world.put("widgets", ("default", "gone"), widget(1));
        world.put("widgets", ("default", "same"), widget(1));
        world.put("leases", LEASE, released());
    });
    match row.program.clone() {
        Program::Call(call, expected) => attack_call(&server, &row, &call, expected).await,
        _ => attack_operator(&server, &row).await,
    }
}

async fn attack_call(server: &Server, row: &Row, call: &Call, expected: CallOutcome) {
    let (log, _guard) = Log::start();
    let client = server.client();
    server.turn_hostile();
    let outcome = timeout(HOSTILE, call(client.clone())).await;
    let outcome = outcome.unwrap_or_else(|_| panic!("the call has not ended; {}", asked(server)));
    match (expected, &outcome) {
        (CallOutcome::Text(text), Ok(given)) if given == text => {}
        (CallOutcome::Error(words), Err(error)) if error.to_string().contains(words) => {}
        _ => panic!("expected {expected:?}, found {outcome:?}"),
    }
    check_limits(server, row, &log);
    server.turn_honest(false);
    let outcome = timeout(row.recovers, call(client)).await.unwrap();
    outcome.expect("an honest server is asked");
}

async fn attack_operator(server: &Server, row: &Row) {
    let (log, _guard) = Log::start();
    if !row.synced {
        server.turn_hostile();
    }
    let seen = Seen::default();
    let keeper = Keeper {
        seen: seen.clone(),
        applies: matches!(row.program, Program::Applying),
    };
    let mut operator = Operator::new("hostile").controller(keeper);
    if matches!(row.program, Program::Elected) {
        operator = operator.election(ElectionSettings::new("hostile").identity("us"));
    }
    let running = operator.start(server.client()).await.unwrap();
    if row.synced {
        until_recovered(
            server,
            &running,
            &seen,
            Duration::from_secs(30),
            "before the attack",
        )
        .await;
        sleep(Duration::from_secs(5)).await;
        assert_eq!(log.take(), [""; 0], "before the attack");
        server.turn_hostile();
    }
    sleep(Duration::from_secs(10)).await;
    server.change(|world| {
        world.put("widgets", ("default", "changed"), widget(2));
        world.delete("widgets", ("default", "gone"));
        world.put("widgets", ("default", "new"), widget(1));
    });
    sleep(HOSTILE - Duration::from_secs(10)).await;
    let lines = check_limits(server, row, &log);
    check_health(server, &running, &seen, row.health, &lines);
    if running
        .election()
        .is_some_and(|election| election.phase() == Phase::Ended)
    {
        // Leadership was lost: the process ends, and another process starts.
        return running.stop().await;
    }
    if server.read(|world| world.get("leases", LEASE).is_none()) {
        server.change(|world| world.put("leases", LEASE, released()));
    }
    server.turn_honest(row.forgets);
    until_recovered(server, &running, &seen, row.recovers, "after the attack").await;
    // The operator delivers further changes at once, because its watch is open.
    server.change(|world| world.put("widgets", ("default", "later"), widget(1)));
    until_recovered(
        server,
        &running,
        &seen,
        Duration::from_secs(5),
        "a change after the attack",
    )
    .await;
    let panicked = log
        .take()
        .into_iter()
        .find(|line| line.contains("panicked"));
    assert_eq!(panicked, None);
    running.stop().await;
}

/// Checks the limits of requests, bytes and log lines, and returns the logged lines.
fn check_limits(server: &Server, row: &Row, log: &Log) -> Vec<String> {
    let (requests, connections) = (server.asked().len(), server.connections());
    let lines = log.take();
    if std::env::var_os("PILOTHOUSE_HOSTILE_SHOW").is_some() {
        let taken = server.taken();
        eprintln!(
            "requests {requests}, connections {connections}, bytes {taken}, lines {lines:#?}"
        );
        eprintln!("{}", asked(server));
    }
    assert!(
        requests <= row.requests,
        "{requests} requests, at most {} are allowed; {}",
        row.requests,
        asked(server)
    );
    assert!(
        connections <= row.requests,
        "{connections} connections, at most {} are allowed",
        row.requests
    );
    let taken = server.taken();
    assert!(
        taken <= row.bytes,
        "the client read {taken} bytes, at most {} are allowed",
        row.bytes
    );
    assert!(
        lines.len() <= row.lines,
        "the program logged {} lines, at most {} are allowed: {:#?}",
        lines.len(),
        row.lines,
        &lines[..lines.len().min(8)]
    );
    let panicked = lines.iter().find(|line| line.contains("panicked"));
    assert_eq!(panicked, None);
    let longest = lines.iter().map(String::len).max().unwrap_or_default();
    assert!(longest <= LONGEST, "a line of {longest} bytes was logged");
    lines
}

/// Returns the first requests, for messages.
fn asked(server: &Server) -> String {
    let asked = server.asked();
    format!(
        "{} requests, of these the first {:#?}",
        asked.len(),
        &asked[..asked.len().min(12)]
    )
}

/// The health that the program reports.
struct Report {
    ready: bool,
    readiness: String,
    trouble: Option<String>,
    silent: Duration,
}

fn health_report(running: &Running) -> Report {
    let report = running.ready().report(&Query::parse(Some("verbose")));
    let informers = running.debug_report().informers;
    let silent = informers
        .iter()
        .filter_map(|informer| informer.silent_seconds)
        .max();
    Report {
        ready: report.healthy(),
        readiness: report.to_string(),
        trouble: informers.into_iter().find_map(|informer| informer.problem),
        silent: Duration::from_secs(silent.unwrap_or_default()),
    }
}

/// Returns the sizes of the server's objects.
fn server_sizes(server: &Server) -> BTreeMap<String, i64> {
    let objects = server.read(|world| world.list("widgets", None));
    let of = |object: &Value| {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let key = format!("{}/{}", text("namespace"), text("name"));
        (key, object["spec"]["size"].as_i64().unwrap_or_default())
    };
    objects.iter().map(of).collect()
}

/// Returns an object of the server whose last state was not delivered.
fn missing(server: &Server, seen: &Seen) -> Option<String> {
    let seen = seen.lock();
    let missing = |(key, size): &(String, i64)| seen.get(key) != Some(&Some(*size));
    server_sizes(server)
        .into_iter()
        .find(missing)
        .map(|(key, _)| key)
}

/// Returns the difference between the server's objects and the delivered states.
fn difference(server: &Server, seen: &Seen) -> Option<String> {
    let server_sizes = server_sizes(server);
    let seen = seen.lock();
    let present = seen
        .iter()
        .filter_map(|(key, size)| Some((key.clone(), (*size)?)));
    let present: BTreeMap<String, i64> = present.collect();
    (server_sizes != present)
        .then(|| format!("the server has {server_sizes:?}, but the operator delivered {present:?}"))
}

fn check_health(
    server: &Server,
    running: &Running,
    seen: &Seen,
    expected: Health,
    lines: &[String],
) {
    let health = health_report(running);
    let trouble = health.trouble.clone().unwrap_or_default();
    let (difference, missing) = (difference(server, seen), missing(server, seen));
    let report = format!(
        "readiness: {}trouble: {trouble}\nsilent for {:?}\ndifference: {difference:?}\nlines: {lines:#?}",
        health.readiness, health.silent
    );
    let holds = match expected {
        Health::Fresh => health.ready && health.trouble.is_none() && difference.is_none(),
        Health::Delivered => health.ready && health.trouble.is_none() && missing.is_none(),
        Health::NotReady(words) => {
            !health.ready && report.contains(words) && health.readiness.contains(words)
        }
        Health::Trouble(words) => trouble.contains(words),
        Health::Silent => health.silent >= Duration::from_secs(45),
        Health::Truth => {
            let is_reported = !health.ready || health.trouble.is_some();
            difference.is_none() || is_reported || health.silent >= Duration::from_secs(45)
        }
        Health::Anything => true,
    };
    assert!(holds, "the program should report {expected:?}:\n{report}");
    let length = health.readiness.len();
    assert!(
        length <= 2 * LONGEST,
        "the readiness report has {length} bytes"
    );
}

/// Waits until all states were delivered and the program reports that it is healthy.
async fn until_recovered(
    server: &Server,
    running: &Running,
    seen: &Seen,
    within: Duration,
    when: &str,
) {
    let deadline = Instant::now() + within;
    loop {
        let health = health_report(running);
        let difference = difference(server, seen);
        if health.ready && health.trouble.is_none() && difference.is_none() && leads(running) {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "{when}: not well within {within:?}: {}trouble: {:?}\ndifference: {difference:?}\n{}",
            health.readiness,
            health.trouble,
            asked(server)
        );
        sleep(Duration::from_millis(250)).await;
    }
}

fn leads(running: &Running) -> bool {
    running
        .election()
        .is_none_or(|election| election.phase() == Phase::Leading)
}
