use futures_util::{SinkExt, StreamExt};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::Sandbox;

const PODS: &str = "/api/v1/namespaces/default/pods";

async fn send(sandbox: &Sandbox, request: Request<Full<Bytes>>) -> Response<Incoming> {
    let io = TokioIo::new(sandbox.connect());
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection.with_upgrades());
    sender.send_request(request).await.unwrap()
}

async fn get(sandbox: &Sandbox, path: &str) -> (StatusCode, String) {
    let request = Request::get(format!("{PODS}/{path}")).body(Full::default());
    let response = send(sandbox, request.unwrap()).await;
    let code = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8(body.into()).unwrap())
}

async fn message(sandbox: &Sandbox, path: &str) -> String {
    let (_, body) = get(sandbox, path).await;
    let status: Value = serde_json::from_str(&body).unwrap();
    status["message"].as_str().unwrap().to_owned()
}

/// The response to a WebSocket handshake that offers these protocols.
async fn open(sandbox: &Sandbox, path: &str, protocols: &str) -> Response<Incoming> {
    let request = Request::get(format!("{PODS}/{path}"))
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-protocol", protocols)
        .body(Full::default());
    send(sandbox, request.unwrap()).await
}

type Socket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

async fn socket(sandbox: &Sandbox, path: &str, protocols: &str) -> (String, Socket) {
    let response = open(sandbox, path, protocols).await;
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let chosen = response.headers()["sec-websocket-protocol"].to_str();
    let chosen = chosen.unwrap().to_owned();
    let io = TokioIo::new(hyper::upgrade::on(response).await.unwrap());
    (
        chosen,
        WebSocketStream::from_raw_socket(io, Role::Client, None).await,
    )
}

/// All messages to the end, each with its channel first.
async fn rest(mut socket: Socket) -> Vec<Bytes> {
    let mut messages = Vec::new();
    while let Some(Ok(message)) = socket.next().await {
        match message {
            Message::Binary(bytes) => messages.push(bytes),
            Message::Close(_) => break,
            other => panic!("{other:?}"),
        }
    }
    messages
}

/// A sandbox with a Pod `web` that runs and a Pod `stuck` whose image does not exist.
async fn sandbox() -> Sandbox {
    let builder = Sandbox::builder().seed(1).simulator(true);
    let sandbox = builder.controls_over_http(true).build().unwrap();
    for (name, image) in [("web", "nginx"), ("stuck", "registry.invalid/web:1")] {
        let pod = json!({
            "metadata": {"name": name},
            "spec": {"containers": [{"name": "main", "image": image}]},
        });
        let request = Request::post(PODS).header("content-type", "application/json");
        let request = request.body(Full::from(pod.to_string()));
        let created = send(&sandbox, request.unwrap()).await;
        assert_eq!(created.status(), StatusCode::CREATED);
    }
    // On the paused clock this returns when no task has anything left to do.
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    sandbox.pods().program("cat", |mut called| async move {
        let copied = tokio::io::copy(&mut called.stdin, &mut called.stdout).await;
        i32::from(copied.is_err())
    });
    sandbox.pods().program("head", |mut called| async move {
        let first = called.stdin.read_u8().await.unwrap_or_default();
        called.stdout.write_all(&[first]).await.map_or(1, |()| 7)
    });
    sandbox
}

#[tokio::test(start_paused = true)]
async fn the_newest_protocol_is_chosen_first_then_the_first_known_one() {
    let sandbox = sandbox().await;
    let path = "web/exec?command=head&stdin=1&stdout=1";
    let (chosen, _) = socket(&sandbox, path, "v4.channel.k8s.io, v5.channel.k8s.io").await;
    assert_eq!(chosen, "v5.channel.k8s.io");
    let (chosen, mut socket) = socket(&sandbox, path, "v4.channel.k8s.io").await;
    assert_eq!(chosen, "v4.channel.k8s.io");
    socket
        .send(Message::Binary(Bytes::from_static(b"\0x")))
        .await
        .unwrap();
    let messages = rest(socket).await;
    assert_eq!(messages[..2], [&b"\x01"[..], b"\x01x"]);
    let end: Value = serde_json::from_slice(&messages[2][1..]).unwrap();
    assert_eq!(
        (messages[2][0], &end["reason"]),
        (3, &json!("NonZeroExitCode"))
    );
    assert_eq!(end["details"]["causes"][0]["message"], "7");
    let old = open(&sandbox, path, "base64.channel.k8s.io").await;
    assert_eq!(old.status(), StatusCode::NOT_IMPLEMENTED);
}

#[tokio::test(start_paused = true)]
async fn only_v5_can_close_the_input() {
    let sandbox = sandbox().await;
    let path = "web/exec?command=cat&stdin=1&stdout=1";
    let end = || Message::Binary(Bytes::from_static(&[255, 0]));
    let (_, mut newer) = socket(&sandbox, path, "v5.channel.k8s.io").await;
    newer.send(end()).await.unwrap();
    let messages = rest(newer).await;
    assert_eq!(
        messages.last().unwrap()[..],
        *b"\x03{\"metadata\":{},\"status\":\"Success\"}"
    );
    let (_, mut older) = socket(&sandbox, path, "v4.channel.k8s.io").await;
    older.send(end()).await.unwrap();
    let ended = tokio::time::timeout(std::time::Duration::from_secs(60), rest(older)).await;
    assert!(ended.is_err(), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn a_program_can_be_registered_over_http() {
    let sandbox = sandbox().await;
    let register = async |program: Value| {
        let request = Request::post("/sandbox/programs").body(Full::from(program.to_string()));
        send(&sandbox, request.unwrap()).await.status()
    };
    let program = json!({"name": "date", "stdout": "today\n", "stderr": "late\n", "code": 259});
    assert_eq!(register(program).await, StatusCode::OK);
    let path = "web/exec?command=date&command=-u&stdout=1&stderr=1";
    let (_, socket) = socket(&sandbox, path, "v5.channel.k8s.io").await;
    let messages = rest(socket).await;
    assert!(messages.contains(&Bytes::from_static(b"\x01today\n")));
    assert!(messages.contains(&Bytes::from_static(b"\x02late\n")));
    let end: Value = serde_json::from_slice(&messages.last().unwrap()[1..]).unwrap();
    // The lowest byte of the code.
    assert_eq!(end["details"]["causes"][0]["message"], "3");
    assert_eq!(register(json!({"name": ""})).await, StatusCode::BAD_REQUEST);
}

#[tokio::test(start_paused = true)]
async fn a_program_that_cannot_run_has_the_error_of_a_kubelet() {
    let sandbox = sandbox().await;
    let waits = "container \"main\" in pod \"stuck\" is waiting to start: image can't be pulled";
    assert_eq!(message(&sandbox, "stuck/log").await, waits);
    let previous = "previous terminated container \"main\" in pod \"web\" not found";
    assert_eq!(message(&sandbox, "web/log?previous=true").await, previous);
    assert_eq!(
        message(&sandbox, "web/exec?command=cat&stdout=1").await,
        "Upgrade request required"
    );
    for (path, why) in [
        (
            "exec?command=cat&stdout=1",
            "container not found (\"main\")",
        ),
        (
            "attach?stdout=1",
            "container main not found in pod stuck_default",
        ),
    ] {
        for protocol in ["v5.channel.k8s.io", "v4.channel.k8s.io"] {
            let refused = open(&sandbox, &format!("stuck/{path}"), protocol).await;
            assert_eq!(refused.status(), StatusCode::INTERNAL_SERVER_ERROR);
            let text = refused.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(text, why);
        }
    }
    let path = "web/exec?command=none&stdout=1";
    let (_, newer) = socket(&sandbox, path, "v5.channel.k8s.io").await;
    let messages = rest(newer).await;
    let end: Value = serde_json::from_slice(&messages.last().unwrap()[1..]).unwrap();
    let text =
        "Internal error occurred: Internal error occurred: error executing command in container: ";
    assert!(end["message"].as_str().unwrap().starts_with(text), "{end}");
    let both = "PodLogOptions \"web\" is invalid: : Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified";
    let query = "web/log?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z";
    assert_eq!(message(&sandbox, query).await, both);
}

#[tokio::test(start_paused = true)]
async fn a_log_has_timestamps_and_can_be_followed_from_a_time_until_its_pod_is_gone() {
    let sandbox = sandbox().await;
    let (_, all) = get(&sandbox, "web/log?timestamps=true").await;
    let begin = "2026-01-01T00:00:00.500000000Z simulated: container main of image nginx started\n";
    assert_eq!(all, begin);
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert!(
        sandbox
            .pods()
            .write_stderr("default", "web", "main", "late")
    );
    assert_eq!(get(&sandbox, "web/log?sinceSeconds=30").await.1, "late\n");
    let follow = async { get(&sandbox, "web/log?follow=true&tailLines=1").await.1 };
    let delete = async {
        let request = Request::delete(format!("{PODS}/web")).body(Full::default());
        send(&sandbox, request.unwrap()).await;
    };
    assert_eq!(tokio::join!(follow, delete).0, "late\n");
}

#[tokio::test(start_paused = true)]
async fn a_container_that_waits_to_start_again_has_the_log_of_its_last_run() {
    let sandbox = sandbox().await;
    sandbox.pods().of("web").crash_loop();
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let (code, _) = get(&sandbox, "web").await;
    assert_eq!(code, StatusCode::OK);
    let (code, log) = get(&sandbox, "web/log").await;
    assert_eq!((code, log.lines().count()), (StatusCode::OK, 1), "{log}");
    // It is the previous one, too, and a client that follows it does not wait for the next run.
    let (code, previous) = get(&sandbox, "web/log?previous=true").await;
    assert_eq!((code, &previous), (StatusCode::OK, &log));
    assert_eq!(get(&sandbox, "web/log?follow=true").await.1, log);
}

#[tokio::test(start_paused = true)]
async fn each_run_of_a_container_has_a_log_of_its_own() {
    let sandbox = sandbox().await;
    let write = |line: &str| sandbox.pods().write_stdout("default", "web", "main", line);
    assert!(write("first"));
    let rule = sandbox.pods().of("web").times(1);
    rule.fail_after(std::time::Duration::ZERO);
    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    assert!(write("second"));
    let begin = "simulated: container main of image nginx started\n";
    assert_eq!(get(&sandbox, "web/log").await.1, format!("{begin}second\n"));
    let previous = get(&sandbox, "web/log?previous=true").await;
    assert_eq!(previous, (StatusCode::OK, format!("{begin}first\n")));
}

#[tokio::test(start_paused = true)]
async fn logs_and_processes_end_with_the_container() {
    let sandbox = sandbox().await;
    let follow = async { get(&sandbox, "web/log?follow=true").await.1 };
    let (_, attached) = socket(&sandbox, "web/attach?stdout=1", "v5.channel.k8s.io").await;
    let path = "web/exec?command=cat&stdin=1&stdout=1";
    let (_, executed) = socket(&sandbox, path, "v5.channel.k8s.io").await;
    let exit = async {
        let rule = sandbox.pods().of("web").times(1);
        rule.fail_after(std::time::Duration::from_secs(60));
    };
    let all = async { tokio::join!(follow, exit, rest(attached), rest(executed)) };
    let ended = tokio::time::timeout(std::time::Duration::from_secs(600), all).await;
    let (log, (), attached, executed) = ended.unwrap();
    assert_eq!(log.lines().count(), 1, "{log}");
    let end = |messages: &[Bytes]| -> Value {
        let last = messages.last().unwrap();
        serde_json::from_slice(&last[1..]).unwrap()
    };
    assert_eq!(end(&attached)["status"], "Success");
    assert_eq!(end(&executed)["details"]["causes"][0]["message"], "137");
}

/// The message of an answer 501.
async fn not_implemented(response: Response<Incoming>) -> String {
    let code = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let status: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (code, &status["code"], &status["reason"]),
        (
            StatusCode::NOT_IMPLEMENTED,
            &json!(501),
            &json!("NotImplemented")
        )
    );
    status["message"].as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn what_connections_to_pods_do_not_have_is_named() {
    let sandbox = sandbox().await;
    let exec = "web/exec?command=cat&stdout=1";
    let old = open(&sandbox, exec, "base64.channel.k8s.io, channel.k8s.io").await;
    assert_eq!(
        not_implemented(old).await,
        "the sandbox does not implement the WebSocket protocols [base64.channel.k8s.io, channel.k8s.io], \
         only v5.channel.k8s.io, v4.channel.k8s.io"
    );
    let spdy = |path: &str, protocol: &str| {
        let request = Request::post(format!("{PODS}/{path}"))
            .header("connection", "Upgrade")
            .header("upgrade", "SPDY/3.1")
            .header("x-stream-protocol-version", protocol)
            .body(Full::default());
        request.unwrap()
    };
    let old = send(&sandbox, spdy(exec, "v3.channel.k8s.io")).await;
    assert_eq!(
        not_implemented(old).await,
        "the sandbox does not implement the protocols [v3.channel.k8s.io] over SPDY, only v4.channel.k8s.io"
    );
    let forward = send(&sandbox, spdy("web/portforward", "v2")).await;
    assert_eq!(
        not_implemented(forward).await,
        "the sandbox does not implement the protocols [v2] over SPDY, only portforward.k8s.io"
    );
    let upgraded = open(&sandbox, "web/proxy/chat", "chat").await;
    assert_eq!(
        not_implemented(upgraded).await,
        "the sandbox does not implement connections that are upgraded through the subresource pods/proxy"
    );
}

#[tokio::test(start_paused = true)]
async fn logs_and_processes_of_pods_on_other_nodes_are_named_as_missing() {
    let sandbox = sandbox().await;
    let node = json!({"metadata": {"name": "far"}});
    let pod = json!({
        "metadata": {"name": "away"},
        "spec": {"nodeName": "far", "containers": [{"name": "main", "image": "nginx"}]},
    });
    for (path, object) in [("/api/v1/nodes", node), (PODS, pod)] {
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.body(Full::from(object.to_string()));
        let created = send(&sandbox, request.unwrap()).await;
        assert_eq!(created.status(), StatusCode::CREATED);
    }
    let expected = "the sandbox does not implement logs and processes of Pods on nodes that it does not simulate, such as far";
    let log = Request::get(format!("{PODS}/away/log")).body(Full::default());
    let log = send(&sandbox, log.unwrap()).await;
    assert_eq!(not_implemented(log).await, expected);
    let exec = open(
        &sandbox,
        "away/exec?command=cat&stdout=1",
        "v5.channel.k8s.io",
    )
    .await;
    assert_eq!(not_implemented(exec).await, expected);
}
