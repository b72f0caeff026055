//! The identity of the client.

use std::{fs, os::unix::fs::PermissionsExt};

use pilothouse::{
    client::{Api, Client, Config, Credentials, ExecConfig, Impersonation, PostParams},
    k8s::api::authentication::v1::{SelfSubjectReview, UserInfo},
};

use crate::target::Target;

async fn who(config: Config) -> UserInfo {
    let client = Client::new(config).unwrap();
    let reviews = Api::<SelfSubjectReview>::all(&client);
    let (params, review) = (PostParams::default(), SelfSubjectReview::default());
    let review = reviews.create(&params, &review).await.unwrap();
    review.status.unwrap().user_info.unwrap()
}

/// Returns the token in the kubeconfig.
fn token(target: &Target) -> String {
    let line = target.kubeconfig.lines().find_map(|line| line.trim().strip_prefix("token: "));
    line.unwrap().trim_matches('"').to_owned()
}

pub(crate) async fn tokens_from_a_file_an_executable_and_the_configuration_work(
    target: &Target,
) {
    let token = token(target);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, format!("{token}\n")).unwrap();
    let plugin = folder.path().join("plugin");
    let credential = format!(
        r#"{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"{token}"}}}}"#
    );
    fs::write(&plugin, format!("#!/bin/sh\nprintf '%s' '{credential}'\n")).unwrap();
    fs::set_permissions(&plugin, fs::Permissions::from_mode(0o755)).unwrap();
    let config = target.config_with_token().await;
    let plain = who(config.clone().with_token(token)).await;
    assert!(plain.groups.as_ref().unwrap().contains(&"system:masters".into()), "{plain:?}");
    assert_eq!(who(config.clone().with_token_file(&file)).await, plain);
    let exec = Credentials::Exec(ExecConfig::new(&plugin));
    assert_eq!(who(config.with_credentials(exec)).await, plain);
}

pub(crate) async fn someone_else_is_impersonated(target: &Target) {
    let somebody = Impersonation::new("jane")
        .uid("42")
        .group("sailors")
        .extra("example.com/scopes", ["deck", "50% of the hold"]);
    let user = who(target.config().await.with_impersonation(somebody)).await;
    assert_eq!(user.username.as_deref(), Some("jane"));
    assert_eq!(user.uid.as_deref(), Some("42"));
    assert_eq!(user.groups.unwrap(), ["sailors", "system:authenticated"]);
    let extra = user.extra.unwrap();
    assert_eq!(extra["example.com/scopes"], ["deck", "50% of the hold"]);
}
