use k8s_openapi::api::core::v1::Secret;

use super::{
    everything::Everything,
    server::{Authority, Server, Site, answer, json},
};
use crate::client::{
    Api, Client, Credentials, ExecConfig, InteractiveMode, ListParams, PostParams,
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
        let config = server
            .config()
            .with_client_certificate(certificate, key.clone());
        for config in [
            config.clone().with_token(TOKEN),
            config.clone().with_token_file(&file),
            config
                .clone()
                .with_credentials(crate::client::Credentials::Basic {
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
            let client = Client::new(config).unwrap();
            everything.add(format_args!("{client:?}"));
            let secrets = Api::<Secret>::namespaced(&client, "default");
            for name in ["good", "bad", "plain", "denied"] {
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
        }
        let said = everything.said();
        assert!(said.contains("url.path"), "nothing was caught");
        let key = key.lines().nth(1).unwrap();
        for secret in [TOKEN, DATA, "secret-of-the-object", key, "dDBrZW4tb2Y"] {
            let at = said.find(secret);
            let around = at.map(|at| &said[at.saturating_sub(200)..(at + 100).min(said.len())]);
            assert!(at.is_none(), "{secret}: {}", around.unwrap_or_default());
        }
    }
}
