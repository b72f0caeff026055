//! Logs, processes and ports of Pods that run: through kubectl, and on the wire.
//!
//! The real server's node answers with the HTTP server of the kubelet and the streaming server of container runtimes.

use std::{collections::BTreeMap, time::Duration};

use futures_util::{SinkExt, StreamExt};
use http::{Request, header};
use pilothouse::client::Body;
use pilothouse_tests::containers::NODE;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};

use super::kubectl::{account, commands, named};
use crate::{
    printed::normalised,
    run::{Ask, Run},
};

/// A time limit that no step reaches normally.
const PATIENCE: Duration = Duration::from_secs(30);

/// Creates the Pods `web`, with a container that runs, `pair`, with two, `stuck`, whose container waits for its image, and `new`, without a node.
async fn prepare(run: &mut Run) {
    account(run).await;
    let pods = [
        ("web", NODE, "main:1", vec!["main"]),
        ("pair", NODE, "main:1", vec!["main", "side"]),
        ("stuck", NODE, "registry.invalid/main:1", vec!["main"]),
        ("new", "", "main:1", vec!["main"]),
    ];
    for (name, node, image, containers) in pods {
        let container = |name: &str| json!({"name": name, "image": image});
        let containers: Vec<_> = containers.into_iter().map(container).collect();
        let mut pod = json!({
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"containers": containers},
        });
        match node {
            // The simulator places a Pod without gates.
            "" => pod["spec"]["schedulingGates"] = json!([{"name": "tests/gate"}]),
            node => pod["spec"]["nodeName"] = node.into(),
        }
        let pods = run.path("v1/pods");
        let made = run.send_unrecorded(Ask::post(pods, pod)).await;
        assert_eq!(made.code, 201, "{made:?}");
    }
    for name in ["web", "pair"] {
        let pod = Ask::get(run.path(&format!("v1/pods/{name}")));
        run.until(pod, |answer| {
            let statuses = answer.body["status"]["containerStatuses"].as_array();
            let mut statuses = statuses.into_iter().flatten();
            answer.body["status"]["phase"] == "Running" && statuses.all(|one| one["ready"] == true)
        })
        .await;
    }
    let stuck = Ask::get(run.path("v1/pods/stuck"));
    run.until(stuck, |answer| {
        answer.body["status"]["containerStatuses"][0]["state"]["waiting"].is_object()
    })
    .await;
}

pub(crate) async fn logs(run: &mut Run) {
    prepare(run).await;
    commands(
        run,
        &[
            "exec web -- write-line one",
            "exec web -- write-line two",
            "exec pair -c side -- write-line beside",
            "logs web",
            "logs web --tail=1",
            "logs web --tail=0",
            "logs web --tail=-1",
            "logs web --limit-bytes=12",
            "logs web --since=1h --tail=2",
            "logs web --since-time=2100-01-01T00:00:00Z",
            "logs web --timestamps",
            "logs web --prefix",
            "logs web -p",
            "logs web -c other",
            "logs pair",
            "logs pair -c side",
            "logs -l app=web",
            "logs -l app=web --timestamps --prefix",
            "logs -l app=none",
            "logs new",
            "logs none",
            "logs pod/web",
            "logs web --since=1h --since-time=2100-01-01T00:00:00Z",
            "get --raw /api/v1/namespaces/{namespace}/pods/web/log",
            "get --raw /api/v1/namespaces/{namespace}/pods/web/log?tailLines=-1",
            "get --raw /api/v1/namespaces/{namespace}/pods/web/log?limitBytes=0",
            "get --raw /api/v1/namespaces/{namespace}/pods/web/log?sinceSeconds=0",
            "get --raw /api/v1/namespaces/{namespace}/pods/web/log?stream=Stdout",
            "get --raw /api/v1/namespaces/{namespace}/pods/pair/log",
        ],
    )
    .await;
    follow(run).await;
}

/// Follows a log while lines are written.
async fn follow(run: &mut Run) {
    let mut command = run.kubectl_command("logs web --follow --tail=1");
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut heard = Vec::new();
    for line in ["three", "four", "five"] {
        let next = timeout(PATIENCE, lines.next_line()).await.unwrap();
        heard.push(next.unwrap());
        let write = format!("exec web -- write-line {line}");
        run.kubectl(&format!("{write}, followed"), &write, "").await;
    }
    let last = timeout(PATIENCE, lines.next_line()).await.unwrap();
    heard.push(last.unwrap());
    run.record("logs --follow", json!(heard));
}

pub(crate) async fn processes(run: &mut Run) {
    prepare(run).await;
    commands(
        run,
        &[
            "exec web -- echo hello",
            "exec web -- sh -c 'echo out; echo err >&2'",
            "exec web -- sh -c 'exit 3'",
            "exec web -- sh -c 'echo said; exit 255'",
            "exec web -- false",
            "exec web -- true",
            "exec pod/web -- echo hello",
            "exec pair -- echo hello",
            "exec pair -c side -- echo hello",
            "exec web -c none -- echo hello",
            "exec new -- echo hello",
            "exec none -- echo hello",
            "exec stuck -- echo hello",
            "exec web -- missing",
            "exec web -- ./missing",
            "exec web",
            "exec web --",
            "exec web -- sh -c 'head -c 300000 /dev/zero | tr -d a'",
            "exec web -- cat # without an input",
            "exec -it web -- echo hello",
            "exec -t web -- echo hello",
            "exec web --quiet -- echo hello",
            "attach web",
            "attach pair",
            "attach pair -c side",
            "attach pair -c none",
            "attach new",
            "attach none",
            "attach stuck",
            "attach pod/web --quiet",
        ],
    )
    .await;
    let inputs = [
        (
            "exec with an input",
            "exec -i web -- cat",
            "a\nb\n".to_owned(),
        ),
        (
            "exec with a large input",
            "exec -i web -- sh -c 'cat | wc -c'",
            "line\n".repeat(100_000),
        ),
        (
            "exec with an input that nobody reads",
            "exec -i web -- echo done",
            "line\n".repeat(1_000),
        ),
        ("attach with an input", "attach -i web", "a\nb\n".to_owned()),
        (
            "attach with an input, quietly",
            "attach -i web --quiet",
            "a\n".to_owned(),
        ),
    ];
    for (name, line, input) in inputs {
        run.kubectl(name, line, &input).await;
        // A client whose input nobody reads any more may notice it before it ends, and logs it.
        let body = &mut run.answers.last_mut().unwrap().body;
        let errors = body["stderr"].as_str().unwrap_or_default().lines();
        let errors = errors.filter(|line| !line.contains("Copying stdin failed"));
        body["stderr"] = errors
            .map(|line| format!("{line}\n"))
            .collect::<String>()
            .into();
    }
}

pub(crate) async fn copies(run: &mut Run) {
    prepare(run).await;
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().to_str().unwrap();
    std::fs::write(folder.path().join("file"), "line\n".repeat(50_000)).unwrap();
    let tree = folder.path().join("tree/inner");
    std::fs::create_dir_all(&tree).unwrap();
    std::fs::write(tree.join("a"), "a\n").unwrap();
    std::fs::write(tree.join("b"), "").unwrap();
    let lines = [
        ("cp a file", format!("cp {here}/file web:there")),
        ("its content", "exec web -- sh -c 'cat there | wc'".into()),
        ("cp it back", format!("cp web:there {here}/back")),
        ("cp a folder", format!("cp {here}/tree web:tree")),
        ("its files", "exec web -- sh -c 'ls -R tree'".into()),
        (
            "cp the folder back",
            format!("cp web:tree {here}/tree-back"),
        ),
        (
            "cp with retries",
            format!("cp web:there {here}/again --retries=2"),
        ),
        (
            "cp to a container",
            format!("cp {here}/file pair:there -c side"),
        ),
        (
            "cp what is not there",
            format!("cp web:nothing {here}/nothing"),
        ),
        ("cp from nowhere", format!("cp {here}/nothing web:nothing")),
        ("cp to none", format!("cp {here}/file none:there")),
        ("cp between two Pods", "cp web:there pair:there".into()),
        (
            "cp within this machine",
            format!("cp {here}/file {here}/other"),
        ),
    ];
    for (name, line) in lines {
        run.kubectl(name, &line, "").await;
        let answer = run.answers.last_mut().unwrap();
        let text = answer.body.to_string().replace(here, "<folder>");
        answer.body = serde_json::from_str(&text).unwrap();
        if name == "cp what is not there" {
            // kubectl may end before it prints what tar says.
            answer.body["stdout"] = Value::Null;
        }
    }
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).ok();
    let back = [
        read("back") == read("file"),
        read("again") == read("file"),
        read("tree-back/inner/a").as_deref() == Some("a\n"),
        read("tree-back/inner/b").as_deref() == Some(""),
    ];
    run.record("what came back", json!(back));
}

pub(crate) async fn ports(run: &mut Run) {
    prepare(run).await;
    named(
        run,
        &[
            ("port-forward to no Pod", "port-forward none :7"),
            (
                "port-forward to a Pod without a node",
                "port-forward new :7",
            ),
            ("port-forward to a Pod that waits", "port-forward stuck :7"),
            ("port-forward without a port", "port-forward web"),
            ("port-forward to a bad port", "port-forward web :0"),
        ],
    )
    .await;
    forward(
        run,
        "port-forward to a port",
        "port-forward web :7",
        &["one bye", "two bye"],
    )
    .await;
    forward(
        run,
        "port-forward to a closed port",
        "port-forward web :9",
        &["one"],
    )
    .await;
    forward(
        run,
        "port-forward of a large text",
        "port-forward pod/web :7",
        &[&("x".repeat(100_000) + "bye")],
    )
    .await;
}

/// Says each text in a connection of its own, hears the answer, and ends the command.
async fn forward(run: &mut Run, step: &str, line: &str, said: &[&str]) {
    let mut child = run.kubectl_command(line).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut stderr = child.stderr.take().unwrap();
    let first = timeout(PATIENCE, stdout.next_line()).await.unwrap();
    let first = first.unwrap().expect("an address");
    let address = first.split_whitespace().nth(2).unwrap().to_owned();
    let mut heard = Vec::new();
    for text in said {
        let mut connection = TcpStream::connect(&address).await.unwrap();
        let mut answer = Vec::new();
        // A connection that fails may be reset, at once or later.
        let _ = connection.write_all(text.as_bytes()).await;
        let read = timeout(PATIENCE, connection.read_to_end(&mut answer)).await;
        heard.push(json!({
            "bytes": answer.len(), "equal": answer == text.as_bytes(), "ended": read.is_ok(),
        }));
    }
    // It ends by itself if a connection fails, and then it is waited for.
    let failed = heard.iter().any(|one| one["equal"] == false);
    let wait = if failed {
        PATIENCE
    } else {
        Duration::from_secs(1)
    };
    let ended = timeout(wait, child.wait()).await;
    child.start_kill().unwrap();
    let mut errors = String::new();
    stderr.read_to_string(&mut errors).await.unwrap();
    let body = json!({
        "first": normalised(&first), "heard": heard, "stderr": normalised(&errors),
        "ended": ended.is_ok(),
    });
    run.record(step, body);
}

/// One request for a stream.
struct Asked<'a> {
    name: &'a str,
    path: &'a str,
    protocols: &'a str,
    /// The messages that the client sends.
    sent: &'a [&'a [u8]],
}

pub(crate) async fn streams(run: &mut Run) {
    prepare(run).await;
    let asked = |name, path, protocols, sent| Asked {
        name,
        path,
        protocols,
        sent,
    };
    let echo = "web/exec?command=echo&command=hello&stdout=true";
    let cat = "web/exec?command=cat&stdin=true&stdout=true&stderr=true";
    let v5 = "v5.channel.k8s.io";
    let v4 = "v4.channel.k8s.io";
    let requests = [
        asked("exec, v5", echo, v5, &[][..]),
        asked("exec, v4", echo, v4, &[]),
        asked(
            "exec, v5 and v4",
            echo,
            "v5.channel.k8s.io, v4.channel.k8s.io",
            &[],
        ),
        asked(
            "exec, v4 and v5",
            echo,
            "v4.channel.k8s.io, v5.channel.k8s.io",
            &[],
        ),
        asked(
            "exec, both outputs",
            "web/exec?command=sh&command=-c&command=echo%20out%3Becho%20err%3E%262&stdout=true&stderr=true",
            v5,
            &[],
        ),
        asked(
            "exec, errors only",
            "web/exec?command=sh&command=-c&command=echo%20out%3Becho%20err%3E%262&stderr=true",
            v5,
            &[],
        ),
        asked(
            "exec, an exit code",
            "web/exec?command=sh&command=-c&command=exit%203&stdout=true",
            v5,
            &[],
        ),
        asked(
            "exec, an exit code, v4",
            "web/exec?command=sh&command=-c&command=exit%203&stdout=true",
            v4,
            &[],
        ),
        asked("exec, an input, v5", cat, v5, &[b"\x00hello", b"\xff\x00"]),
        asked("exec, an empty input, v5", cat, v5, &[b"\x00", b"\xff\x00"]),
        asked("exec, no stream", "web/exec?command=echo", v5, &[]),
        asked("exec, no stream, v4", "web/exec?command=echo", v4, &[]),
        asked(
            "exec, no container",
            "pair/exec?command=echo&stdout=true",
            v5,
            &[],
        ),
        asked(
            "exec, another container",
            "web/exec?command=echo&stdout=true&container=none",
            v5,
            &[],
        ),
        asked(
            "exec, no node",
            "new/exec?command=echo&stdout=true",
            v5,
            &[],
        ),
        asked(
            "exec, no running container",
            "stuck/exec?command=echo&stdout=true",
            v5,
            &[],
        ),
        asked(
            "exec, no running container, v4",
            "stuck/exec?command=echo&stdout=true",
            v4,
            &[],
        ),
        asked(
            "exec, no such program",
            "web/exec?command=missing&stdout=true",
            v5,
            &[],
        ),
        asked(
            "exec, no such program, v4",
            "web/exec?command=missing&stdout=true",
            v4,
            &[],
        ),
        asked(
            "exec, no Pod",
            "none/exec?command=echo&stdout=true",
            v5,
            &[],
        ),
        asked(
            "attach, v5",
            "web/attach?stdin=true&stdout=true",
            v5,
            &[b"\x00hello", b"\xff\x00"],
        ),
        asked("attach, v4, no input", "web/attach?stdout=true", v4, &[]),
        asked(
            "attach, no running container",
            "stuck/attach?stdout=true",
            v5,
            &[],
        ),
        asked(
            "attach, no running container, v4",
            "stuck/attach?stdout=true",
            v4,
            &[],
        ),
        asked("attach, no stream", "web/attach", v5, &[]),
        asked("attach, no container", "pair/attach?stdout=true", v5, &[]),
        asked(
            "ports, v4",
            "web/portforward?ports=7",
            v4,
            &[b"\x00one bye"],
        ),
        asked(
            "ports, v4, two",
            "web/portforward?ports=7&ports=7",
            v4,
            &[b"\x00one bye", b"\x02two bye"],
        ),
        asked(
            "ports, v4, a closed one",
            "web/portforward?ports=9",
            v4,
            &[],
        ),
        asked("ports, v4, none", "web/portforward", v4, &[]),
        asked("ports, v4, a bad one", "web/portforward?ports=0", v4, &[]),
        asked(
            "ports, v4, two of which one is bad",
            "web/portforward?ports=7&ports=0",
            v4,
            &[],
        ),
        asked("ports, v4, no number", "web/portforward?ports=a", v4, &[]),
        asked("ports, no node", "new/portforward?ports=7", v4, &[]),
    ];
    for request in requests {
        let answer = stream(run, &request).await;
        run.record(request.name, answer);
    }
}

/// Opens a WebSocket, and returns what comes until the server closes it.
async fn stream(run: &mut Run, asked: &Asked<'_>) -> Value {
    let request = Request::get(run.path(&format!("v1/pods/{}", asked.path)))
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, "AAAAAAAAAAAAAAAAAAAAAA==")
        .header(header::SEC_WEBSOCKET_PROTOCOL, asked.protocols)
        .body(Body::empty())
        .unwrap();
    let upgraded = match run.upgrade(request).await {
        Ok(upgraded) => upgraded,
        Err(error) => {
            let status = error.status().map(|status| {
                json!({"code": status.code, "reason": status.reason, "message": status.message})
            });
            return json!({"refused": status.unwrap_or_else(|| error.to_string().into())});
        }
    };
    let protocol = upgraded.headers().get(header::SEC_WEBSOCKET_PROTOCOL);
    let protocol = protocol.map(|value| value.to_str().unwrap().to_owned());
    let mut socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, None).await;
    for message in asked.sent {
        let message = Message::Binary(message.to_vec().into());
        socket.send(message).await.unwrap();
    }
    // The pieces of a channel may be cut anywhere.
    let mut channels: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let end = loop {
        match timeout(PATIENCE, socket.next()).await {
            Err(_) => break json!("silence"),
            Ok(None) => break json!("the connection ends"),
            Ok(Some(Err(error))) => break json!(error.to_string()),
            Ok(Some(Ok(Message::Close(None)))) => break json!("a close frame without a code"),
            Ok(Some(Ok(Message::Close(Some(frame))))) => {
                break json!({"code": u16::from(frame.code), "reason": frame.reason.as_str()});
            }
            Ok(Some(Ok(Message::Binary(bytes)))) => {
                let name = bytes.first().map_or("empty".into(), u8::to_string);
                let rest = bytes.get(1..).unwrap_or_default();
                channels.entry(name).or_default().extend(rest);
            }
            Ok(Some(Ok(other))) => {
                let bytes = other.into_data();
                channels.entry("other".into()).or_default().extend(&bytes);
            }
        }
    };
    let channels: BTreeMap<String, Value> = channels
        .into_iter()
        .map(|(name, bytes)| {
            let text = normalised(&String::from_utf8_lossy(&bytes));
            // The order of the members of a status means nothing.
            let status = serde_json::from_str(&text).ok();
            let status = status.filter(|_| name == "3");
            (name, status.unwrap_or_else(|| text.into()))
        })
        .collect();
    json!({"protocol": protocol, "channels": channels, "end": end})
}
