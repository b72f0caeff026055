//! Values that no log shows.

// ANCHOR: recipe
use std::fmt;

use pilothouse::{prelude::*, resource::ObjectKey};

use crate::site::Site;

/// A token. Neither `{:?}` nor an error shows it.
#[derive(Clone, PartialEq, Eq)]
struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(not shown)")
    }
}

impl Token {
    /// Reads the token of a Secret. The errors name the Secret and the key, never the value.
    fn of(secret: &Secret) -> Result<Self, String> {
        let key = secret.key();
        let data = secret.data.as_ref().and_then(|data| data.get("token"));
        let bytes = data.ok_or_else(|| format!("the Secret {key} has no key `token`"))?;
        let text = std::str::from_utf8(&bytes.0);
        let text = text.map_err(|_| format!("`token` of the Secret {key} is not UTF-8"))?;
        Ok(Self(text.trim().to_owned()))
    }
}

struct Sites;

impl Reconciler for Sites {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.watches(|secret: &Secret| {
            // The Secret `NAME-token` belongs to the Site `NAME`.
            let site = secret.name().strip_suffix("-token");
            let key = |site| ObjectKey::new(secret.namespace(), site);
            site.map(key).into_iter().collect()
        })
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let name = format!("{}-token", site.name());
        let Some(secret) = cx.get::<Secret>(&name)? else {
            return Err(Failure::waiting(format!(
                "the Secret {name} does not exist yet"
            )));
        };
        let token = Token::of(&secret)?;
        tracing::info!(?token, "signed in");
        Ok(Action::wait())
    }
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::{k8s::ByteString, testing::Cluster};

    use super::*;
    use crate::world::{ready_message, site};

    fn secret(name: &str, key: &str, value: &[u8]) -> Secret {
        Secret {
            data: Some([(key.to_owned(), ByteString(value.to_vec()))].into()),
            ..Secret::named(name)
        }
    }

    #[test]
    fn neither_a_log_line_nor_an_error_shows_the_value() {
        let token = Token::of(&secret("a-token", "token", b"abc123\n")).unwrap();
        assert_eq!(token.0, "abc123");
        assert!(!format!("{token:?}").contains("abc123"));
        let binary = Token::of(&secret("a-token", "token", b"abc123\xff"));
        assert!(!binary.unwrap_err().contains("abc123"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_condition_names_the_secret_and_the_key() {
        let cluster = Cluster::start().unwrap();
        let running = cluster
            .run(Operator::new("sites").controller(Sites))
            .await
            .unwrap();
        cluster.create(&site("a")).await.unwrap();
        cluster
            .create(&secret("a-token", "password", b"abc123"))
            .await
            .unwrap();
        cluster
            .until("a", "name the key", |site: &Site| {
                ready_message(site).contains("the Secret default/a-token has no key `token`")
            })
            .await
            .unwrap();
        running.stop().await;
    }
}
