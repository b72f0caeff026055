use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::api::handle::now;
use crate::api::{Target, WriteOptions, create};
use crate::core::Core;
use crate::registry::GroupResource;
use crate::store::Key;

/// The account of Pods that name none. Each namespace has it.
const DEFAULT: &str = "default";
/// The beginning of the name of the volume with the token.
const VOLUME: &str = "kube-api-access-";
/// Where containers find the token.
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// How long a mounted token is valid, in seconds: an hour, and a few seconds for its renewal.
const TOKEN_SECONDS: i64 = 3607;

/// Gives a Pod its service account, with the token and the secrets to pull images.
///
/// # Errors
/// The account does not exist.
pub(super) fn admit(core: &Core, target: &Target, pod: &mut Value) -> Result<(), String> {
    let mirrored = !pod["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_null();
    let spec = pod.get_mut("spec").and_then(Value::as_object_mut);
    let Some(spec) = spec.filter(|_| core.has_simulator && !mirrored) else {
        return Ok(());
    };
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let named = spec.get("serviceAccountName").and_then(Value::as_str);
    let named = named.filter(|name| !name.is_empty());
    let name = named.unwrap_or(DEFAULT).to_owned();
    let account = find(core, namespace, &name).ok_or_else(|| {
        format!(
            "error looking up service account {namespace}/{name}: serviceaccount {name:?} not found"
        )
    })?;
    for field in ["serviceAccountName", "serviceAccount"] {
        spec.insert(field.into(), name.as_str().into());
    }
    let own = spec.get("automountServiceAccountToken");
    let mounts = own
        .and_then(Value::as_bool)
        .or_else(|| account["automountServiceAccountToken"].as_bool());
    if mounts.unwrap_or(true) {
        mount_token(core, spec);
    }
    let secrets = spec.get("imagePullSecrets").and_then(Value::as_array);
    let of_account = account["imagePullSecrets"].as_array();
    if let Some(of_account) = of_account.filter(|_| secrets.is_none_or(Vec::is_empty)) {
        spec.insert("imagePullSecrets".into(), of_account.clone().into());
    }
    Ok(())
}

fn find(core: &Core, namespace: &str, name: &str) -> Option<Arc<Value>> {
    let accounts = GroupResource::new("", "serviceaccounts");
    let get = || core.store.get(&accounts, &Key::new(Some(namespace), name));
    // A real server waits a second for the controller that makes the default account. A Pod in a new namespace therefore finds it.
    if get().is_none() && name == DEFAULT {
        create_default(core, namespace);
    }
    get().map(|entry| entry.object)
}

/// Creates the default account of a namespace, if that can have objects. It may exist already.
pub(crate) fn create_default(core: &Core, namespace: &str) {
    let registry = core.registry();
    let Some(kind) = registry.storage("", "serviceaccounts") else {
        return;
    };
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": DEFAULT, "namespace": namespace},
    });
    let options = WriteOptions {
        manager: "service-account-controller".into(),
        ..WriteOptions::default()
    };
    let target = Target::new(kind, Some(namespace));
    match now(create(core, &target, account, &options, false)) {
        Err(error) if error.code != 409 => {
            tracing::debug!(%namespace, %error, "cannot create the default service account");
        }
        _ => {}
    }
}

/// Mounts the token into each container that has nothing else at its place.
fn mount_token(core: &Core, spec: &mut Map<String, Value>) {
    let volumes = spec.get("volumes").and_then(Value::as_array);
    let mut names = volumes
        .into_iter()
        .flatten()
        .filter_map(|volume| volume["name"].as_str());
    let known = names
        .find(|name| name.starts_with(VOLUME))
        .map(str::to_owned);
    let has = known.is_some();
    let volume = known.unwrap_or_else(|| format!("{VOLUME}{}", core.clock.suffix()));
    let mut mounted = false;
    for list in ["initContainers", "containers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let Some(container) = container.as_object_mut() else {
                continue;
            };
            let mounts = container.entry("volumeMounts").or_insert(Value::Null);
            if mounts.is_null() {
                *mounts = json!([]);
            }
            let Some(mounts) = mounts.as_array_mut() else {
                continue;
            };
            if !mounts.iter().any(|mount| mount["mountPath"] == MOUNT_PATH) {
                mounts.push(json!({"name": volume, "readOnly": true, "mountPath": MOUNT_PATH}));
                mounted = true;
            }
        }
    }
    if mounted && !has {
        let volumes = spec.entry("volumes").or_insert(Value::Null);
        if volumes.is_null() {
            *volumes = json!([]);
        }
        if let Some(volumes) = volumes.as_array_mut() {
            volumes.push(token_volume(&volume));
        }
    }
}

fn token_volume(name: &str) -> Value {
    let authority =
        json!({"name": crate::api::AUTHORITY, "items": [{"key": "ca.crt", "path": "ca.crt"}]});
    let field = json!({"apiVersion": "v1", "fieldPath": "metadata.namespace"});
    json!({"name": name, "projected": {"defaultMode": 0o644, "sources": [
        {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
        {"configMap": authority},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]}})
}
