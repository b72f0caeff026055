use std::path::Path;

use base64::{Engine, prelude::BASE64_STANDARD};
use http::Uri;
use secrecy::{ExposeSecret, SecretString};

use super::{
    Config, ConfigError, Credentials, Identity, Impersonation, KubeconfigOptions, Pem, Proxy,
    Roots, TlsConfig,
    kubeconfig::{Cluster, Context, Entry, Kubeconfig, User, find},
    port,
};

/// The configuration in `kubeconfig`, which messages call `shown`.
pub(super) async fn resolve(
    kubeconfig: &Kubeconfig,
    options: &KubeconfigOptions,
    shown: &str,
) -> Result<Config, ConfigError> {
    let context = context(kubeconfig, options, shown)?;
    let named = |own: &Option<String>, of_context: fn(&Context) -> &Option<String>| {
        let of_context = context.and_then(|context| of_context(&context.value).as_ref());
        own.as_ref()
            .or(of_context)
            .filter(|name| !name.is_empty())
            .cloned()
    };
    let by = |what: &str, name: &str| {
        let context = context.map_or_else(String::new, |context| {
            format!(
                "context \"{}\" in {} names ",
                context.name,
                context.file.display()
            )
        });
        ConfigError::new(format!(
            "{context}{what} \"{name}\", which is not defined in {shown}"
        ))
    };

    let cluster = named(&options.cluster, |context| &context.cluster).ok_or_else(|| {
        ConfigError::new(format!(
            "{shown}: the context names no cluster: add `cluster` to it"
        ))
    })?;
    let entry = find(&kubeconfig.clusters, &cluster).ok_or_else(|| by("cluster", &cluster))?;
    let cluster = &entry.value;
    let user = match named(&options.user, |context| &context.user) {
        Some(user) => Some(find(&kubeconfig.users, &user).ok_or_else(|| by("user", &user))?),
        None => None,
    };
    let has_certificate = user.is_some_and(|user| {
        is_set(&user.value.client_certificate) || is_set(&user.value.client_certificate_data)
    });
    let mut config = of_cluster(entry, has_certificate).await?;

    match user {
        Some(user) => of_user(user, cluster, &mut config).await?,
        None => config.credentials_origin = format!("{shown} names no user"),
    }
    let namespace = context.and_then(|context| context.value.namespace.clone());
    if let Some(namespace) = namespace.filter(|namespace| !namespace.is_empty()) {
        config.default_namespace = namespace;
    }
    config.context = context.map(|context| context.name.clone());
    Ok(config)
}

/// `None` if the options name everything that a context would.
fn context<'a>(
    kubeconfig: &'a Kubeconfig,
    options: &KubeconfigOptions,
    shown: &str,
) -> Result<Option<&'a Entry<Context>>, ConfigError> {
    let name = options
        .context
        .as_ref()
        .or(kubeconfig.current_context.as_ref());
    let Some(name) = name else {
        if options.cluster.is_some() {
            return Ok(None);
        }
        return Err(ConfigError::new(format!(
            "{shown} has no current-context: choose one with `kubectl config use-context`"
        )));
    };
    let found = find(&kubeconfig.contexts, name).ok_or_else(|| {
        let known: Vec<_> = kubeconfig
            .contexts
            .iter()
            .map(|entry| &*entry.name)
            .collect();
        let known = match &known[..] {
            [] => "it has none".to_owned(),
            known => format!("it has {}", known.join(", ")),
        };
        ConfigError::new(format!("{shown} has no context \"{name}\": {known}"))
    });
    found.map(Some)
}

async fn of_cluster(entry: &Entry<Cluster>, has_certificate: bool) -> Result<Config, ConfigError> {
    let cluster = &entry.value;
    let origin = format!("cluster \"{}\" in {}", entry.name, entry.file.display());
    let server = cluster.server.as_deref().unwrap_or_default();
    not_both(
        is_set(&cluster.certificate_authority) && is_set(&cluster.certificate_authority_data),
        &origin,
        "certificate-authority",
    )?;
    // client-go does the same.
    let scheme = if server.is_empty() || server.contains("://") {
        ""
    } else if is_set(&cluster.certificate_authority)
        || is_set(&cluster.certificate_authority_data)
        || cluster.insecure_skip_tls_verify == Some(true)
        || has_certificate
    {
        "https://"
    } else {
        "http://"
    };
    let url = format!("{scheme}{server}")
        .parse::<Uri>()
        .ok()
        .filter(is_server);
    let url = url.ok_or_else(|| {
        // The value may hold a password, so no message repeats it.
        ConfigError::new(format!(
            "{origin}: `server` must be an address such as https://host:6443"
        ))
    })?;
    if url
        .authority()
        .is_some_and(|host| host.as_str().contains('@'))
    {
        return Err(ConfigError::new(format!(
            "{origin}: `server` must not hold a user name or a password: put them into the user"
        )));
    }
    let roots = match (
        &cluster.certificate_authority_data,
        &cluster.certificate_authority,
    ) {
        (Some(data), _) if !data.is_empty() => Some(Roots::given(
            decode(data, "certificate-authority-data", &origin)?,
            format!("certificate-authority-data of {origin}"),
        )),
        (_, Some(path)) if !path.is_empty() => {
            let path = entry.path(path);
            let text = read(&path, "certificate-authority", &origin).await?;
            let origin = format!("certificate-authority {} of {origin}", path.display());
            Some(Roots {
                file: Some(path),
                ..Roots::given(text, origin)
            })
        }
        _ => None,
    };
    let mut config = Config::new(url);
    let is_off = cluster.disable_compression == Some(true);
    config.compression = is_off.then_some(false);
    config.proxy = match cluster.proxy_url.as_deref() {
        None | Some("") => None,
        Some(proxy) => Some(Proxy::parse(proxy, &format!("proxy-url of {origin}"))?),
    };
    config.tls = TlsConfig {
        roots,
        identity: None,
        server_name: cluster
            .tls_server_name
            .clone()
            .filter(|name| !name.is_empty()),
        insecure: cluster.insecure_skip_tls_verify == Some(true),
    };
    Ok(config)
}

/// Whether requests can be sent to this address.
fn is_server(url: &Uri) -> bool {
    let has_host = url
        .authority()
        .is_some_and(|host| !host.host().is_empty() && port(host, 443).is_some());
    has_host && matches!(url.scheme_str(), Some("http" | "https")) && url.query().is_none()
}

async fn of_user(
    entry: &Entry<User>,
    cluster: &Cluster,
    config: &mut Config,
) -> Result<(), ConfigError> {
    let user = &entry.value;
    let origin = format!("user \"{}\" in {}", entry.name, entry.file.display());
    if let Some(provider) = &user.auth_provider {
        let name = provider.name.as_deref().unwrap_or_default();
        let instead = match name {
            "gcp" => {
                "run `gcloud container clusters get-credentials` with gke-gcloud-auth-plugin installed"
            }
            "azure" => "run `kubelogin convert-kubeconfig`",
            "oidc" => "use an `exec` plugin, such as kubelogin (`kubectl oidc-login`)",
            _ => "use an `exec` plugin, a token, a token file or a client certificate",
        };
        return Err(ConfigError::new(format!(
            "{origin}: `auth-provider` ({name}) is not supported: {instead}"
        )));
    }
    not_both(
        is_set(&user.client_certificate) && is_set(&user.client_certificate_data),
        &origin,
        "client-certificate",
    )?;
    not_both(
        is_set(&user.client_key) && user.client_key_data.as_ref().is_some_and(is_some),
        &origin,
        "client-key",
    )?;
    let token = user.token.as_ref().filter(|token| is_some(token));
    let token_file = user.token_file.as_deref().filter(|path| !path.is_empty());
    let username = user.username.as_deref().filter(|name| !name.is_empty());
    config.credentials = match (token, token_file, username) {
        (None, None, None) if user.password.as_ref().is_some_and(is_some) => {
            return Err(ConfigError::new(format!(
                "{origin}: a password without a user name: add `username`"
            )));
        }
        (None, None, None) => Credentials::None,
        (None, None, Some(username)) => Credentials::Basic {
            username: username.to_owned(),
            password: user.password.clone().unwrap_or_default(),
        },
        (_, _, Some(_)) => {
            return Err(ConfigError::new(format!(
                "{origin}: a token and a username are given: remove one of them"
            )));
        }
        // The file replaces the token as soon as it can be read, as with client-go.
        (token, Some(path), None) => {
            let path = entry.path(path);
            config.first_token = token.cloned();
            if token.is_none() {
                read(&path, "tokenFile", &origin).await?;
            }
            Credentials::TokenFile(path)
        }
        (Some(token), None, None) => Credentials::Token(token.clone()),
    };
    config.tls.identity = identity(entry, &origin).await?;
    if let Some(exec) = &user.exec {
        let plugin = super::exec::resolve(exec, entry, cluster, &origin)?;
        let others = (&config.credentials, &config.tls.identity);
        match others {
            (Credentials::None, None) => config.credentials = Credentials::Exec(plugin),
            // kubectl does the same.
            _ => tracing::warn!(
                "{origin}: `exec` is not used, since the user has other credentials: remove one of them"
            ),
        }
    }
    config.impersonation = impersonation(user, &origin)?;
    config.credentials_origin = origin;
    Ok(())
}

fn impersonation(user: &User, origin: &str) -> Result<Option<Impersonation>, ConfigError> {
    let uid = user.impersonate_uid.clone().filter(|uid| !uid.is_empty());
    let groups = user.impersonate_groups.clone().unwrap_or_default();
    let extra = user.impersonate_extra.clone().unwrap_or_default();
    if let Some(name) = user.impersonate.clone().filter(|name| !name.is_empty()) {
        return Ok(Some(Impersonation {
            user: name,
            uid,
            groups,
            extra,
        }));
    }
    let given = [
        (uid.is_some(), "as-uid"),
        (!groups.is_empty(), "as-groups"),
        (!extra.is_empty(), "as-user-extra"),
    ];
    match given.into_iter().find(|(given, _)| *given) {
        Some((_, field)) => Err(ConfigError::new(format!(
            "{origin}: `{field}` is given without `as`: add the user to act as, or remove it"
        ))),
        None => Ok(None),
    }
}

async fn identity(entry: &Entry<User>, origin: &str) -> Result<Option<Identity>, ConfigError> {
    let user = &entry.value;
    let certificate = match (&user.client_certificate_data, &user.client_certificate) {
        (Some(data), _) if !data.is_empty() => {
            let pem = Pem {
                text: decode(data, "client-certificate-data", origin)?,
                origin: format!("client-certificate-data of {origin}"),
            };
            Some((pem, None))
        }
        (_, Some(path)) if !path.is_empty() => {
            let path = entry.path(path);
            let pem = Pem {
                text: read(&path, "client-certificate", origin).await?,
                origin: format!("client-certificate {} of {origin}", path.display()),
            };
            Some((pem, Some(path)))
        }
        _ => None,
    };
    let data = user.client_key_data.as_ref();
    let key = match (data, &user.client_key) {
        (Some(data), _) if !data.expose_secret().is_empty() => {
            let text = decode(data.expose_secret(), "client-key-data", origin)?;
            Some((text, format!("client-key-data of {origin}"), None))
        }
        (_, Some(path)) if !path.is_empty() => {
            let path = entry.path(path);
            let text = read(&path, "client-key", origin).await?;
            let key_origin = format!("client-key {} of {origin}", path.display());
            Some((text, key_origin, Some(path)))
        }
        _ => None,
    };
    match (certificate, key) {
        (None, None) => Ok(None),
        (Some((certificate, certificate_file)), Some((key, key_origin, key_file))) => {
            let key = String::from_utf8(key).map_err(|_| {
                ConfigError::new(format!("the client key ({key_origin}) is not PEM"))
            })?;
            Ok(Some(Identity {
                certificate,
                key: SecretString::from(key),
                key_origin,
                certificate_file,
                key_file,
            }))
        }
        (Some(_), None) => Err(ConfigError::new(format!(
            "{origin}: a client certificate without a key: add client-key or client-key-data"
        ))),
        (None, Some(_)) => Err(ConfigError::new(format!(
            "{origin}: a client key without a certificate: add client-certificate or client-certificate-data"
        ))),
    }
}

fn is_set(text: &Option<String>) -> bool {
    text.as_ref().is_some_and(|text| !text.is_empty())
}

fn is_some(secret: &SecretString) -> bool {
    !secret.expose_secret().is_empty()
}

fn not_both(both: bool, origin: &str, field: &str) -> Result<(), ConfigError> {
    if both {
        return Err(ConfigError::new(format!(
            "{origin}: {field} and {field}-data are both given: remove one of them"
        )));
    }
    Ok(())
}

fn decode(data: &str, field: &str, origin: &str) -> Result<Vec<u8>, ConfigError> {
    let compact: String = data.split_whitespace().collect();
    BASE64_STANDARD.decode(compact).map_err(|_| {
        ConfigError::new(format!(
            "{origin}: {field} is not base64: give the file's path as {} instead, or encode it",
            field.trim_end_matches("-data")
        ))
    })
}

async fn read(path: &Path, field: &str, origin: &str) -> Result<Vec<u8>, ConfigError> {
    tokio::fs::read(path).await.map_err(|error| {
        ConfigError::new(format!(
            "{origin}: {field} {} cannot be read: {}",
            path.display(),
            error.kind()
        ))
    })
}
