//! Fills the Secrets of the type `kubernetes.io/service-account-token` as the token controller of a cluster does: with the token of the account, the
//! certificate authority and the namespace. A Secret whose account does not exist is deleted.

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::feed::{Feed, FeedEvent};
use crate::api::{DeleteOptions, Handle, issue_for_secret};
use crate::core::Core;
use crate::meta;
use crate::registry::GroupResource;

const TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT: &str = "kubernetes.io/service-account.name";
const UID: &str = "kubernetes.io/service-account.uid";

fn secrets() -> GroupResource {
    GroupResource::new("", "secrets")
}

fn accounts() -> GroupResource {
    GroupResource::new("", "serviceaccounts")
}

/// A namespace and a name.
type Place = (String, String);

/// Works until the future is dropped.
pub(crate) async fn fill(core: Arc<Core>) {
    let handle = Handle::new(&core, "tokens-controller");
    let mut feed = Feed::new(&handle, Some(vec![secrets(), accounts()]));
    let mut authority = core.root_ca.subscribe();
    let mut known: BTreeSet<Place> = BTreeSet::new();
    loop {
        // Each branch may be cancelled: the feed loses nothing, and a change of the authority stays unseen.
        let events = tokio::select! {
            events = feed.next() => Some(events),
            _ = authority.changed() => None,
        };
        let concerned = match events {
            Some(events) => concerned(&events, &mut known),
            None => known.clone(),
        };
        for (namespace, name) in concerned {
            sync(&handle, &namespace, &name);
        }
    }
}

/// The Secrets to look at after these events. `known` are all of the type.
fn concerned(events: &[FeedEvent], known: &mut BTreeSet<Place>) -> BTreeSet<Place> {
    let mut found = BTreeSet::new();
    for event in events {
        let (resource, object, exists) = match event {
            FeedEvent::Put { resource, object } => (resource, object.value(), true),
            FeedEvent::Gone { resource, object } => (resource, object.value(), false),
            FeedEvent::Kinds => continue,
        };
        let namespace = meta::text(&object, "namespace").to_owned();
        if *resource == accounts() {
            let here = known.iter().filter(|(place, _)| *place == namespace);
            found.extend(here.cloned());
        } else if object["type"] == TYPE {
            let place = (namespace, meta::name(&object).to_owned());
            if exists {
                known.insert(place.clone());
                found.insert(place);
            } else {
                known.remove(&place);
            }
        }
    }
    found
}

/// Gives a Secret what it lacks, or deletes it.
fn sync(handle: &Handle, namespace: &str, name: &str) {
    let Some(secret) = handle.get(&secrets(), Some(namespace), name) else {
        return;
    };
    if secret["type"] != TYPE || meta::is_deleting(&secret) {
        return;
    }
    let note = |key: &str| secret["metadata"]["annotations"][key].as_str();
    let account = handle.get(&accounts(), Some(namespace), note(ACCOUNT).unwrap_or(""));
    let account = account.filter(|account| note(UID).is_none_or(|uid| uid == meta::uid(account)));
    let Some(account) = account else {
        let options = DeleteOptions {
            uid: Some(meta::uid(&secret).to_owned()),
            ..DeleteOptions::default()
        };
        // An error means that it is gone already.
        let _ = handle.delete(&secrets(), Some(namespace), name, &options);
        return;
    };
    let authority = STANDARD.encode(&*handle.core().root_ca.borrow());
    let place = STANDARD.encode(namespace);
    let token = &secret["data"]["token"];
    let has_token = token.as_str().is_some_and(|token| !token.is_empty());
    if has_token && secret["data"]["ca.crt"] == authority && secret["data"]["namespace"] == place {
        return;
    }
    let token = match has_token {
        true => token.clone(),
        false => {
            let token = issue_for_secret(handle.core(), &account, &secret);
            json!(STANDARD.encode(token.unwrap_or_default()))
        }
    };
    let uid = meta::uid(&secret);
    let filled = handle.update(
        &secrets(),
        Some(namespace),
        name,
        "",
        |secret: &mut Value| {
            // Another Secret may have the name by now.
            if meta::uid(secret) == uid {
                secret["metadata"]["annotations"][UID] = json!(meta::uid(&account));
                secret["data"]["token"] = token.clone();
                secret["data"]["ca.crt"] = json!(authority);
                secret["data"]["namespace"] = json!(place);
            }
        },
    );
    if let Err(error) = filled {
        tracing::debug!(%namespace, %name, %error, "the sandbox cannot fill the Secret with a token");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Sandbox;

    fn object(name: &str) -> Value {
        json!({"metadata": {"name": name, "namespace": "default"}})
    }

    fn token_of(handle: &Handle, name: &str) -> Option<String> {
        let secret = handle.get(&secrets(), Some("default"), name)?;
        let token = STANDARD.decode(secret["data"]["token"].as_str()?).unwrap();
        Some(String::from_utf8(token).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_gets_the_token_of_its_account_and_ends_with_it() {
        let sandbox = Sandbox::builder().seed(1).simulator(true).build().unwrap();
        let core = sandbox.core();
        let handle = Handle::new(core, "test");
        let pass = || tokio::time::sleep(Duration::from_secs(1));
        let review = |token: &str| {
            core.tokens
                .review(token, &[], (&core.store, core.clock.now()))
        };
        handle.create(&accounts(), object("till")).unwrap();
        for (name, account) in [("own", "till"), ("second", "till"), ("stray", "nobody")] {
            let mut secret = object(name);
            secret["type"] = json!(TYPE);
            secret["metadata"]["annotations"] = json!({ACCOUNT: account});
            handle.create(&secrets(), secret).unwrap();
        }
        pass().await;
        assert!(handle.get(&secrets(), Some("default"), "stray").is_none());
        let secret = handle.get(&secrets(), Some("default"), "own").unwrap();
        assert_eq!(secret["data"]["namespace"], STANDARD.encode("default"));
        assert!(secret["data"]["ca.crt"].is_string());
        let account = handle.get(&accounts(), Some("default"), "till").unwrap();
        assert_eq!(secret["metadata"]["annotations"][UID], meta::uid(&account));
        let token = token_of(&handle, "own").unwrap();
        let (user, _) = review(&token).unwrap();
        assert_eq!(user.name, "system:serviceaccount:default:till");
        let options = DeleteOptions::default();
        handle
            .delete(&secrets(), Some("default"), "own", &options)
            .unwrap();
        assert!(review(&token).is_err(), "the Secret is gone");
        let token = token_of(&handle, "second").unwrap();
        assert!(review(&token).is_ok());
        handle
            .delete(&accounts(), Some("default"), "till", &options)
            .unwrap();
        assert!(review(&token).is_err(), "the account is gone");
        pass().await;
        assert!(handle.get(&secrets(), Some("default"), "second").is_none());
    }
}
