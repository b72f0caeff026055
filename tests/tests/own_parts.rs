//! What a program adds to its operator: routes, health checks, metrics and subcommands.

use std::{
    fs,
    future::pending,
    io::{BufRead, BufReader},
    process::{Command, Output, Stdio},
};

use pilothouse::{
    client::{Api, Body, BoxError, PostParams, RestMapper},
    crd::{self, CustomResourceDefinition},
    election::ElectionSettings,
    health::Query,
    metrics::prometheus::IntCounter,
    operator::{Operator, Route, Running},
    prelude::*,
    resource::{DynamicObject, Scheme},
    server::{Address, Reply, http},
    testing::Cluster,
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::probe::{Probe, Widget, widget};

fn operator() -> Operator {
    Operator::new("own")
        .controller(Probe::idle())
        .metrics_address(Address::loopback(0))
}

async fn start(operator: Operator) -> (Cluster, Running) {
    let cluster = Cluster::start().unwrap();
    let running = cluster.run(operator).await.unwrap();
    (cluster, running)
}

/// Why the operator does not start.
async fn refusal(operator: Operator) -> String {
    let cluster = Cluster::start().unwrap();
    cluster.run(operator).await.err().unwrap().to_string()
}

/// Sends a request without waiting for the response.
async fn send(running: &Running, request: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(running.http_address().unwrap())
        .await
        .unwrap();
    let length = body.len();
    let head = format!(
        "{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// The status and the body of the response.
async fn received(mut stream: TcpStream) -> (u16, String) {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    (status.unwrap_or_default(), body.to_owned())
}

async fn ask(running: &Running, request: &str, body: &str) -> (u16, String) {
    received(send(running, request, body).await).await
}

#[tokio::test]
async fn a_route_responds_beside_metrics_and_health_and_has_the_operators_client() {
    let operator = operator()
        .route(
            "/hook",
            Route::new(|setup, request| async move {
                let widgets = Api::<Widget>::all(setup.client());
                let count = widgets.list(&Default::default()).await?.items.len();
                let body = String::from_utf8_lossy(request.body());
                let text = format!("{} {body}: {count} widgets", request.method());
                Ok(Reply::new(text.into()))
            }),
        )
        .route(
            "/api/",
            Route::service(|_| {
                tower::service_fn(|request: http::Request<Body>| async move {
                    let path = request.uri().path().to_owned();
                    Ok::<_, BoxError>(http::Response::new(Body::from(path.into_bytes())))
                })
            }),
        )
        .route(
            "/api/fails",
            Route::new(|_, _| async { Err(Failure::new("a secret of the program")) }),
        );
    let (cluster, running) = start(operator).await;
    cluster.create(&widget("a", 1)).await.unwrap();
    let hooked = ask(&running, "POST /hook", "push").await;
    assert_eq!(hooked, (200, "POST push: 1 widgets".into()));
    let below = ask(&running, "GET /api/sites/b", "").await;
    assert_eq!(below, (200, "/api/sites/b".into()));
    // The more specific route counts, and the peer does not see the error.
    let failed = ask(&running, "GET /api/fails", "").await;
    assert_eq!(failed, (500, "500 internal server error\n".into()));
    assert_eq!(ask(&running, "GET /none", "").await.0, 404);
    assert_eq!(ask(&running, "GET /livez", "").await, (200, "ok".into()));
    assert_eq!(ask(&running, "GET /metrics", "").await.0, 200);
    running.stop().await;
}

#[tokio::test]
async fn slow_routes_do_not_keep_health_from_responding() {
    let slow = Route::new(|_, _| pending::<Result<Reply>>());
    let (_cluster, running) = start(operator().route("/slow", slow)).await;
    let mut held = Vec::new();
    for _ in 0..16 {
        held.push(send(&running, "GET /slow", "").await);
    }
    // The requests of this peer that are beyond its limit are refused at once, so the 16 others run.
    let mut refused = 0;
    while refused == 0 {
        let mut one = send(&running, "GET /slow", "").await;
        let mut first = [0; 12];
        tokio::select! {
            read = one.read_exact(&mut first) => {
                read.unwrap();
                assert_eq!(&first, b"HTTP/1.1 503");
                refused += 1;
            }
            () = tokio::task::yield_now() => held.push(one),
        }
    }
    for path in ["/livez", "/readyz", "/healthz"] {
        let answer = ask(&running, &format!("GET {path}"), "").await;
        assert_eq!(answer, (200, "ok".into()), "{path}");
    }
    drop(held);
    running.stop().await;
}

#[tokio::test]
async fn every_path_of_the_framework_is_refused_for_a_route() {
    let (_cluster, running) = start(operator().debug_page()).await;
    for path in ["/metrics", "/healthz", "/livez", "/readyz", "/debug"] {
        assert_ne!(ask(&running, &format!("GET {path}"), "").await.0, 404);
        let route = Route::new(|_, _| async { Ok(Reply::default()) });
        assert_eq!(
            refusal(operator().route(path, route)).await,
            format!(
                "the operator cannot serve the route `{path}`: the framework serves {path}: choose another path"
            )
        );
    }
    running.stop().await;
    let twice = operator()
        .route("/a", Route::new(|_, _| async { Ok(Reply::default()) }))
        .route("/a", Route::new(|_, _| async { Ok(Reply::default()) }));
    assert_eq!(
        refusal(twice).await,
        "the operator cannot serve the route `/a`: the program has two routes at that path: remove one"
    );
}

#[tokio::test]
async fn checks_of_the_program_are_a_part_of_readiness_and_liveness() {
    let probe = Probe::idle();
    let operator = Operator::new("own")
        .metrics_address(Address::loopback(0))
        .ready_check("database", || Err("no connection".into()))
        .live_check("loop", || Ok(()))
        .controller_with(async move |setup| {
            setup.ready_check("registry", || Ok(()))?;
            Ok(probe)
        });
    let (_cluster, running) = start(operator).await;
    let (status, ready) = ask(&running, "GET /readyz?verbose", "").await;
    assert_eq!(status, 500, "{ready}");
    assert!(
        ready.contains("[-]database failed: no connection\n"),
        "{ready}"
    );
    assert!(ready.contains("[+]registry ok\n"), "{ready}");
    let (status, live) = ask(&running, "GET /livez?verbose", "").await;
    assert_eq!(status, 200, "{live}");
    assert!(live.contains("[+]loop ok\n"), "{live}");
    running.stop().await;
}

#[tokio::test]
async fn the_names_of_the_frameworks_checks_are_refused() {
    let election = ElectionSettings::new("own");
    let (_cluster, running) = start(operator().election(election)).await;
    running.synced().await;
    let report = running.ready().report(&Query::default());
    let names: Vec<_> = report
        .entries()
        .iter()
        .map(|entry| entry.name.clone())
        .collect();
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        let error = refusal(operator().ready_check(name.clone(), || Ok(()))).await;
        let expected = format!(
            "the operator cannot add the check `{name}` to /readyz: the framework has a check of that name: choose another"
        );
        assert_eq!(error, expected);
    }
    for name in ["ping", "leader-election"] {
        let error = refusal(operator().live_check(name, || Ok(()))).await;
        assert!(
            error.contains("the framework has a check"),
            "{name}: {error}"
        );
    }
    running.stop().await;
    let twice = operator()
        .ready_check("a", || Ok(()))
        .controller_with(async |setup| {
            setup.ready_check("a", || Ok(()))?;
            Ok(Probe::idle())
        });
    let error = refusal(twice).await;
    assert!(
        error.contains("the program has two checks of that name"),
        "{error}"
    );
}

#[tokio::test]
async fn metrics_of_the_program_are_served_and_a_clash_of_names_is_an_error_at_the_start() {
    let with = |name: &'static str| {
        let probe = Probe::idle();
        Operator::new("own")
            .metrics_address(Address::loopback(0))
            .controller_with(async move |setup| {
                let visits = IntCounter::new(name, "Visits.")?;
                setup.metrics().register(visits)?.inc();
                Ok(probe)
            })
    };
    let (_cluster, running) = start(with("own_visits_total")).await;
    let (_, metrics) = ask(&running, "GET /metrics", "").await;
    assert!(metrics.contains("\nown_visits_total 1\n"), "{metrics}");
    running.stop().await;
    let error = refusal(with("workqueue_depth")).await;
    let expected = "cannot build the reconciler of Widget: the metric `workqueue_depth` cannot be registered: the framework has that name";
    assert!(error.starts_with(expected), "{error}");
}

/// Runs the operator `pages` of the book.
fn pages(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_pages"))
        .args(arguments)
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("HOME", "/nonexistent")
        .output();
    output.unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_subcommand_of_the_program_runs_without_a_cluster_if_it_needs_none() {
    let output = pages(&["text", "<b>hello</b> you"]);
    assert_eq!(text(&output.stdout), "hello you\n");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let help = text(&pages(&["--help"]).stdout);
    for line in ["  names        Print the names of all pages", "  crd  "] {
        assert!(help.contains(line), "{help}");
    }
    let help = text(&pages(&["names", "--help"]).stdout);
    for flag in ["--namespace", "--kubeconfig", "--context"] {
        assert!(help.contains(flag), "{help}");
    }
    let wrong = pages(&["text"]);
    assert_eq!(wrong.status.code(), Some(2));
    let version = format!("pages {}\n", env!("CARGO_PKG_VERSION"));
    let told = text(&pages(&["--version"]).stdout);
    assert!(told.starts_with(&version), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subcommand_of_the_program_works_with_the_cluster_of_its_kubeconfig() {
    let cluster = Cluster::start().unwrap();
    let output = pages(&["crd"]);
    let scheme = Scheme::new().with::<CustomResourceDefinition>();
    let definition = scheme.decode(&text(&output.stdout)).remove(0).unwrap();
    let definition: CustomResourceDefinition = definition.downcast().unwrap();
    crd::install(cluster.client(), &[definition], "pages")
        .await
        .unwrap();
    let page = json!({"apiVersion": "book.pilothouse.dev/v1", "kind": "Page",
        "metadata": {"name": "one", "namespace": "default"}, "spec": {"html": "<p>"}});
    let page: DynamicObject = serde_json::from_value(page).unwrap();
    let api = RestMapper::new(cluster.client()).api_for(&page).await;
    api.unwrap()
        .create(&PostParams::default(), &page)
        .await
        .unwrap();
    let server = cluster.sandbox().serve_https(([127, 0, 0, 1], 0).into());
    let server = server.await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    fs::write(&kubeconfig, cluster.sandbox().kubeconfig(&server)).unwrap();
    let kubeconfig = kubeconfig.to_str().unwrap().to_owned();
    let listed =
        tokio::task::spawn_blocking(move || pages(&["names", "--kubeconfig", &kubeconfig]));
    let output = listed.await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "one\n");
    let failed = pages(&["names", "--kubeconfig", "/none"]);
    let error = text(&failed.stderr);
    assert!(
        error.starts_with("error: the subcommand names failed: "),
        "{error}"
    );
    assert_eq!(failed.status.code(), Some(1));
}

#[test]
fn dev_prints_its_kubeconfig_first_and_installs_files_before_the_operator_starts() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("objects.yaml");
    let objects = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n\
                   apiVersion: book.pilothouse.dev/v1\nkind: Page\nmetadata: {name: one}\nspec: {html: <p>}\n";
    fs::write(&file, objects).unwrap();
    let dev = |file: &std::path::Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pages"));
        command
            .args(["dev", "--log", "off", "--install"])
            .arg(file)
            .env("XDG_CACHE_HOME", home.path())
            .stdin(Stdio::null());
        command
    };
    let mut child = dev(&file).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let mut said = Vec::new();
    while !(said
        .iter()
        .any(|line: &String| line.contains("Ctrl-C stops it"))
        && said.iter().any(|line| line == "nginx serves one"))
    {
        said.push(lines.next().unwrap_or_else(|| panic!("it ended: {said:?}")));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let place = |text: &str| {
        let place = said.iter().position(|line| line.contains(text));
        place.unwrap_or_else(|| panic!("no {text} in {said:?}"))
    };
    let order = [
        "export KUBECONFIG=/",
        "Installing pages.book.pilothouse.dev …",
        "Installing ConfigMap a …",
        "Installing Page one …",
        "Starting the operator …",
        "nginx serves one",
    ];
    assert!(order.map(place).is_sorted(), "{said:?}");
    let route = said
        .iter()
        .any(|line| line.starts_with("  route  ") && line.ends_with("/names"));
    assert!(route, "{said:?}");

    fs::write(&file, objects.replace("html: <p>", "html: 1")).unwrap();
    let refused = dev(&file).output().unwrap();
    let error = text(&refused.stderr);
    let expected = format!(
        "error: cannot install {}: document 2, line 8: ",
        file.display()
    );
    assert!(error.starts_with(&expected), "{error}");
    assert!(error.contains("spec.html"), "{error}");
    assert_eq!(refused.status.code(), Some(1));
}
