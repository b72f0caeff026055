//! Compares how a kubeconfig is read with kubectl itself.
//!
//! `PILOTHOUSE_KUBECTL` names programs, separated as in `PATH`. The first one is used, the newest, because kubeconfigs
//! got new fields over time. Without the variable, the test uses the one in `PATH`.

use std::{
    env,
    ffi::OsString,
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

use super::{
    tests::{Home, kubeconfig},
    *,
};
use secrecy::ExposeSecret;

fn newest_kubectl() -> Option<PathBuf> {
    let named = env::var_os("PILOTHOUSE_KUBECTL").filter(|named| !named.is_empty());
    let found = match named {
        Some(named) => env::split_paths(&named).next(),
        None => env::split_paths(&env::var_os("PATH").unwrap_or_default())
            .map(|folder| folder.join("kubectl"))
            .find(|kubectl| kubectl.is_file()),
    };
    if found.is_none() {
        // The test harness hides the output of `println!` if a test passes.
        let told = "skipped: kubeconfigs as kubectl reads them: there is no kubectl on the PATH or in PILOTHOUSE_KUBECTL\n";
        std::io::stderr().write_all(told.as_bytes()).unwrap();
    }
    found
}

fn kubectl(program: &Path, files: &OsString, home: &Home, arguments: &[&str]) -> Output {
    Command::new(program)
        .args(arguments)
        .env("KUBECONFIG", files)
        .env("HOME", home.folder.path())
        .env_remove("KUBERNETES_SERVICE_HOST")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Everything that a configuration says, with its secrets.
fn meaning(config: &Config) -> Vec<(&'static str, String)> {
    let credentials = match &config.credentials {
        Credentials::Token(token) => format!("token {}", token.expose_secret()),
        Credentials::Basic { username, password } => {
            format!("basic {username} {}", password.expose_secret())
        }
        Credentials::Exec(exec) => {
            let env: Vec<_> = exec
                .env
                .iter()
                .map(|(name, value)| (name, value.expose_secret()))
                .collect();
            format!(
                "{exec:?} {:?} {env:?} {:?} {:?}",
                exec.args, exec.install_hint, exec.cluster_config
            )
        }
        other => format!("{other:?}"),
    };
    let roots = config.tls.roots.as_ref();
    let identity = config.tls.identity.as_ref();
    let identity =
        identity.map(|identity| (&identity.certificate.text, identity.key.expose_secret()));
    vec![
        ("url", config.url.to_string()),
        ("namespace", config.default_namespace.clone()),
        ("credentials", credentials),
        (
            "first token",
            format!(
                "{:?}",
                config.first_token.as_ref().map(ExposeSecret::expose_secret)
            ),
        ),
        ("impersonation", format!("{:?}", config.impersonation)),
        ("roots", format!("{:?}", roots.map(|roots| &roots.pem.text))),
        ("identity", format!("{identity:?}")),
        ("server name", format!("{:?}", config.tls.server_name)),
        ("insecure", format!("{:?}", config.tls.insecure)),
        (
            "proxy",
            format!("{:?}", config.proxy.as_ref().map(ToString::to_string)),
        ),
    ]
}

/// Files, the names of those in `KUBECONFIG` in their order, and the requested context.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str], Option<&'a str>);

const CASES: &[Case<'_>] = &[
    // If several entries have the same name, the first one is used as a whole. Empty entries and missing files are skipped.
    (
        &[
            (
                "one",
                "current-context: ''\nclusters: [{name: c, cluster: {server: 'https://one'}}]\nusers: null",
            ),
            (
                "two",
                "apiVersion: v1\nkind: Config\npreferences: {colors: true}\ncurrent-context: x\nunknown: [1]\ncontexts: [{name: x, context: {cluster: c, user: u, namespace: two, odd: 1}}]\nclusters: [{name: c, cluster: {server: 'https://two', tls-server-name: two, insecure-skip-tls-verify: true}}]",
            ),
            (
                "three",
                "current-context: z\ncontexts: [{name: x, context: {cluster: other}}]\nusers: [{name: u, user: {token: three}}]",
            ),
        ],
        &["", "missing", "one", "two", "", "three", "two"],
        None,
    ),
    // Paths are relative to the file that contains them.
    (
        &[
            (
                "a/k",
                "contexts: [{name: x, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {client-certificate: crt, client-key: ../b/key, as: jane, as-uid: '7', as-groups: [g, h], as-user-extra: {k: [v, w]}}}]",
            ),
            (
                "b/k",
                "clusters: [{name: c, cluster: {server: 'https://host:6443/prefix/', certificate-authority: ca, proxy-url: 'socks5://p:1'}}]",
            ),
            ("a/crt", "the certificate"),
            ("b/key", "the key"),
            ("b/ca", "the authority"),
        ],
        &["a/k", "b/k"],
        Some("x"),
    ),
    // A byte order mark, further documents, comments, JSON within YAML, Go's booleans.
    (
        &[(
            "k",
            "\u{feff}# mine\n---\ncurrent-context: x\ncontexts:\n- {\"name\": \"x\", \"context\": {\"cluster\": \"c\", \"user\": \"u\"}}\nclusters:\n- name: c\n  cluster:\n    server: https://c\n    insecure-skip-tls-verify: yes\nusers:\n- name: u\n  user:\n    username: me\n    password: \"p\"\n---\ncurrent-context: z\n",
        )],
        &["k"],
        None,
    ),
    // A plugin beside the file, with all its settings.
    (
        &[(
            "k",
            "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: 'https://c', extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: a}}]}}]\nusers: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: bin/plugin, args: [a, b], env: [{name: A, value: b}], installHint: hint, provideClusterInfo: true}}}]",
        )],
        &["k"],
        None,
    ),
    // A token, and a file that may exist later.
    (
        &[(
            "k",
            "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u, namespace: ''}}]\nclusters: [{name: c, cluster: {server: 'host:6443', certificate-authority-data: Y2E=}}]\nusers: [{name: u, user: {token: t, tokenFile: later, unknown: {a: b}}}]",
        )],
        &["k"],
        None,
    ),
];

#[tokio::test]
async fn several_files_are_merged_as_kubectl_does() {
    if let Some(program) = newest_kubectl() {
        for (files, list, context) in CASES {
            let mut home = Home::new(files);
            let list = list.iter().map(|name| match *name {
                "" => PathBuf::new(),
                name => home.path(name),
            });
            let list = env::join_paths(list).unwrap();
            let mut arguments = vec!["config", "view", "--raw", "--minify", "--flatten"];
            arguments.extend(context.iter().flat_map(|context| ["--context", context]));
            let output = kubectl(&program, &list, &home, &arguments);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {said}", program.display());
            std::fs::write(home.path("flat"), &output.stdout).unwrap();
            let flat = KubeconfigOptions {
                path: Some(home.path("flat")),
                ..KubeconfigOptions::default()
            };
            let expected = home.load(&flat).await.unwrap();
            home.around.kubeconfig = Some(list);
            let options = KubeconfigOptions {
                context: context.map(str::to_owned),
                ..KubeconfigOptions::default()
            };
            let loaded = home.load(&options).await.unwrap();
            assert_eq!(
                meaning(&loaded),
                meaning(&expected),
                "{}",
                program.display()
            );
        }
    }
}

#[tokio::test]
async fn the_same_kubeconfigs_are_accepted_and_refused_as_by_kubectl() {
    const SERVER: &str = "server: 'https://127.0.0.1:1'";
    const EXEC: &str = "apiVersion: client.authentication.k8s.io/v1, command: no-such-plugin";
    let ours = |user: &str| kubeconfig(SERVER, user);
    let cluster = |more: &str| kubeconfig(&format!("{SERVER}, {more}"), "token: t");
    let taken = [
        ours("token: t"),
        ours("token: t, tokenFile: later"),
        ours("tokenFile: beside/token"),
        ours("username: me"),
        ours(&format!(
            "token: t, exec: {{{EXEC}, interactiveMode: Never}}"
        )),
        format!("kind: Config\n{}", ours("token: t")),
        format!("# one\n{}---\nwhatever: [1]\n", ours("token: t")),
        kubeconfig("server: '127.0.0.1:1'", "token: t"),
        cluster("tls-server-name: a"),
    ];
    let refused = [
        format!("kind: Other\n{}", ours("token: t")),
        format!("apiVersion: v2\nkind: Config\n{}", ours("token: t")),
        "clusters: [{name: c}, {name: c}]".to_owned(),
        ours("token: [t]"),
        ours("token: t, username: me"),
        ours("tokenFile: later"),
        ours("token: t, as-groups: [g]"),
        ours("client-certificate: k, client-certificate-data: aa==, client-key: k"),
        ours("client-certificate: k"),
        ours(&format!("exec: {{{EXEC}}}")),
        ours("exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}"),
        ours("auth-provider: {name: gcp}"),
        cluster("certificate-authority: k, certificate-authority-data: aGE="),
        cluster("certificate-authority: missing"),
        cluster("proxy-url: 'ftp://proxy'"),
        "users: [".to_owned(),
    ];
    if let Some(program) = newest_kubectl() {
        for (text, expected) in taken
            .iter()
            .map(|text| (text, true))
            .chain(refused.iter().map(|text| (text, false)))
        {
            let mut home = Home::new(&[("k", text), ("beside/token", "t")]);
            let file = home.path("k").into_os_string();
            let output = kubectl(&program, &file, &home, &["get", "--raw", "/version"]);
            let said = String::from_utf8_lossy(&output.stderr);
            let reached = said.contains("127.0.0.1:1 was refused");
            assert_eq!(reached, expected, "{} of {text}: {said}", program.display());
            home.around.kubeconfig = Some(file);
            let loaded = home.load(&KubeconfigOptions::default()).await;
            assert_eq!(loaded.is_ok(), expected, "{text}: {loaded:?}");
        }
    }
}

#[tokio::test]
async fn options_choose_the_same_cluster_and_user_as_kubectl() {
    const FILE: &str = "current-context: one
contexts: [{name: one, context: {cluster: a, user: u}}, {name: two, context: {cluster: b, user: v}}, {name: bare, context: {}}]
clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}, {name: b, cluster: {server: 'https://127.0.0.1:2'}}]
users: [{name: u, user: {token: t, as: ursula}}, {name: v, user: {token: t, as: vera}}]";
    let Some(program) = newest_kubectl() else {
        return;
    };
    let without_choice = FILE.split_once('\n').unwrap().1;
    for (text, context, cluster, user) in [
        (FILE, None, None, None),
        (FILE, Some("two"), None, None),
        (FILE, None, Some("b"), None),
        (FILE, None, None, Some("v")),
        (FILE, Some("two"), Some("a"), None),
        (FILE, Some("two"), Some("a"), Some("u")),
        (FILE, Some("bare"), Some("b"), Some("u")),
        (FILE, Some("three"), None, None),
        (FILE, None, Some("c"), None),
        (FILE, None, None, Some("w")),
        (FILE, Some("bare"), None, Some("u")),
        // Without a user kubectl asks for one, and client-go continues without credentials. So does this code.
        (without_choice, None, Some("b"), Some("v")),
    ] {
        let home = Home::new(&[("k", text)]);
        let path = home.path("k");
        let mut arguments = vec!["get", "--raw", "/version", "-v=8"];
        let given = [
            ("--context", context),
            ("--cluster", cluster),
            ("--user", user),
        ];
        arguments.extend(
            given
                .iter()
                .filter_map(|(flag, name)| Some([*flag, (*name)?]))
                .flatten(),
        );
        let file = path.clone().into_os_string();
        let output = kubectl(&program, &file, &home, &arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        let server = ["127.0.0.1:1", "127.0.0.1:2"]
            .into_iter()
            .find(|server| said.contains(&format!("{server} was refused")));
        let whom = ["ursula", "vera"]
            .into_iter()
            .find(|whom| said.contains(&format!("Impersonate-User: {whom}")));
        let options = KubeconfigOptions {
            path: Some(path),
            context: context.map(str::to_owned),
            cluster: cluster.map(str::to_owned),
            user: user.map(str::to_owned),
        };
        let loaded = home.load(&options).await;
        let told = format!("{context:?} {cluster:?} {user:?}: {loaded:?}, and kubectl: {said}");
        assert_eq!(loaded.is_ok(), server.is_some(), "{told}");
        if let (Ok(config), Some(server)) = (loaded, server) {
            assert_eq!(
                config.url().to_string(),
                format!("https://{server}/"),
                "{told}"
            );
            let ours = config.impersonation.map(|whom| whom.user);
            assert_eq!(ours.as_deref(), whom, "{told}");
        }
    }
}

#[tokio::test]
async fn a_file_that_powershell_wrote_is_read() {
    let text = kubeconfig("server: 'https://host'", "token: t");
    let home = Home::new(&[]);
    for (mark, bytes) in [
        (0xfeff_u16, u16::to_le_bytes as fn(u16) -> [u8; 2]),
        (0xfeff, u16::to_be_bytes),
    ] {
        let units = std::iter::once(mark).chain(text.encode_utf16());
        let written: Vec<u8> = units.flat_map(bytes).collect();
        std::fs::write(home.path("k"), written).unwrap();
        let options = KubeconfigOptions {
            path: Some(home.path("k")),
            ..KubeconfigOptions::default()
        };
        assert_eq!(home.load(&options).await.unwrap().url(), "https://host/");
    }
}
