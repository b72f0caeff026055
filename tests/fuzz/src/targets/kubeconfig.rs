//! Checks that a kubeconfig with any text gives a configuration or an error, and that neither shows a secret.

use pilothouse::client::{Client, Config};

use crate::answers::runtime;

/// The value of tokens and passwords in the seeds.
const SECRET: &str = "hunter2";

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let config = runtime().block_on(Config::from_yaml(text));
    let shown = match &config {
        Ok(config) => format!("{config:?}"),
        Err(error) => format!("{error} {error:?}"),
    };
    let mut others = text.to_owned();
    for key in ["token", "password", "client-key-data"] {
        others = others.replace(&format!("{key}: {SECRET}"), "");
    }
    if !others.contains(SECRET) {
        assert!(!shown.contains(SECRET), "{shown}");
    }
    let Ok(config) = config else {
        return;
    };
    assert!(
        config.url().host().is_some_and(|host| !host.is_empty()),
        "{shown}"
    );
    assert!(!config.default_namespace().is_empty());
    let _guard = runtime().enter();
    if let Err(error) = Client::new(config) {
        assert!(
            others.contains(SECRET) || !error.to_string().contains(SECRET),
            "{error}"
        );
    }
}
