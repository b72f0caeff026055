use std::{path::Path, time::Duration};

use futures_util::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use rustls_pki_types::{CertificateDer, pem::PemObject};

use super::server::{Authority, OBJECT, Server, Site, json, object_at};
use crate::{
    client::{
        Api, Client, Config, Credentials, ExecConfig, ExecPolicy, ExecVersion, Impersonation,
        InteractiveMode, PostParams,
    },
    metrics::Metrics,
};

fn maps(config: Config) -> Api<ConfigMap> {
    Api::namespaced(&Client::new(config).unwrap(), "default")
}

/// A plugin that appends a line to `runs` in `folder`, and then runs `script`.
fn plugin(folder: &Path, script: &str) -> ExecConfig {
    let script = format!(
        "echo run >> runs; n=$(($(wc -l < runs))); \
         say() {{ echo '{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{{'\"$1\"'}}}}'; }}; {script}"
    );
    ExecConfig::new("sh")
        .args(["-c", &format!("cd '{}'; {script}", folder.display())])
        .interactive_mode(InteractiveMode::Never)
}

fn runs(folder: &Path) -> usize {
    let text = std::fs::read_to_string(folder.join("runs"));
    text.unwrap_or_default().lines().count()
}

fn with(server: &Server, plugin: ExecConfig) -> Config {
    server.config().with_credentials(Credentials::Exec(plugin))
}

#[tokio::test]
async fn many_waiters_share_one_run_and_its_token_is_kept() {
    let site = Site::new(|_| json(200, OBJECT));
    let server = Server::start(&site).await;
    let folder = tempfile::tempdir().unwrap();
    let maps = maps(with(
        &server,
        plugin(folder.path(), r#"sleep 0.1; say "\"token\":\"t$n\"""#),
    ));
    assert_eq!(runs(folder.path()), 0, "nobody needs credentials yet");
    let answers = join_all((0..20).map(|_| maps.get("a"))).await;
    assert!(answers.iter().all(Result::is_ok), "{:?}", answers[0]);
    maps.get("a").await.unwrap();
    assert_eq!(runs(folder.path()), 1);
    for seen in site.seen() {
        assert_eq!(seen.header("authorization"), "Bearer t1");
    }
}

#[tokio::test]
async fn expired_credentials_are_replaced() {
    let site = Site::new(|_| json(200, OBJECT));
    let server = Server::start(&site).await;
    let folder = tempfile::tempdir().unwrap();
    let script = r#"say "\"token\":\"t$n\",\"expirationTimestamp\":\"2020-01-01T00:00:00Z\"""#;
    let maps = maps(with(&server, plugin(folder.path(), script)));
    maps.get("a").await.unwrap();
    maps.get("a").await.unwrap();
    let tokens: Vec<_> = site.seen();
    assert_eq!(tokens[0].header("authorization"), "Bearer t1");
    assert_eq!(tokens[1].header("authorization"), "Bearer t2");
}

#[tokio::test]
async fn a_refused_token_is_renewed_once_and_the_write_is_repeated() {
    let site = Site::new(|seen| match seen.header("authorization") {
        "Bearer t2" => json(200, OBJECT),
        _ => json(401, "{}"),
    });
    let server = Server::start(&site).await;
    let folder = tempfile::tempdir().unwrap();
    let metrics = Metrics::new();
    let config = with(&server, plugin(folder.path(), r#"say "\"token\":\"t$n\"""#));
    let client = Client::builder(config).metrics(metrics.clone());
    Api::namespaced(&client.build().unwrap(), "default")
        .create(&PostParams::default(), &ConfigMap::default())
        .await
        .unwrap();
    let seen = site.seen();
    assert_eq!((seen.len(), runs(folder.path())), (2, 2));
    assert_eq!(seen[0].body, seen[1].body);
    let text = metrics.encode();
    for line in [
        "requests_total{code=\"401\"",
        "requests_total{code=\"200\"",
        "retries_total{code=\"200\"",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
    // An equal token is not tried again.
    let folder = tempfile::tempdir().unwrap();
    let maps = maps(with(
        &server,
        plugin(folder.path(), r#"say '"token":"old"'"#),
    ));
    let error = maps.get("a").await.unwrap_err();
    assert!(
        error.is_unauthorized() && error.to_string().contains("that the plugin sh printed"),
        "{error}"
    );
    assert_eq!((site.seen().len(), runs(folder.path())), (3, 2));
}

#[tokio::test]
async fn the_certificate_of_a_plugin_is_presented_on_a_new_connection() {
    let clients = Authority::new();
    let folder = tempfile::tempdir().unwrap();
    let mut ders = Vec::new();
    for n in ["1", "2"] {
        let (certificate, key) = clients.issue("me");
        ders.push(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap());
        let status =
            serde_json::json!({"clientCertificateData": certificate, "clientKeyData": key});
        let text = status.to_string();
        let fields = text.trim_start_matches('{').trim_end_matches('}');
        std::fs::write(folder.path().join(n), fields).unwrap();
    }
    let second = ders[1].to_vec();
    for http2 in [true, false] {
        let _ = std::fs::remove_file(folder.path().join("runs"));
        let second = second.clone();
        let mut site = Site::new(move |seen| {
            if seen.certificate == second {
                json(200, OBJECT)
            } else {
                json(401, "{}")
            }
        });
        site.http2 = http2;
        let server = Server::with(&site, "127.0.0.1", Some(&clients)).await;
        let script = r#"printf '%s' '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{'; cat $n; echo '}}'"#;
        let metrics = Metrics::new();
        let client = Client::builder(with(&server, plugin(folder.path(), script)));
        let client = client.metrics(metrics.clone()).build().unwrap();
        let maps = Api::<ConfigMap>::namespaced(&client, "default");
        maps.get("a").await.unwrap();
        maps.get("a").await.unwrap();
        let text = metrics.encode();
        let age = "exec_plugin_certificate_rotation_age_count 1\n";
        assert!(text.contains(age), "{text}");
        assert!(!text.contains("exec_plugin_ttl_seconds +Inf"), "{text}");
        let used: Vec<_> = site.seen().iter().map(|seen| seen.connection).collect();
        assert_eq!(used, [0, 1, 1]);
        assert_eq!(runs(folder.path()), 2);
        drop((maps, client));
        let text = metrics.encode();
        assert!(text.contains("exec_plugin_ttl_seconds +Inf"), "{text}");
    }
}

#[tokio::test]
async fn renewed_certificate_files_are_used_and_the_old_connection_closes() {
    let clients = Authority::new();
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = (folder.path().join("crt"), folder.path().join("key"));
    let write = || {
        let (certificate, secret) = clients.issue("me");
        std::fs::write(&cert, &certificate).unwrap();
        std::fs::write(&key, secret).unwrap();
        CertificateDer::from_pem_slice(certificate.as_bytes())
            .unwrap()
            .to_vec()
    };
    let old = write();
    let site = Site::new(move |seen| {
        let refused = seen.uri.ends_with("/late") && seen.certificate == old;
        if refused {
            json(401, "{}")
        } else {
            json(200, object_at(&seen.uri))
        }
    });
    let server = Server::with(&site, "127.0.0.1", Some(&clients)).await;
    let config = server.config();
    let config = config.with_client_certificate_files(&cert, &key).await;
    let maps = maps(config.unwrap());
    maps.get("a").await.unwrap();
    // Files that do not fit together change nothing.
    std::fs::write(&cert, clients.issue("me").0).unwrap();
    maps.get("late").await.unwrap_err();
    write();
    maps.get("late").await.unwrap();
    maps.get("a").await.unwrap();
    let used: Vec<_> = site.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(used, [0, 0, 0, 1, 1]);
}

#[tokio::test]
async fn a_plugin_gets_the_info_of_its_cluster() {
    let server = Server::start(&Site::new(|_| json(200, OBJECT))).await;
    let folder = tempfile::tempdir().unwrap();
    for (info, version) in [(true, ExecVersion::V1), (false, ExecVersion::V1Beta1)] {
        let script = r#"printf '%s' "$KUBERNETES_EXEC_INFO" > info; echo "$OWN" > own; printf '%s' "{\"apiVersion\":\"$API\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\"}}""#;
        let mut exec = plugin(folder.path(), script)
            .version(version)
            .env("OWN", "value")
            .env("API", version.as_str());
        if info {
            exec = exec.provide_cluster_info(Some(serde_json::json!({"audience": "a"})));
        }
        maps(with(&server, exec)).get("a").await.unwrap();
        let told = std::fs::read(folder.path().join("info")).unwrap();
        let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
        let mut expected = serde_json::json!({
            "apiVersion": version.as_str(), "kind": "ExecCredential", "spec": {"interactive": false},
        });
        if info {
            use base64::{Engine, prelude::BASE64_STANDARD};
            expected["spec"]["cluster"] = serde_json::json!({
                "server": format!("https://{}", server.address),
                "certificate-authority-data": BASE64_STANDARD.encode(&server.authority.pem),
                "config": {"audience": "a"},
            });
        }
        assert_eq!(told, expected);
        assert_eq!(
            std::fs::read_to_string(folder.path().join("own")).unwrap(),
            "value\n"
        );
    }
}

#[tokio::test]
async fn a_failing_plugin_is_reported_in_one_line() {
    let server = Server::start(&Site::new(|_| json(200, OBJECT))).await;
    let folder = tempfile::tempdir().unwrap();
    let missing = || ExecConfig::new("pilothouse-no-such-plugin");
    let table = [
        (
            missing(),
            "`pilothouse-no-such-plugin` was not found: install it, check PATH, or correct its `exec.command`",
        ),
        (
            missing().install_hint("run\n  brew install it"),
            "`pilothouse-no-such-plugin` was not found: run brew install it",
        ),
        (
            plugin(folder.path(), "echo hunter2; exit 3"),
            "`sh` failed with exit code 3: see its messages on standard error, or run it by hand",
        ),
        (
            plugin(folder.path(), "exec head -c 2000000 /dev/zero"),
            "`sh` printed more than 1 MiB: check that it prints nothing but credentials to standard output",
        ),
        (
            plugin(folder.path(), "echo $$ > pid; exec sleep 600")
                .timeout(Duration::from_millis(300)),
            "`sh` did not end within 0.3 s and was killed: run it by hand to see what it waits for",
        ),
    ];
    for (exec, expected) in table {
        let error = maps(with(&server, exec)).get("a").await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "get ConfigMap default/a: given by the program: the credential plugin {expected}"
            )
        );
    }
    gone(&folder.path().join("pid")).await;
}

#[tokio::test]
async fn a_failing_plugin_does_not_run_for_each_request() {
    let site = Site::new(|_| json(200, OBJECT));
    let server = Server::start(&site).await;
    let folder = tempfile::tempdir().unwrap();
    let script = r#"[ $n -lt 3 ] && exit 1; say "\"token\":\"t$n\"""#;
    let metrics = Metrics::new();
    let config = with(&server, plugin(folder.path(), script));
    let client = Client::builder(config).metrics(metrics.clone());
    let maps = Api::<ConfigMap>::namespaced(&client.build().unwrap(), "default");
    let later = async |seconds| {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(seconds)).await;
        tokio::time::resume();
    };
    for (pause, failed_runs) in [(1, 1), (2, 2)] {
        let first = maps.get("a").await.unwrap_err().to_string();
        for _ in 0..5 {
            assert_eq!(maps.get("a").await.unwrap_err().to_string(), first);
        }
        assert_eq!(runs(folder.path()), failed_runs);
        later(pause).await;
    }
    maps.get("a").await.unwrap();
    assert_eq!(runs(folder.path()), 3);
    let text = metrics.encode();
    for line in [
        "rest_client_exec_plugin_call_total{call_status=\"no_error\",code=\"0\"} 1\n",
        "rest_client_exec_plugin_call_total{call_status=\"plugin_execution_error\",code=\"1\"} 2\n",
        "rest_client_exec_plugin_policy_call_total{allowed=\"true\",denied=\"false\"} 1\n",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
}

#[tokio::test]
async fn a_plugin_whose_credentials_are_refused_does_not_run_for_each_request() {
    let site = Site::new(|_| json(401, "{}"));
    let server = Server::start(&site).await;
    let folder = tempfile::tempdir().unwrap();
    let script = r#"say "\"token\":\"t$n\"""#;
    let maps = maps(with(&server, plugin(folder.path(), script)));
    for _ in 0..5 {
        assert!(maps.get("a").await.unwrap_err().is_unauthorized());
    }
    assert_eq!((runs(folder.path()), site.seen().len()), (2, 6));
}

#[tokio::test]
async fn a_plugin_that_is_not_allowed_is_reported_when_the_client_is_built() {
    let server = Server::start(&Site::new(|_| json(200, OBJECT))).await;
    let folder = tempfile::tempdir().unwrap();
    let config = with(&server, plugin(folder.path(), "exit 0"));
    let allowed = config.clone().with_exec_policy(ExecPolicy::allow(["sh"]));
    Client::new(allowed).unwrap();
    let error = Client::new(config.with_exec_policy(ExecPolicy::allow(["aws"])));
    assert_eq!(
        error.unwrap_err().to_string(),
        "given by the program: the credential plugin `sh` is not one of those that may be run: use one of `aws`, or other credentials"
    );
    assert_eq!(runs(folder.path()), 0);
}

#[tokio::test]
async fn a_plugin_is_killed_if_no_request_waits_for_it() {
    let server = Server::start(&Site::new(|_| json(200, OBJECT))).await;
    let folder = tempfile::tempdir().unwrap();
    let exec = plugin(folder.path(), "echo $$ > new; mv new pid; exec sleep 600");
    let maps = maps(with(&server, exec));
    let pid = folder.path().join("pid");
    let started = async {
        while !pid.exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = maps.get("a") => panic!("it does not end"),
        () = started => {}
    }
    gone(&pid).await;
}

/// Waits until the process with the id in `file` has ended.
async fn gone(file: &Path) {
    let pid = std::fs::read_to_string(file).unwrap();
    let stat = format!("/proc/{}/stat", pid.trim());
    // An ended process may be a zombie until its parent waits for it.
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn impersonation_sends_all_its_headers() {
    let site = Site::new(|_| json(200, OBJECT));
    let server = Server::start(&site).await;
    let jane = Impersonation::new("jané")
        .uid("7")
        .group("a")
        .group("b")
        .extra("Example.com/scopes", ["x", "y"]);
    let config = server.config().with_token("t").with_impersonation(jane);
    maps(config).get("a").await.unwrap();
    let seen = &site.seen()[0];
    let all = |name: &str| -> Vec<_> {
        let values = seen.headers.get_all(name).iter();
        values
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect()
    };
    assert_eq!(all("impersonate-user"), ["jané"]);
    assert_eq!(all("impersonate-uid"), ["7"]);
    assert_eq!(all("impersonate-group"), ["a", "b"]);
    assert_eq!(all("impersonate-extra-example.com%2fscopes"), ["x", "y"]);
    assert_eq!(seen.header("authorization"), "Bearer t");
}
