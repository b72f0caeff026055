//! Logs, processes and ports of Pods.

use std::time::Duration;

use futures_util::StreamExt;
use pilothouse::{
    client::{Api, AttachParams, Client, ExecParams, LogParams, LogSource},
    k8s::api::core::v1::Pod,
};
use pilothouse_tests::containers::{ECHO, PRINT_SIZE};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::Target;

/// A time limit that no step reaches normally.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn a_log_can_be_read_line_by_line_and_whole(target: &Target) {
    let pods = target.running_pod("web").await;
    target.write_log("web", &["one", "", "three \u{e9}"]).await;
    let last = LogParams::default().tail(3);
    let lines: Vec<_> = pods.logs("web", &last).await.unwrap().collect().await;
    let lines: Vec<_> = lines.into_iter().map(Result::unwrap).collect();
    assert_eq!(lines, ["one", "", "three \u{e9}"]);
    let text = pods.logs("web", &last).await.unwrap().text().await;
    assert_eq!(text.unwrap(), "one\n\nthree \u{e9}\n");
    let cut = LogParams::default().tail(3).limit_bytes(6).container("main");
    let text = pods.logs("web", &cut).await.unwrap().text().await;
    assert_eq!(text.unwrap(), "one\n\nt");
}

pub(crate) async fn a_log_is_followed_as_it_is_written(target: &Target) {
    let pods = target.running_pod("web").await;
    target.write_log("web", &["one"]).await;
    let params = LogParams::default().tail(1).follow();
    let mut lines = pods.logs("web", &params).await.unwrap();
    assert_eq!(lines.next().await.unwrap().unwrap(), "one");
    for line in ["two", "three"] {
        target.write_log("web", &[line]).await;
        let next = timeout(PATIENCE, lines.next()).await;
        assert_eq!(next.unwrap().unwrap().unwrap(), line);
    }
}

pub(crate) async fn a_missing_log_is_reported_with_the_reason(target: &Target) {
    let pods = target.running_pod("web").await;
    let error = pods.logs("nobody", &LogParams::default()).await.unwrap_err();
    assert!(error.is_not_found());
    let namespace = &target.namespace;
    assert_eq!(
        error.to_string(),
        format!("log Pod {namespace}/nobody: pods \"nobody\" not found")
    );
    let other = LogParams::default().container("other");
    let error = pods.logs("web", &other).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("log Pod {namespace}/web: bad request: container other is not valid for pod web")
    );
    let begin = format!("log Pod {namespace}/web: PodLogOptions \"web\" is invalid: ");
    let wrong = [
        (
            LogParams::default().limit_bytes(0),
            "limitBytes: Invalid value: 0: must be greater than 0",
        ),
        // The feature gate for this is off in Kubernetes 1.36.
        (
            LogParams::default().source(LogSource::Stdout),
            "stream: Forbidden: may not be specified",
        ),
    ];
    for (params, why) in wrong {
        let error = pods.logs("web", &params).await.unwrap_err();
        assert!(error.is_invalid());
        assert_eq!(error.to_string(), format!("{begin}{why}"));
    }
}

pub(crate) async fn a_process_returns_its_outputs_and_its_exit_code(target: &Target) {
    let pods = target.running_pod("web").await;
    let both = ExecParams::new(["sh", "-c", "printf out; printf err >&2"]);
    let finished = pods.exec("web", &both).await.unwrap().output().await.unwrap();
    assert_eq!((&finished.stdout[..], &finished.stderr[..]), (&b"out"[..], &b"err"[..]));
    assert!(finished.exit.is_success());
    let one = pods.exec("web", &both.stderr(false)).await.unwrap();
    let finished = one.output().await.unwrap();
    assert_eq!((&finished.stdout[..], &finished.stderr[..]), (&b"out"[..], &b""[..]));
    let process = pods.exec("web", &ExecParams::new(["sh", "-c", "exit 3"])).await;
    assert_eq!(process.unwrap().wait().await.unwrap().code(), 3);
}

pub(crate) async fn shutting_down_stdin_ends_the_input_of_a_process(target: &Target) {
    let pods = target.running_pod("web").await;
    let cat = ExecParams::new(["cat"]).stdin();
    let mut process = pods.exec("web", &cat).await.unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let mut stdout = process.stdout.take().unwrap();
    let mut byte = [0; 5];
    stdin.write_all(b"first").await.unwrap();
    timeout(PATIENCE, stdout.read_exact(&mut byte)).await.unwrap().unwrap();
    assert_eq!(&byte, b"first");
    // This is more than all buffers hold, so both directions must make progress at the same time.
    let much = vec![b'x'; 4 * 1024 * 1024];
    let write = async {
        stdin.write_all(&much).await.unwrap();
        stdin.shutdown().await.unwrap();
    };
    let mut back = Vec::new();
    let ((), read) = tokio::join!(write, stdout.read_to_end(&mut back));
    read.unwrap();
    assert!(back == much, "{} bytes came back", back.len());
    assert!(process.wait().await.unwrap().is_success());
}

pub(crate) async fn unread_output_is_discarded(target: &Target) {
    let pods = target.running_pod("web").await;
    let flood = ExecParams::new(["head", "-c", "8000000", "/dev/zero"]);
    let process = pods.exec("web", &flood).await.unwrap();
    let exit = timeout(PATIENCE, process.wait()).await;
    assert!(exit.unwrap().unwrap().is_success());
}

pub(crate) async fn a_terminal_receives_its_size(target: &Target) {
    let pods = target.running_pod("web").await;
    let sizes = ExecParams::new([PRINT_SIZE]).tty();
    let process = pods.exec("web", &sizes).await.unwrap();
    process.resize(80, 24).await.unwrap();
    let finished = timeout(PATIENCE, process.output()).await.unwrap().unwrap();
    assert_eq!(finished.stdout, b"80x24");
    let process = pods.exec("web", &ExecParams::new(["cat"]).stdin()).await.unwrap();
    let error = process.resize(80, 24).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "exec Pod {}/web: there is no terminal to resize: ask for one with `tty()`",
            target.namespace
        )
    );
}

pub(crate) async fn attaching_reaches_the_process_of_the_container(target: &Target) {
    let pods = target.running_pod("web").await;
    let attach = AttachParams::default().stdin();
    let mut process = pods.attach("web", &attach).await.unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let mut stdout = process.stdout.take().unwrap();
    for said in [b"first\n", b"again\n"] {
        stdin.write_all(said).await.unwrap();
        let mut heard = [0; 6];
        timeout(PATIENCE, stdout.read_exact(&mut heard)).await.unwrap().unwrap();
        assert_eq!(&heard, said);
    }
}

pub(crate) async fn a_command_that_cannot_run_reports_the_reason(target: &Target) {
    let pods = target.running_pod("web").await;
    let namespace = &target.namespace;
    let exit = ExecParams::new(["true"]);
    let error = pods.exec("nobody", &exit).await.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(
        error.to_string(),
        format!("exec Pod {namespace}/nobody: pods \"nobody\" not found")
    );
    let error = pods.exec("web", &exit.clone().container("other")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("exec Pod {namespace}/web: bad request: container other is not valid for pod web")
    );
    let nothing = ExecParams::new(["no-such-program"]);
    let error = pods.exec("web", &nothing).await.unwrap().wait().await.unwrap_err();
    let text = error.to_string();
    let begin = format!("exec Pod {namespace}/web: ");
    assert!(text.starts_with(&begin) && text.contains("executable file not found in $PATH"), "{text}");
    let error = pods.exec("web", &exit.stdout(false).stderr(false)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("exec Pod {namespace}/web: none of stdin, stdout and stderr is asked for")
    );
}

pub(crate) async fn an_unauthorized_caller_cannot_open_streams(target: &Target) {
    target.running_pod("web").await;
    let config = target.config_with_token().await.with_token("no-such-token");
    let client = Client::new(config).unwrap();
    let pods = Api::<Pod>::namespaced(&client, &target.namespace);
    let error = pods.exec("web", &ExecParams::new(["cat"])).await.unwrap_err();
    assert!(error.is_unauthorized(), "{error}");
}

pub(crate) async fn a_port_is_reached_through_the_server(target: &Target) {
    let pods = target.running_pod("web").await;
    let mut stream = pods.port_forward("web", ECHO).await.unwrap();
    stream.write_all(b"hello, bye").await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert_eq!(answer, "hello, bye");
    let mut nobody = pods.port_forward("web", 9).await.unwrap();
    let error = timeout(PATIENCE, nobody.read_to_string(&mut answer)).await.unwrap();
    let text = error.unwrap_err().to_string();
    let begin = format!("port-forward Pod {}/web port 9: ", target.namespace);
    assert!(text.starts_with(&begin) && text.contains("connection refused"), "{text}");
}

pub(crate) async fn a_local_port_forwards_to_a_pod(target: &Target) {
    let pods = target.running_pod("web").await;
    let local = ([127, 0, 0, 1], 0).into();
    let listener = pods.listen(local, "web", ECHO).await.unwrap();
    for said in ["one bye", "two bye"] {
        let mut stream = TcpStream::connect(listener.local_addr()).await.unwrap();
        stream.write_all(said.as_bytes()).await.unwrap();
        let mut answer = String::new();
        timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        assert_eq!(answer, said);
    }
    let address = listener.local_addr();
    drop(listener);
    target
        .until("the listener is closed", || async move {
            TcpStream::connect(address).await.is_err().then_some(())
        })
        .await;
}
