use futures_util::StreamExt;
use http::Request;
use k8s_openapi::api::core::v1::Secret;
use tower::{Layer, util::MapRequestLayer};

use super::{
    everything::Everything,
    server::{Authority, Server, Site, answer, json},
};
use crate::{
    client::{
        Api, Body, Client, Config, Credentials, ExecConfig, InteractiveMode, ListParams, Patch,
        PatchParams, PostParams, WatchParams,
    },
    metrics::Metrics,
};

/// A word that stands only where a secret is, as text and in base64.
const TOKEN: &str = "t0ken-of-the-client";
const DATA: &str = "c2VjcmV0LW9mLXRoZS1vYmplY3Q=";

/// A plugin that is given its own words, as a secret, and prints them.
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

/// A client with a layer of the user's where the credentials are already in the request: it says what
/// it sees.
fn client(config: Config, metrics: &Metrics, everything: &Everything) -> Client {
    let everything = everything.clone();
    Client::builder(config)
        .metrics(metrics.clone())
        .stack(move |steps| {
            let everything = everything.clone();
            let look = MapRequestLayer::new(move |request: Request<Body>| {
                everything.add(format_args!("inside: {request:?}"));
                request
            });
            let inside =
                look.layer((&steps.warnings, &steps.base, &steps.answer).layer(steps.pool));
            let attempt = (steps.count, steps.auth, steps.impersonate).layer(inside);
            (steps.total, steps.trace, steps.measure, steps.retry).layer(attempt)
        })
        .build()
        .unwrap()
}

#[tokio::test]
async fn no_secret_is_ever_said() {
    let (everything, _listening) = Everything::listen();
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
            format!("{{\"items\":[{{\"metadata\":{{\"name\":\"bad\"}},\"data\":[\"{DATA}\"]}}]}}"),
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
            everything.add(format_args!("{config:?}"));
            let client = client(config, &metrics, &everything);
            everything.add(format_args!("{client:?}"));
            let secrets = Api::<Secret>::namespaced(&client, "default");
            for name in ["good", "bad", "plain", "denied", "broken"] {
                if let Err(error) = secrets.get(name).await {
                    everything.add(format_args!("{error} {error:?}"));
                }
            }
            let list = match secrets.list(&ListParams::default()).await {
                Ok(list) => list,
                // A plugin that prints rubbish.
                Err(error) => {
                    everything.add(format_args!("{error} {error:?}"));
                    continue;
                }
            };
            everything.add(format_args!("{:?}", list.undecodable));
            let good = secrets.get("good").await.unwrap();
            secrets.create(&PostParams::default(), &good).await.unwrap();
            let patch = Patch::Merge(serde_json::json!({"data": {"k": DATA}}));
            let params = PatchParams::default();
            secrets.patch("good", &params, &patch).await.unwrap();
            let mut events = secrets.watch(&WatchParams::default()).await.unwrap();
            while let Some(event) = events.next().await {
                everything.add(format_args!("{event:?}"));
            }
        }
        everything.add(metrics.encode());
        let said = everything.said();
        for heard in ["url.path", "rest_client_requests_total", "inside: Request"] {
            assert!(said.contains(heard), "{heard} was not caught");
        }
        // What it says at its level trace is heard, too.
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
