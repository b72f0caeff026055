use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use secrecy::SecretString;
use serde::{Deserialize, Deserializer};

use super::ConfigError;
use crate::resource::yaml::{self, Problem, YamlError};

/// A kubeconfig, or several of them merged. Unknown fields are ignored, as by kubectl.
#[derive(Default)]
pub(super) struct Kubeconfig {
    pub(super) current_context: Option<String>,
    pub(super) contexts: Vec<Entry<Context>>,
    pub(super) clusters: Vec<Entry<Cluster>>,
    pub(super) users: Vec<Entry<User>>,
}

/// A named entry, and the file that contains it.
pub(super) struct Entry<T> {
    pub(super) name: String,
    pub(super) file: Arc<Path>,
    pub(super) value: T,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Context {
    pub(super) cluster: Option<String>,
    pub(super) user: Option<String>,
    pub(super) namespace: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Cluster {
    pub(super) server: Option<String>,
    pub(super) tls_server_name: Option<String>,
    pub(super) insecure_skip_tls_verify: Option<bool>,
    pub(super) certificate_authority: Option<String>,
    pub(super) certificate_authority_data: Option<String>,
    pub(super) proxy_url: Option<String>,
    pub(super) disable_compression: Option<bool>,
    pub(super) extensions: Option<Vec<Extension>>,
}

/// Data of other programs in a kubeconfig. One kind configures credential plugins for a cluster.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Extension {
    pub(super) name: String,
    pub(super) extension: Option<serde_json::Value>,
}

/// A credential plugin.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Exec {
    pub(super) api_version: Option<String>,
    pub(super) command: Option<String>,
    pub(super) args: Option<Vec<String>>,
    pub(super) env: Option<Vec<ExecVariable>>,
    pub(super) install_hint: Option<String>,
    pub(super) provide_cluster_info: Option<bool>,
    pub(super) interactive_mode: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ExecVariable {
    pub(super) name: String,
    #[serde(default, deserialize_with = "secret")]
    pub(super) value: Option<SecretString>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct User {
    #[serde(deserialize_with = "secret")]
    pub(super) token: Option<SecretString>,
    #[serde(rename = "tokenFile")]
    pub(super) token_file: Option<String>,
    pub(super) username: Option<String>,
    #[serde(deserialize_with = "secret")]
    pub(super) password: Option<SecretString>,
    pub(super) client_certificate: Option<String>,
    pub(super) client_certificate_data: Option<String>,
    pub(super) client_key: Option<String>,
    #[serde(deserialize_with = "secret")]
    pub(super) client_key_data: Option<SecretString>,
    pub(super) exec: Option<Exec>,
    pub(super) auth_provider: Option<AuthProvider>,
    #[serde(rename = "as")]
    pub(super) impersonate: Option<String>,
    #[serde(rename = "as-uid")]
    pub(super) impersonate_uid: Option<String>,
    #[serde(rename = "as-groups")]
    pub(super) impersonate_groups: Option<Vec<String>>,
    #[serde(rename = "as-user-extra")]
    pub(super) impersonate_extra: Option<BTreeMap<String, Vec<String>>>,
}

/// The old way of kubectl to authenticate. Read only to report what to use instead.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct AuthProvider {
    pub(super) name: Option<String>,
}

fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SecretString>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(SecretString::from))
}

/// The form of the file.
#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", default)]
struct File {
    #[serde(rename = "apiVersion")]
    api_version: Option<String>,
    kind: Option<String>,
    current_context: Option<String>,
    contexts: Option<Vec<NamedContext>>,
    clusters: Option<Vec<NamedCluster>>,
    users: Option<Vec<NamedUser>>,
}

#[derive(Deserialize)]
struct NamedContext {
    #[serde(default)]
    name: String,
    #[serde(default)]
    context: Option<Context>,
}

#[derive(Deserialize)]
struct NamedCluster {
    #[serde(default)]
    name: String,
    #[serde(default)]
    cluster: Option<Cluster>,
}

#[derive(Deserialize)]
struct NamedUser {
    #[serde(default)]
    name: String,
    #[serde(default)]
    user: Option<User>,
}

impl Kubeconfig {
    /// Reads the kubeconfig in `text`, the content of `file`.
    pub(super) fn parse(text: &str, file: &Path) -> Result<Self, ConfigError> {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let parsed = first_document(text).map_err(|error| {
            let place = error.place();
            let problem = match &error.problem {
                Problem::Duplicate => {
                    "a key stands there for the second time: remove one of them".to_owned()
                }
                problem => problem.to_string(),
            };
            ConfigError::new(format!(
                "kubeconfig {} cannot be read (line {}, column {}): {problem}",
                file.display(),
                place.line,
                place.column
            ))
        })?;
        let is = |given: &Option<String>, expected: &str| {
            let given = given.as_deref().unwrap_or_default();
            given.is_empty() || given == expected
        };
        if !is(&parsed.api_version, "v1") || !is(&parsed.kind, "Config") {
            return Err(ConfigError::new(format!(
                "{} is not a kubeconfig: its apiVersion and kind must be v1 and Config",
                file.display()
            )));
        }
        let file: Arc<Path> = file.into();
        let contexts = parsed.contexts.unwrap_or_default().into_iter();
        let clusters = parsed.clusters.unwrap_or_default().into_iter();
        let users = parsed.users.unwrap_or_default().into_iter();
        let contexts = contexts.map(|entry| Entry::new(entry.name, &file, entry.context));
        let clusters = clusters.map(|entry| Entry::new(entry.name, &file, entry.cluster));
        let users = users.map(|entry| Entry::new(entry.name, &file, entry.user));
        Ok(Self {
            current_context: parsed.current_context.filter(|name| !name.is_empty()),
            contexts: each_once(contexts, "context")?,
            clusters: each_once(clusters, "cluster")?,
            users: each_once(users, "user")?,
        })
    }

    /// Adds entries of `other` that this one lacks. If both have an entry of one name, this one's stays, as with
    /// kubectl.
    pub(super) fn merge(&mut self, other: Self) {
        if self.current_context.is_none() {
            self.current_context = other.current_context;
        }
        add(&mut self.contexts, other.contexts);
        add(&mut self.clusters, other.clusters);
        add(&mut self.users, other.users);
    }
}

/// Reads the first document and ignores further ones, as kubectl does.
fn first_document(text: &str) -> Result<File, YamlError> {
    let end = text
        .match_indices("\n---")
        .filter(|(at, mark)| {
            let rest = text.get(at + mark.len()..).unwrap_or_default();
            rest.is_empty() || rest.starts_with(char::is_whitespace)
        })
        .map(|(at, _)| at + 1)
        .find(|at| has_content(text.get(..*at).unwrap_or_default()));
    let first = end.and_then(|end| text.get(..end)).unwrap_or(text);
    yaml::from_str(first)
}

/// Whether there is more than comments and the mark at the beginning of a document.
fn has_content(yaml: &str) -> bool {
    yaml.lines().any(|line| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#') && !line.starts_with("---")
    })
}

/// The entries. Fails if a name occurs twice.
fn each_once<T>(
    entries: impl Iterator<Item = Entry<T>>,
    what: &str,
) -> Result<Vec<Entry<T>>, ConfigError> {
    let mut known = Vec::new();
    for entry in entries {
        if find(&known, &entry.name).is_some() {
            return Err(ConfigError::new(format!(
                "kubeconfig {} names {what} \"{}\" twice: remove one of them",
                entry.file.display(),
                entry.name
            )));
        }
        known.push(entry);
    }
    Ok(known)
}

/// The entry of that name.
pub(super) fn find<'a, T>(entries: &'a [Entry<T>], name: &str) -> Option<&'a Entry<T>> {
    entries.iter().find(|entry| entry.name == name)
}

fn add<T>(present: &mut Vec<Entry<T>>, more: Vec<Entry<T>>) {
    for entry in more {
        if find(present, &entry.name).is_none() {
            present.push(entry);
        }
    }
}

impl<T: Default> Entry<T> {
    fn new(name: String, file: &Arc<Path>, value: Option<T>) -> Self {
        Self {
            name,
            file: file.clone(),
            value: value.unwrap_or_default(),
        }
    }
}

impl<T> Entry<T> {
    /// `path` relative to the folder of this entry's file.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        match self.file.parent() {
            Some(folder) => folder.join(path),
            None => path.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_files_wins() {
        let parse = |text: &str, file: &str| Kubeconfig::parse(text, Path::new(file)).unwrap();
        let mut merged = parse(
            "\u{feff}current-context: ''\nclusters: [{name: c, cluster: {server: https://one}}]\nusers: null",
            "/a/one",
        );
        merged.merge(parse(
            "current-context: x\nunknown: [1]\nclusters: [{name: c, cluster: {server: https://two}}, {name: d, cluster: {server: https://d, certificate-authority: ca.crt}}]",
            "/b/two",
        ));
        merged.merge(parse("", "/c/empty"));
        assert_eq!(merged.current_context.as_deref(), Some("x"));
        let [c, d] = &merged.clusters[..] else {
            panic!()
        };
        assert_eq!(c.value.server.as_deref(), Some("https://one"));
        assert_eq!(d.path("ca.crt"), Path::new("/b/ca.crt"));
        assert_eq!(d.path("/etc/ca.crt"), Path::new("/etc/ca.crt"));
    }

    #[test]
    fn an_invalid_kubeconfig_is_reported_without_its_content() {
        let text = "users:\n- name: a\n  user:\n    token: [hunter2]\n";
        let error = Kubeconfig::parse(text, Path::new("/k"))
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.starts_with("kubeconfig /k cannot be read (line 4, column "),
            "{error}"
        );
        assert!(!error.contains("hunter2"), "{error}");
    }

    /// kubectl takes the last one without a message.
    #[test]
    fn a_duplicate_key_is_reported() {
        let text = "users:\n- name: a\n  user:\n    token: hunter2\n    token: hunter3\n";
        let error = Kubeconfig::parse(text, Path::new("/k")).err().unwrap();
        assert_eq!(
            error.to_string(),
            "kubeconfig /k cannot be read (line 5, column 5): a key stands there for the second time: remove one of them"
        );
    }
}
