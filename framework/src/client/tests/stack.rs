//! The stack as its user sees it: each step can be replaced, and reports what it did.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    task::{Context, Poll},
};

use futures_core::future::BoxFuture;
use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use tower::{Layer, Service, ServiceExt, layer::layer_fn, service_fn};

use super::{
    log_recorder::LogRecorder,
    server::{OBJECT, Server, Site, answer, json},
};
use crate::{
    client::{Api, Body, BoxError, Client, Config, Impersonation, ListParams, PostParams},
    metrics::Metrics,
};

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client, "default")
}

/// A user's layer that repeats every request until it succeeds.
#[derive(Clone)]
struct Stubborn<S>(S);

impl<S> Service<Request<Body>> for Stubborn<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let inner = self.0.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            loop {
                let body = body.try_clone().ok_or("it comes piece by piece")?;
                let again = Request::from_parts(head.clone(), body);
                let response = inner.clone().oneshot(again).await?;
                if response.status().is_success() {
                    return Ok(response);
                }
            }
        })
    }
}

/// A site that answers 500 twice, and then an object.
fn third_time_lucky() -> Site {
    let count = AtomicUsize::new(0);
    Site::new(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => json(500, "{}"),
        _ => json(200, OBJECT),
    })
}

#[tokio::test]
async fn a_users_own_retry_layer_replaces_the_default() {
    let site = third_time_lucky();
    let server = Server::start(&site).await;
    let metrics = Metrics::new();
    let client = Client::builder(server.config().with_token("t"))
        .metrics(metrics.clone())
        .stack(|steps| {
            let attempt = steps.attempt();
            (steps.total, steps.trace, steps.measure, layer_fn(Stubborn)).layer(attempt)
        })
        .build()
        .unwrap();
    maps(&client).get("a").await.unwrap();
    let seen = site.seen();
    assert_eq!(seen.len(), 3);
    assert!(
        seen.iter()
            .all(|seen| seen.header("authorization") == "Bearer t")
    );
    let text = metrics.encode();
    let host = server.address;
    for line in [
        format!("rest_client_requests_total{{code=\"200\",host=\"{host}\",method=\"GET\"}} 1\n"),
        format!("rest_client_requests_total{{code=\"500\",host=\"{host}\",method=\"GET\"}} 2\n"),
        format!(
            "rest_client_request_retries_total{{code=\"500\",host=\"{host}\",verb=\"GET\"}} 1\n"
        ),
        format!(
            "rest_client_request_retries_total{{code=\"200\",host=\"{host}\",verb=\"GET\"}} 1\n"
        ),
        format!("rest_client_request_duration_seconds_count{{host=\"{host}\",verb=\"GET\"}} 1\n"),
    ] {
        assert!(text.contains(&line), "{line} is missing in\n{text}");
    }
}

#[tokio::test]
async fn a_service_of_the_program_answers_instead_of_a_server() {
    let service = service_fn(|request: Request<Body>| async move {
        assert_eq!(request.uri(), "/api/v1/namespaces/default/configmaps/a");
        Ok::<_, Infallible>(Response::new(OBJECT.to_owned()))
    });
    maps(&Client::from_service(service)).get("a").await.unwrap();
    // The same inside a client's own layers and settings.
    let outermost = Arc::new(AtomicUsize::new(0));
    let count = outermost.clone();
    let client = Client::builder(Config::new("https://nowhere".parse().unwrap()))
        .stack(move |_| service)
        .layer(layer_fn(move |inner| {
            count.fetch_add(1, Ordering::SeqCst);
            inner
        }))
        .build()
        .unwrap();
    maps(&client).get("a").await.unwrap();
    assert_eq!(outermost.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn sizes_and_durations_are_measured_except_those_of_watches() {
    let site = Site::new(|seen| match &*seen.uri {
        uri if uri.contains("watch=") => answer(200, "application/json", ""),
        _ => json(200, OBJECT),
    });
    let server = Server::start(&site).await;
    let metrics = Metrics::new();
    let client = Client::builder(server.config()).metrics(metrics.clone());
    let client = client.build().unwrap();
    let maps = maps(&client);
    maps.create(&PostParams::default(), &ConfigMap::default())
        .await
        .unwrap();
    maps.watch(&crate::client::WatchParams::default())
        .await
        .unwrap();
    let text = metrics.encode();
    let sent = site.seen()[0].body.len();
    let of = format!("{{host=\"{}\",verb=\"POST\"}}", server.address);
    for line in [
        format!("rest_client_request_duration_seconds_count{of} 1\n"),
        format!("rest_client_request_size_bytes_sum{of} {sent}\n"),
        format!("rest_client_response_size_bytes_sum{of} {}\n", OBJECT.len()),
    ] {
        assert!(text.contains(&line), "{line} is missing in\n{text}");
    }
    let watched = format!(
        "rest_client_request_duration_seconds_count{{host=\"{}\",verb=\"GET\"}}",
        server.address
    );
    assert!(
        text.contains("method=\"GET\"") && !text.contains(&watched),
        "{text}"
    );
}

#[tokio::test]
async fn a_client_has_metrics_from_its_start_and_counts_its_transports() {
    let metrics = Metrics::new();
    let config = Config::new("https://host:6443".parse().unwrap());
    let client = Client::builder(config).metrics(metrics.clone());
    let client = client.build().unwrap();
    let text = metrics.encode();
    for line in [
        "rest_client_rate_limiter_duration_seconds_count{host=\"host:6443\",verb=\"PATCH\"} 0\n",
        "rest_client_request_retries_total{code=\"<error>\",host=\"host:6443\",verb=\"PATCH\"} 0\n",
        "rest_client_transport_cache_entries 1\n",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
    let apart = client.with_own_connections(crate::client::Deadlines::default());
    let has = |entries: usize| {
        let line = format!("rest_client_transport_cache_entries {entries}\n");
        metrics.encode().contains(&line)
    };
    assert!(has(2));
    drop(client);
    assert!(has(1));
    drop(apart);
    assert!(has(0));
}

#[tokio::test]
async fn each_warning_goes_once_to_the_programs_handler() {
    let site = Site::new(|_| {
        let mut answer = json(200, OBJECT)?;
        for text in [
            "299 - \"v1beta1 is going\"",
            "299 - \"and \\\"so\\\" is this\"",
        ] {
            answer
                .headers_mut()
                .append("warning", text.parse().unwrap());
        }
        Some(answer)
    });
    let server = Server::start(&site).await;
    let (tell, told) = mpsc::channel();
    let client = Client::builder(server.config())
        .on_warning(move |text| tell.send(text.to_owned()).unwrap())
        .build()
        .unwrap();
    maps(&client).get("a").await.unwrap();
    maps(&client).get("a").await.unwrap();
    let told: Vec<_> = told.try_iter().collect();
    assert_eq!(told, ["v1beta1 is going", "and \"so\" is this"]);
}

#[tokio::test]
async fn a_span_describes_the_request_with_opentelemetrys_names() {
    let site = Site::new(|seen| match seen.uri.ends_with("/missing") {
        true => json(404, "{}"),
        false => json(200, "{\"items\":[]}"),
    });
    let server = Server::start(&site).await;
    let (log, _listening) = LogRecorder::listen();
    let client = Client::new(server.config()).unwrap();
    let selected = ListParams::default().labels("secret=in-the-query");
    maps(&client).list(&selected).await.unwrap();
    maps(&client).get("missing").await.unwrap_err();
    let said = log.said();
    let port = server.address.port();
    let path = "/api/v1/namespaces/default/configmaps";
    for line in [
        "span request".to_owned(),
        "otel.kind=client".to_owned(),
        "http.request.method=GET".to_owned(),
        format!("url.full=https://127.0.0.1:{port}{path}"),
        format!("url.path={path}"),
        "server.address=127.0.0.1".to_owned(),
        format!("server.port={port}"),
        "http.response.status_code=200".to_owned(),
        "k8s.namespace.name=default".to_owned(),
        "k8s.api.group=".to_owned(),
        "k8s.api.version=v1".to_owned(),
        "k8s.resource=configmaps".to_owned(),
        "k8s.object.name=missing".to_owned(),
        "http.response.status_code=404".to_owned(),
        "error.type=404".to_owned(),
        "otel.status_code=ERROR".to_owned(),
    ] {
        assert!(said.lines().any(|said| said == line), "{line}\n{said}");
    }
    let ours: Vec<_> = said
        .lines()
        .filter(|line| line.contains("in-the-query"))
        .collect();
    assert_eq!(ours, [""; 0]);
}

#[tokio::test]
async fn headers_that_a_request_has_already_are_kept() {
    let site = Site::new(|_| json(200, OBJECT));
    let server = Server::start(&site).await;
    let config = server
        .config()
        .with_token("t")
        .with_impersonation(Impersonation::new("jane"));
    let client = Client::builder(config)
        .user_agent("website/1.2")
        .build()
        .unwrap();
    let plain = Request::get("/version").body(Body::empty()).unwrap();
    client.send(plain).await.unwrap();
    let own = Request::get("/version")
        .header("authorization", "Bearer own")
        .header("user-agent", "own")
        .header("impersonate-user", "own")
        .body(Body::empty())
        .unwrap();
    client.send(own).await.unwrap();
    let [plain, own] = &site.seen()[..] else {
        panic!()
    };
    let agent = plain.header("user-agent");
    assert!(
        agent.starts_with("website/1.2 (") && agent.contains(") pilothouse/"),
        "{agent}"
    );
    for name in ["authorization", "user-agent", "impersonate-user"] {
        assert_eq!(own.headers.get_all(name).iter().count(), 1, "{name}");
        assert!(own.header(name).ends_with("own"), "{name}");
    }
}
