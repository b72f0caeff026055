use super::{super::proxy_variables::ProxyVariables, *};
use secrecy::ExposeSecret;

/// A folder with files, and the environment of a process in it.
pub(super) struct Home {
    pub(super) folder: tempfile::TempDir,
    pub(super) around: Environment,
}

impl Home {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let around = Environment {
            service_account: folder.path().join("account"),
            ..Environment::default()
        };
        Self { folder, around }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The configuration, or the text of the error, in which `~` stands for the folder.
    pub(super) async fn load(&self, options: &KubeconfigOptions) -> Result<Config, String> {
        let folder = self.folder.path().display().to_string();
        infer(options, &self.around)
            .await
            .map_err(|error| error.to_string().replace(&folder, "~"))
    }

    /// What is wrong with the kubeconfig `k`.
    async fn wrong(text: &str) -> String {
        let home = Self::new(&[("k", text), ("empty", "")]);
        let options = KubeconfigOptions {
            path: Some(home.path("k")),
            ..KubeconfigOptions::default()
        };
        home.load(&options).await.expect_err(text)
    }
}

fn none_given() -> KubeconfigOptions {
    KubeconfigOptions::default()
}

/// A kubeconfig with one cluster and one user.
pub(super) fn kubeconfig(cluster: &str, user: &str) -> String {
    format!(
        "current-context: x\ncontexts: [{{name: x, context: {{cluster: c, user: u, namespace: team}}}}]\nclusters: [{{name: c, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
    )
}

const SERVER: &str = "server: 'https://host:6443'";

#[tokio::test]
async fn an_invalid_kubeconfig_is_reported_in_one_line() {
    let server = |more: &str| kubeconfig(&format!("{SERVER}, {more}"), "");
    let user = |user: &str| kubeconfig(SERVER, user);
    let table = [
        (
            String::new(),
            "kubeconfig ~/k has no current-context: choose one with `kubectl config use-context`",
        ),
        (
            "current-context: y\ncontexts: [{name: a, context: {}}, {name: b, context: {}}]".into(),
            "kubeconfig ~/k has no context \"y\": it has a, b",
        ),
        (
            "current-context: y".into(),
            "kubeconfig ~/k has no context \"y\": it has none",
        ),
        (
            "current-context: x\ncontexts: [{name: x, context: {user: u}}]".into(),
            "kubeconfig ~/k: the context names no cluster: add `cluster` to it",
        ),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]".into(),
            "context \"x\" in ~/k names cluster \"c\", which is not defined in kubeconfig ~/k",
        ),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: 'https://h'}}]".into(),
            "context \"x\" in ~/k names user \"u\", which is not defined in kubeconfig ~/k",
        ),
        (
            kubeconfig("", ""),
            "cluster \"c\" in ~/k: `server` must be an address such as https://host:6443",
        ),
        (
            kubeconfig("server: 'http://:[:1]:8080'", ""),
            "cluster \"c\" in ~/k: `server` must be an address such as https://host:6443",
        ),
        (
            kubeconfig("server: 'https://host:https'", ""),
            "cluster \"c\" in ~/k: `server` must be an address such as https://host:6443",
        ),
        (
            kubeconfig("server: 'https://u:hunter2@host'", ""),
            "cluster \"c\" in ~/k: `server` must not hold a user name or a password: put them into the user",
        ),
        (
            server("certificate-authority: ca.crt"),
            "cluster \"c\" in ~/k: certificate-authority ~/ca.crt cannot be read: entity not found",
        ),
        (
            server("certificate-authority-data: '***'"),
            "cluster \"c\" in ~/k: certificate-authority-data is not base64: give the file's path as certificate-authority instead, or encode it",
        ),
        (
            server("proxy-url: 'me:hunter2@proxy'"),
            "proxy-url of cluster \"c\" in ~/k: a proxy's address must be a URL such as http://proxy:3128, https://proxy:443 or socks5://proxy:1080",
        ),
        (
            user("exec: {apiVersion: client.authentication.k8s.io/v1}"),
            "user \"u\" in ~/k: `exec` names no command: add `exec.command`",
        ),
        (
            user("exec: {command: aws}"),
            "user \"u\" in ~/k: `exec` has no apiVersion: add `exec.apiVersion: client.authentication.k8s.io/v1`, or the other one that the plugin speaks",
        ),
        (
            user("exec: {command: aws, apiVersion: client.authentication.k8s.io/v1alpha1}"),
            "user \"u\" in ~/k: exec.apiVersion `client.authentication.k8s.io/v1alpha1` is not supported: use client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1, and a plugin that speaks it",
        ),
        (
            user("exec: {command: aws, apiVersion: client.authentication.k8s.io/v1}"),
            "user \"u\" in ~/k: `exec` has no interactiveMode: add `exec.interactiveMode: Never`, or IfAvailable, or Always",
        ),
        (
            user(
                "exec: {command: aws, apiVersion: client.authentication.k8s.io/v1beta1, interactiveMode: No}",
            ),
            "user \"u\" in ~/k: exec.interactiveMode must be Never, IfAvailable or Always",
        ),
        (
            user("auth-provider: {name: oidc}"),
            "user \"u\" in ~/k: `auth-provider` (oidc) is not supported: use an `exec` plugin, such as kubelogin (`kubectl oidc-login`)",
        ),
        (
            user("auth-provider: {name: gcp, config: {access-token: hunter2}}"),
            "user \"u\" in ~/k: `auth-provider` (gcp) is not supported: run `gcloud container clusters get-credentials` with gke-gcloud-auth-plugin installed",
        ),
        (
            user("client-certificate: empty, client-certificate-data: aHVudGVyMg=="),
            "user \"u\" in ~/k: client-certificate and client-certificate-data are both given: remove one of them",
        ),
        (
            server("certificate-authority: empty, certificate-authority-data: Y2E="),
            "cluster \"c\" in ~/k: certificate-authority and certificate-authority-data are both given: remove one of them",
        ),
        (
            user("password: hunter2"),
            "user \"u\" in ~/k: a password without a user name: add `username`",
        ),
        (
            "users: [{name: a}, {name: b}, {name: a}]".into(),
            "kubeconfig ~/k names user \"a\" twice: remove one of them",
        ),
        (
            "apiVersion: apps/v1\nkind: Deployment".into(),
            "~/k is not a kubeconfig: its apiVersion and kind must be v1 and Config",
        ),
        (
            "users:\n- name: a\n  user: [".into(),
            "kubeconfig ~/k cannot be read (line 3, column 9): not YAML: check indentation, quotes and brackets",
        ),
        (
            user("as-groups: [admin]"),
            "user \"u\" in ~/k: `as-groups` is given without `as`: add the user to act as, or remove it",
        ),
        (
            user("tokenFile: token"),
            "user \"u\" in ~/k: tokenFile ~/token cannot be read: entity not found",
        ),
        (
            user("token: hunter2, username: me"),
            "user \"u\" in ~/k: a token and a username are given: remove one of them",
        ),
        (
            user("client-certificate: empty"),
            "user \"u\" in ~/k: a client certificate without a key: add client-key or client-key-data",
        ),
        (
            user("client-key-data: aHVudGVyMg=="),
            "user \"u\" in ~/k: a client key without a certificate: add client-certificate or client-certificate-data",
        ),
        (
            user("client-certificate: empty, client-key: none.key"),
            "user \"u\" in ~/k: client-key ~/none.key cannot be read: entity not found",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(Home::wrong(&text).await, expected);
    }
}

#[tokio::test]
async fn an_unreadable_certificate_is_reported_with_its_place() {
    let table = [
        (
            kubeconfig(&format!("{SERVER}, certificate-authority: empty"), ""),
            "the certificate authority (certificate-authority ~/empty of cluster \"c\" in ~/k) holds no readable certificate: it must be PEM, beginning with -----BEGIN CERTIFICATE-----",
        ),
        (
            kubeconfig(
                &format!(
                    "{SERVER}, certificate-authority-data: aHVudGVyMg==, insecure-skip-tls-verify: true"
                ),
                "",
            ),
            "insecure-skip-tls-verify is set and a certificate authority is given (certificate-authority-data of cluster \"c\" in ~/k): remove one of them",
        ),
        (
            kubeconfig(
                &format!("{SERVER}, insecure-skip-tls-verify: true"),
                "client-certificate: empty, client-key-data: aHVudGVyMg==",
            ),
            "the client certificate (client-certificate ~/empty of user \"u\" in ~/k) holds no readable certificate: it must be PEM, beginning with -----BEGIN CERTIFICATE-----",
        ),
    ];
    for (text, expected) in table {
        let home = Home::new(&[("k", &text), ("empty", "")]);
        let options = KubeconfigOptions {
            path: Some(home.path("k")),
            ..KubeconfigOptions::default()
        };
        let config = home.load(&options).await.unwrap();
        let error = crate::client::Client::new(config).unwrap_err().to_string();
        let folder = home.folder.path().display().to_string();
        assert_eq!(error.replace(&folder, "~"), expected);
    }
}

#[tokio::test]
async fn the_error_of_a_missing_kubeconfig_names_who_chose_it() {
    let mut home = Home::new(&[]);
    assert_eq!(
        home.load(&KubeconfigOptions::default()).await.unwrap_err(),
        "no API server is configured: set KUBECONFIG, write ~/.kube/config, or run in a pod"
    );
    home.around.kubeconfig = Some(home.path("one").into());
    assert_eq!(
        home.load(&KubeconfigOptions::default()).await.unwrap_err(),
        "KUBECONFIG names ~/one, which does not exist: correct it or unset it"
    );
    home.around.kubeconfig = Some(":".into());
    assert_eq!(
        home.load(&none_given()).await.unwrap_err(),
        "KUBECONFIG names no file: correct it or unset it"
    );
    let given = KubeconfigOptions {
        path: Some(home.path("two")),
        ..KubeconfigOptions::default()
    };
    assert_eq!(
        home.load(&given).await.unwrap_err(),
        "kubeconfig ~/two does not exist: check the path"
    );
}

#[tokio::test]
async fn the_first_available_configuration_is_used() {
    let of = |server: &str| kubeconfig(&format!("server: 'https://{server}'"), "");
    let mut home = Home::new(&[
        ("given", &of("given")),
        ("variable", &of("variable")),
        (".kube/config", &of("home")),
        ("account/token", "t"),
        ("account/ca.crt", "ca"),
        ("account/namespace", "team\n"),
    ]);
    let none = none_given();
    home.around.home = Some(home.folder.path().into());
    let host = async |home: &Home, options: &KubeconfigOptions| {
        let config = home.load(options).await.unwrap();
        config.url().host().unwrap().to_owned()
    };
    assert_eq!(host(&home, &none).await, "home");
    home.around.service_host = Some("fd00::1".into());
    home.around.service_port = Some("443".into());
    assert_eq!(host(&home, &none).await, "[fd00::1]");
    let list = [
        home.path("missing"),
        home.path("variable"),
        home.path("given"),
    ];
    home.around.kubeconfig = Some(std::env::join_paths(list).unwrap());
    assert_eq!(host(&home, &none).await, "variable");
    let given = KubeconfigOptions {
        path: Some(home.path("given")),
        ..none
    };
    assert_eq!(host(&home, &given).await, "given");
    // A pod without a service account.
    home.around.kubeconfig = None;
    std::fs::remove_file(home.path("account/token")).unwrap();
    assert_eq!(host(&home, &none_given()).await, "home");
}

#[tokio::test]
async fn a_pod_uses_its_service_account() {
    let mut home = Home::new(&[("account/token", "t"), ("account/ca.crt", "ca")]);
    home.around.service_host = Some("10.0.0.1".into());
    home.around.service_port = Some("443".into());
    let config = home.load(&KubeconfigOptions::default()).await.unwrap();
    assert_eq!(config.url(), "https://10.0.0.1:443/");
    assert_eq!(config.default_namespace(), "default");
    assert!(
        matches!(config.credentials, Credentials::TokenFile(path) if path == home.path("account/token"))
    );
    std::fs::remove_file(home.path("account/token")).unwrap();
    assert_eq!(
        home.load(&KubeconfigOptions::default()).await.unwrap_err(),
        "the pod's service account: ~/account/token cannot be read: entity not found: check automountServiceAccountToken"
    );
}

#[tokio::test]
async fn all_settings_of_user_and_cluster_are_used() {
    let text = kubeconfig(
        "server: 'https://host:6443/prefix', certificate-authority: ca.crt, tls-server-name: other",
        "token: hunter2, client-certificate-data: Y2VydA==, client-key: key",
    );
    let home = Home::new(&[("k", &text), ("ca.crt", "ca"), ("key", "the key")]);
    let options = KubeconfigOptions {
        path: Some(home.path("k")),
        ..KubeconfigOptions::default()
    };
    let config = home.load(&options).await.unwrap();
    assert_eq!(config.default_namespace(), "team");
    assert_eq!(config.tls.server_name.as_deref(), Some("other"));
    assert_eq!(config.tls.roots.as_ref().unwrap().pem.text, b"ca");
    let identity = config.tls.identity.as_ref().unwrap();
    assert_eq!(identity.certificate.text, b"cert");
    assert_eq!(identity.key.expose_secret(), "the key");
    let shown = format!("{config:?}");
    assert!(
        !shown.contains("hunter2") && !shown.contains("the key"),
        "{shown}"
    );
}

#[tokio::test]
async fn tls_is_verified_if_the_setting_to_skip_it_is_false() {
    let text = kubeconfig(&format!("{SERVER}, insecure-skip-tls-verify: false"), "");
    let home = Home::new(&[("k", &text)]);
    let options = KubeconfigOptions {
        path: Some(home.path("k")),
        ..KubeconfigOptions::default()
    };
    let config = home.load(&options).await.unwrap();
    assert!(!config.tls.insecure);
}

/// kubectl requires quotes.
#[tokio::test]
async fn a_number_is_text_where_text_is_expected() {
    for written in ["12345", "007", "0x1F", "1e3", "1_000", "true"] {
        let home = Home::new(&[("k", &kubeconfig(SERVER, &format!("token: {written}")))]);
        let options = KubeconfigOptions {
            path: Some(home.path("k")),
            ..none_given()
        };
        let config = home.load(&options).await.unwrap();
        let Credentials::Token(token) = config.credentials else {
            panic!("{written}");
        };
        assert_eq!(token.expose_secret(), written);
    }
}

#[tokio::test]
async fn a_context_may_be_chosen() {
    let text = "contexts: [{name: a, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: 'https://c'}}, {name: d, cluster: {server: 'https://d'}}]";
    let home = Home::new(&[("k", text)]);
    let options = KubeconfigOptions {
        path: Some(home.path("k")),
        context: Some("a".into()),
        cluster: Some("d".into()),
        user: None,
    };
    let config = home.load(&options).await.unwrap();
    assert_eq!(config.url(), "https://d/");
}

#[tokio::test]
async fn plugin_and_impersonation_of_a_user_are_used() {
    let text = kubeconfig(
        &format!(
            "{SERVER}, extensions: [{{name: other, extension: 1}}, {{name: client.authentication.k8s.io/exec, extension: {{audience: a}}}}]"
        ),
        "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./bin/plugin, args: [hunter2], env: [{name: A, value: hunter2}], installHint: hint, provideClusterInfo: true}, as: jane, as-uid: u, as-groups: [g], as-user-extra: {k: [v]}",
    );
    let home = Home::new(&[("k", &text)]);
    let options = KubeconfigOptions {
        path: Some(home.path("k")),
        ..KubeconfigOptions::default()
    };
    let config = home.load(&options).await.unwrap();
    let shown = format!("{config:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
    let Credentials::Exec(plugin) = config.credentials else {
        panic!("{shown}")
    };
    assert_eq!(plugin.command, home.path("./bin/plugin"));
    assert_eq!(plugin.args, ["hunter2"]);
    assert_eq!(plugin.env[0].1.expose_secret(), "hunter2");
    assert_eq!(plugin.install_hint.as_deref(), Some("hint"));
    let told = plugin.cluster_config.unwrap();
    assert_eq!(told, serde_json::json!({"audience": "a"}));
    let jane = crate::client::Impersonation::new("jane")
        .uid("u")
        .group("g")
        .extra("k", ["v"]);
    assert_eq!(config.impersonation, Some(jane));
}

#[tokio::test]
async fn a_clusters_own_proxy_replaces_that_of_the_environment() {
    let with = |proxy: &str| kubeconfig(&format!("{SERVER}{proxy}"), "");
    let mut home = Home::new(&[
        ("without", &with("")),
        ("empty", &with(", proxy-url: ''")),
        ("own", &with(", proxy-url: 'socks5://me:hunter2@own'")),
        ("account/token", "t"),
        ("account/ca.crt", "ca"),
    ]);
    home.around.service_host = Some("10.0.0.1".into());
    home.around.service_port = Some("443".into());
    let environment = |home: &mut Home, no_proxy: &'static str| {
        home.around.proxies = ProxyVariables::of(move |name| match name {
            "HTTPS_PROXY" => Some("around:3128".to_owned()),
            "NO_PROXY" => Some(no_proxy.to_owned()),
            _ => None,
        });
    };
    let proxy = async |home: &Home, file: Option<&str>| {
        let options = KubeconfigOptions {
            path: file.map(|file| home.path(file)),
            ..KubeconfigOptions::default()
        };
        let config = home.load(&options).await.unwrap();
        config.proxy().map(ToString::to_string)
    };
    for file in [Some("without"), Some("empty"), None] {
        assert_eq!(proxy(&home, file).await, None);
        environment(&mut home, "10.0.0.2");
        let around = proxy(&home, file).await;
        assert_eq!(around.as_deref(), Some("http://around:3128"));
        environment(&mut home, "10.0.0.0/8, host");
        assert_eq!(proxy(&home, file).await, None);
        home.around.proxies = ProxyVariables::default();
    }
    // The cluster's own proxy has no exceptions by the environment.
    environment(&mut home, "*");
    let own = proxy(&home, Some("own")).await;
    assert_eq!(own.as_deref(), Some("socks5://own:1080"));
}

#[tokio::test]
async fn authorities_in_files_are_remembered_with_their_place() {
    let with = |more: &str| kubeconfig(&format!("{SERVER}, {more}"), "");
    let mut home = Home::new(&[
        ("file", &with("certificate-authority: ca.crt")),
        ("data", &with("certificate-authority-data: Y2E=")),
        ("ca.crt", "ca"),
        ("account/token", "t"),
        ("account/ca.crt", "ca"),
    ]);
    home.around.service_host = Some("10.0.0.1".into());
    home.around.service_port = Some("443".into());
    let table = [
        (Some("file"), Some("ca.crt")),
        (Some("data"), None),
        (None, Some("account/ca.crt")),
    ];
    for (file, expected) in table {
        let options = KubeconfigOptions {
            path: file.map(|file| home.path(file)),
            ..KubeconfigOptions::default()
        };
        let roots = home.load(&options).await.unwrap().tls.roots.unwrap();
        assert_eq!(roots.pem.text, b"ca");
        assert_eq!(roots.file, expected.map(|file| home.path(file)));
    }
}
