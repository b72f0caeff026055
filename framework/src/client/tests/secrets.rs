use std::io;

use futures_util::StreamExt;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use k8s_openapi::api::core::v1::Secret;
use tower::{Layer, util::MapRequestLayer};

use super::{
    log_recorder::LogRecorder,
    server::{Answer, Authority, Seen, Server, Site, answer, in_memory, json},
};
use crate::{
    client::{
        Api, Body, BoxError, Client, Config, Credentials, ExecConfig, InteractiveMode, ListParams,
        Patch, PatchParams, PostParams, WatchParams,
    },
    metrics::Metrics,
};

/// Words that occur only in secrets, as text and in base64.
const TOKEN: &str = "t0ken-of-the-client";
const DATA: &str = "c2VjcmV0LW9mLXRoZS1vYmplY3Q=";

/// A plugin that gets its own words, as a secret, and prints them.
fn plugin(words: &str) -> Credentials {
    let exec = ExecConfig::new("sh")
        .args(["-c", "printf '%s' \"$WORDS\"", TOKEN])
        .env("WORDS", words);
    Credentials::Exec(exec.interactive_mode(InteractiveMode::Never))
}

fn said_by_plugin(token: &str) -> String {
    format!(
        r#"{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"{token}"}}}}"#
    )
}

/// A client with a user's layer inside the credentials, which logs the request.
fn client(config: Config, metrics: &Metrics, log: &LogRecorder) -> Client {
    let log = log.clone();
    Client::builder(config)
        .metrics(metrics.clone())
        .stack(move |steps| {
            let log = log.clone();
            let look = MapRequestLayer::new(move |request: Request<Body>| {
                log.add(format_args!("inside: {request:?}"));
                request
            });
            let inside = look
                .layer((&steps.warnings, &steps.base, &steps.response_deadline).layer(steps.pool));
            let attempt = (steps.count, steps.auth, steps.impersonate).layer(inside);
            (steps.total, steps.trace, steps.measure, steps.retry).layer(attempt)
        })
        .build()
        .unwrap()
}

#[tokio::test]
async fn no_secret_appears_in_logs_and_errors() {
    let (log, _listening) = LogRecorder::listen();
    let site = Site::new(|seen| match &*seen.uri {
        uri if uri.ends_with("/good") => json(
            200,
            format!("{{\"metadata\":{{\"name\":\"good\"}},\"data\":{{\"k\":\"{DATA}\"}}}}"),
        ),
        uri if uri.ends_with("/bad") => json(
            200,
            format!("{{\"metadata\":{{\"name\":\"bad\"}},\"data\":\"{DATA}\"}}"),
        ),
        uri if uri.ends_with("/plain") => answer(200, "text/plain", DATA),
        uri if uri.ends_with("/denied") => json(401, "{}"),
        uri if uri.ends_with("/broken") => json(500, format!("{{\"data\":\"{DATA}\"}}")),
        uri if uri.contains("watch=") => json(
            200,
            format!(
                "{{\"type\":\"ADDED\",\"object\":{{\"metadata\":{{\"name\":\"bad\"}},\"data\":\"{DATA}\"}}}}\n{DATA}\n"
            ),
        ),
        _ => json(
            200,
            // The answer to a creation, too.
            format!(
                "{{\"metadata\":{{\"name\":\"good\"}},\"items\":[{{\"metadata\":{{\"name\":\"bad\"}},\"data\":[\"{DATA}\"]}}]}}"
            ),
        ),
    });
    for http2 in [true, false] {
        let mut site = site.clone();
        site.http2 = http2;
        let clients = Authority::new();
        let server = Server::with(&site, "127.0.0.1", Some(&clients)).await;
        let (certificate, key) = clients.issue("me");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, TOKEN).unwrap();
        let metrics = Metrics::new();
        let config = server
            .config()
            .with_client_certificate(certificate, key.clone());
        let mut with_first_token = config.clone().with_token_file(folder.path().join("none"));
        with_first_token.first_token = Some(TOKEN.to_owned().into());
        for config in [
            config.clone().with_token(TOKEN),
            config.clone().with_token_file(&file),
            with_first_token,
            config.clone().with_credentials(Credentials::Basic {
                username: "me".into(),
                password: TOKEN.to_owned().into(),
            }),
            config
                .clone()
                .with_credentials(plugin(&said_by_plugin(TOKEN))),
            config
                .clone()
                .with_credentials(plugin(&format!("{TOKEN} {DATA}"))),
        ] {
            log.add(format_args!("{config:?}"));
            let client = client(config, &metrics, &log);
            log.add(format_args!("{client:?}"));
            let secrets = Api::<Secret>::namespaced(&client, "default");
            for name in ["good", "bad", "plain", "denied", "broken"] {
                if let Err(error) = secrets.get(name).await {
                    log.add(format_args!("{error} {error:?}"));
                }
            }
            let list = match secrets.list(&ListParams::default()).await {
                Ok(list) => list,
                // A plugin that prints invalid output.
                Err(error) => {
                    log.add(format_args!("{error} {error:?}"));
                    continue;
                }
            };
            log.add(format_args!("{:?}", list.undecodable));
            let good = secrets.get("good").await.unwrap();
            secrets.create(&PostParams::default(), &good).await.unwrap();
            let patch = Patch::Merge(serde_json::json!({"data": {"k": DATA}}));
            let params = PatchParams::default();
            secrets.patch("good", &params, &patch).await.unwrap();
            let mut events = secrets.watch(&WatchParams::default()).await.unwrap();
            while let Some(event) = events.next().await {
                log.add(format_args!("{event:?}"));
            }
        }
        log.add(metrics.encode());
        let said = log.said();
        for heard in ["url.path", "rest_client_requests_total", "inside: Request"] {
            assert!(said.contains(heard), "{heard} was not caught");
        }
        // Its output at level trace is recorded, too.
        assert!(
            !http2 || said.contains("event of h2::"),
            "h2 was not caught"
        );
        let key = key.lines().nth(1).unwrap();
        for secret in [TOKEN, DATA, "secret-of-the-object", key, "dDBrZW4tb2Y"] {
            let at = said.find(secret);
            let around = at.map(|at| &said[at.saturating_sub(200)..(at + 100).min(said.len())]);
            assert!(at.is_none(), "{secret}: {}", around.unwrap_or_default());
        }
    }
}

/// An answer that repeats the credentials of the request in each text that the client may show.
fn repeating(seen: &Seen, also: &str) -> Option<Answer> {
    let words = format!("{}, {also}", seen.header("authorization"));
    let status = serde_json::json!({
        "kind": "Status", "status": words, "message": words, "reason": words, "code": 403,
        "details": {"name": words, "kind": words, "group": words, "uid": words,
            "causes": [{"reason": words, "message": words, "field": words}]},
        "metadata": {"resourceVersion": words, "continue": words, "selfLink": words},
    });
    let mut answer = match &*seen.uri {
        uri if uri.contains("watch=") => json(
            200,
            serde_json::json!({"type": "ERROR", "object": status}).to_string(),
        ),
        uri if uri.ends_with("/page") => answer(500, "text/html", format!("<html>{words}</html>")),
        // The text is cut within the credentials.
        uri if uri.ends_with("/long") => {
            let (_, secret) = words.split_once(' ').unwrap();
            answer(500, "text/plain", format!("{} {secret}", "x".repeat(105)))
        }
        uri if uri.ends_with("/type") => {
            let (_, secret) = words.split_once(' ').unwrap();
            let (secret, _) = secret.split_once(',').unwrap();
            answer(200, &format!("application/{secret}"), "")
        }
        _ => json(403, status.to_string()),
    }?;
    let warning = format!("299 - \"{}{words}\"", "w".repeat(1000)).parse();
    answer.headers_mut().insert("warning", warning.unwrap());
    Some(answer)
}

/// Fails with the request's credentials, as a connection does whose end quotes them (HTTP/2's debug data). The answer to
/// `…/body` begins before that.
async fn breaking(request: Request<Body>) -> Result<Response<Body>, BoxError> {
    let header = request.headers()["authorization"].to_str()?;
    let error = io::Error::other(format!("connection error received: go away ({header})"));
    if !request.uri().path().ends_with("/body") {
        return Err(error.into());
    }
    let pieces = [Ok(Frame::data("{".into())), Err(error)];
    let body = StreamBody::new(futures_util::stream::iter(pieces));
    Ok(Response::new(Body::new(body)))
}

#[tokio::test]
async fn credentials_in_the_error_of_a_broken_connection_are_in_no_text() {
    let config = Config::new("https://server".parse().unwrap()).with_token(TOKEN);
    let builder =
        Client::builder(config).stack(|steps| steps.auth.layer(tower::service_fn(breaking)));
    let client = builder.build().unwrap();
    let secrets = Api::<Secret>::namespaced(&client, "default");
    for name in ["head", "body"] {
        let error = secrets.get(name).await.unwrap_err();
        let said = format!("{error} {error:?}");
        assert!(
            said.contains("go away (Bearer <redacted>)") && !said.contains(TOKEN),
            "{said}"
        );
    }
    // A program's own stack and its own credentials.
    let client = Client::from_service(tower::service_fn(breaking));
    let request = Request::get("/").header("authorization", format!("Bearer {TOKEN}"));
    let error = client
        .send(request.body(Body::empty()).unwrap())
        .await
        .unwrap_err();
    let said = format!("{error} {error:?}");
    assert!(
        said.contains("<redacted>") && !said.contains(TOKEN),
        "{said}"
    );
}

#[tokio::test]
async fn credentials_that_a_server_repeats_are_in_no_text() {
    const PASSWORD: &str = "passw0rd-for-the-proxy";
    let site = Site::new(|seen| repeating(seen, &format!("{TOKEN} {PASSWORD}")));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, TOKEN).unwrap();
    let proxy = format!("http://me:{PASSWORD}@proxy").parse().unwrap();
    let config = Config::new("http://server".parse().unwrap()).with_proxy(proxy);
    for config in [
        config.clone().with_token(TOKEN),
        config.clone().with_token_file(&file),
        config.clone().with_credentials(Credentials::Basic {
            username: "me".into(),
            password: TOKEN.to_owned().into(),
        }),
        config.with_credentials(plugin(&said_by_plugin(TOKEN))),
    ] {
        let log = LogRecorder::default();
        let warnings = log.clone();
        let client = Client::builder(config)
            .connector(in_memory(&site))
            .on_warning(move |text| warnings.add(text))
            .build()
            .unwrap();
        let secrets = Api::<Secret>::namespaced(&client, "default");
        for name in ["status", "page", "long", "type"] {
            let error = secrets.get(name).await.unwrap_err();
            assert!(error.to_string().contains("<redacted>"), "{error}");
            log.add(format_args!("{error} {error:?}"));
        }
        let mut events = secrets.watch(&WatchParams::default()).await.unwrap();
        let error = events.next().await.unwrap().unwrap_err();
        log.add(format_args!("{error} {error:?}"));
        let said = log.said();
        assert!(said.contains("www") && !site.seen().is_empty(), "{said}");
        // The beginning of each secret: token, password, and `me:` with token or password in base64.
        for secret in [&TOKEN[..8], &PASSWORD[..8], "bWU6dDBr", "bWU6cGFz"] {
            assert!(!said.contains(secret), "{secret}: {said}");
        }
    }
}
