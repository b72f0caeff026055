//! Runs a row and looks whether its bounds hold.

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
    row::{Call, Gives, Program, Row, Says},
    server::{Protocol, Server},
};

/// For so long the server is hostile.
const HOSTILE: Duration = Duration::from_secs(60);

/// No line is longer, whatever the server sends.
const LONGEST: usize = 16 * 1024;

/// Namespace and name of the Lease.
const LEASE: (&str, &str) = ("default", "hostile");

/// A Lease that its holder gave back, so that nobody has to wait for its end, which is not on the paused clock.
fn given_back() -> Value {
    json!({"metadata": {}, "spec": {"holderIdentity": "", "leaseDurationSeconds": 1}})
}

/// Runs a row over a protocol.
pub(crate) async fn run(protocol: Protocol, row: Row) {
    let server = Server::new(
        protocol,
        row.misbehave.clone(),
        row.tamper,
        row.connects,
        // A loop is seen long before.
        row.requests * 20 + 1000,
    );
    server.change(|world| {
        world.put("widgets", ("default", "changed"), widget(1));
        world.put("widgets", ("default", "gone"), widget(1));
        world.put("widgets", ("default", "same"), widget(1));
        world.put("leases", LEASE, given_back());
    });
    match row.program.clone() {
        Program::Call(call, gives) => attack_call(&server, &row, &call, gives).await,
        _ => attack_operator(&server, &row).await,
    }
}

async fn attack_call(server: &Server, row: &Row, call: &Call, gives: Gives) {
    let (log, _guard) = Log::start();
    let client = server.client();
    server.turn_hostile();
    let outcome = timeout(HOSTILE, call(client.clone())).await;
    let outcome = outcome.unwrap_or_else(|_| panic!("the call has not ended; {}", asked(server)));
    match (gives, &outcome) {
        (Gives::Text(text), Ok(given)) if given == text => {}
        (Gives::Error(words), Err(error)) if error.to_string().contains(words) => {}
        _ => panic!("expected {gives:?}, found {outcome:?}"),
    }
    bounded(server, row, &log);
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
        until_well(
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
    let lines = bounded(server, row, &log);
    judge(server, &running, &seen, row.says, &lines);
    if running
        .election()
        .is_some_and(|election| election.phase() == Phase::Ended)
    {
        // Leadership was lost: the process ends, and another one begins.
        return running.stop().await;
    }
    if server.read(|world| world.get("leases", LEASE).is_none()) {
        server.change(|world| world.put("leases", LEASE, given_back()));
    }
    server.turn_honest(row.forgets);
    until_well(server, &running, &seen, row.recovers, "after the attack").await;
    // What follows is delivered at once: the watch is alive.
    server.change(|world| world.put("widgets", ("default", "later"), widget(1)));
    until_well(
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

/// The bounds on requests, bytes and lines.
fn bounded(server: &Server, row: &Row, log: &Log) -> Vec<String> {
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
        "{taken} bytes were taken, at most {} are allowed",
        row.bytes
    );
    assert!(
        lines.len() <= row.lines,
        "{} lines were logged, at most {} are allowed: {:#?}",
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

/// The first requests, for messages.
fn asked(server: &Server) -> String {
    let asked = server.asked();
    format!(
        "{} requests, of these the first {:#?}",
        asked.len(),
        &asked[..asked.len().min(12)]
    )
}

/// What the program says of itself.
struct Word {
    ready: bool,
    readiness: String,
    trouble: Option<String>,
    silent: Duration,
}

fn word(running: &Running) -> Word {
    let report = running.ready().report(&Query::parse(Some("verbose")));
    let informers = running.debug_report().informers;
    let silent = informers
        .iter()
        .filter_map(|informer| informer.silent_seconds)
        .max();
    Word {
        ready: report.healthy(),
        readiness: report.to_string(),
        trouble: informers.into_iter().find_map(|informer| informer.trouble),
        silent: Duration::from_secs(silent.unwrap_or_default()),
    }
}

/// The sizes of what the server has.
fn truth(server: &Server) -> BTreeMap<String, i64> {
    let objects = server.read(|world| world.list("widgets", None));
    let of = |object: &Value| {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let key = format!("{}/{}", text("namespace"), text("name"));
        (key, object["spec"]["size"].as_i64().unwrap_or_default())
    };
    objects.iter().map(of).collect()
}

/// An object of the server whose last state was not delivered.
fn missing(server: &Server, seen: &Seen) -> Option<String> {
    let seen = seen.lock().unwrap();
    let missing = |(key, size): &(String, i64)| seen.get(key) != Some(&Some(*size));
    truth(server).into_iter().find(missing).map(|(key, _)| key)
}

/// What differs between what the server has and what was delivered.
fn difference(server: &Server, seen: &Seen) -> Option<String> {
    let truth = truth(server);
    let seen = seen.lock().unwrap();
    let present = seen
        .iter()
        .filter_map(|(key, size)| Some((key.clone(), (*size)?)));
    let present: BTreeMap<String, i64> = present.collect();
    (truth != present).then(|| format!("the server has {truth:?}, and delivered was {present:?}"))
}

fn judge(server: &Server, running: &Running, seen: &Seen, says: Says, lines: &[String]) {
    let word = word(running);
    let trouble = word.trouble.clone().unwrap_or_default();
    let (difference, missing) = (difference(server, seen), missing(server, seen));
    let told = format!(
        "readiness: {}trouble: {trouble}\nsilent for {:?}\ndifference: {difference:?}\nlines: {lines:#?}",
        word.readiness, word.silent
    );
    let holds = match says {
        Says::Fresh => word.ready && word.trouble.is_none() && difference.is_none(),
        Says::Delivered => word.ready && word.trouble.is_none() && missing.is_none(),
        Says::NotReady(words) => {
            !word.ready && told.contains(words) && word.readiness.contains(words)
        }
        Says::Trouble(words) => trouble.contains(words),
        Says::Silent => word.silent >= Duration::from_secs(45),
        Says::Truth => {
            let is_told = !word.ready || word.trouble.is_some();
            difference.is_none() || is_told || word.silent >= Duration::from_secs(45)
        }
        Says::Anything => true,
    };
    assert!(holds, "it should say {says:?}:\n{told}");
    let length = word.readiness.len();
    assert!(length <= 2 * LONGEST, "readiness said {length} bytes");
}

/// Waits until all was delivered, and the program says that it is well.
async fn until_well(server: &Server, running: &Running, seen: &Seen, within: Duration, when: &str) {
    let deadline = Instant::now() + within;
    loop {
        let word = word(running);
        let difference = difference(server, seen);
        if word.ready && word.trouble.is_none() && difference.is_none() && leads(running) {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "{when}: not well within {within:?}: {}trouble: {:?}\ndifference: {difference:?}\n{}",
            word.readiness,
            word.trouble,
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
