//! What the commands for production print and refuse, with the operator `pages` of the book.

use std::{
    fs,
    process::{Command, Output},
};

use pilothouse::resource::{DynamicObject, Scheme};
use regex::Regex;
use serde_json::{Value, json};

fn pages(line: &str) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_pages"))
        .args(line.split_whitespace())
        // Only the command line counts.
        .env("PAGES_NAMESPACE", "elsewhere")
        .env_remove("KUBECONFIG")
        .env("HOME", "/nonexistent")
        .output();
    output.unwrap()
}

/// The output of a command that must succeed.
fn printed(line: &str) -> String {
    let output = pages(line);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{line}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

const IMAGE: &str = "manifests --image example.com/pages:1";

#[test]
fn manifests_prints_everything_in_the_order_of_installation() {
    insta::assert_snapshot!("manifests", printed(IMAGE));
}

#[test]
fn the_settings_of_run_decide_what_manifests_prints() {
    let line = format!(
        "{IMAGE} --replicas 3 --namespace blue,green --operator-namespace default --metrics-secure --metrics-auth \
         --metrics-address :9443 --service-monitor --prometheus-rule -- --image nginx"
    );
    insta::assert_snapshot!("manifests_with_settings", printed(&line));
}

/// An object of a kind that `manifests` prints with these settings.
fn object(settings: &str, kind: &str) -> Value {
    let text = printed(&format!("{IMAGE} {settings}"));
    let objects = Scheme::new().with_other_kinds().decode(&text).into_iter();
    let mut objects = objects.map(|one| {
        serde_json::to_value(one.unwrap().downcast::<DynamicObject>().unwrap()).unwrap()
    });
    objects.find(|one| one["kind"] == kind).unwrap()
}

#[test]
fn the_pods_have_no_right_that_they_do_not_need_and_the_time_to_stop() {
    let pod = &object("", "Deployment")["spec"]["template"]["spec"];
    assert_eq!(
        pod["securityContext"],
        json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}})
    );
    assert_eq!(
        pod["containers"][0]["securityContext"],
        json!({
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
        })
    );
    // An operator stops within 29 s.
    let seconds = pod["terminationGracePeriodSeconds"].as_u64();
    assert!(seconds > Some(29), "{seconds:?}");
}

/// The MiB of a quantity such as `64Mi`.
fn mebibytes(quantity: &Value) -> u64 {
    let text = quantity.as_str().unwrap();
    text.strip_suffix("Mi").unwrap().parse().unwrap()
}

/// The page of the book has the rule, `manifests` follows it, and the bench has measured what it is made of.
#[test]
fn the_memory_of_the_pods_follows_the_rule_of_thumb_of_the_book() {
    let page = include_str!("../../book/src/production.md");
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let number = |before: &str, after: &str| -> u64 {
        let pattern = format!("{before}([0-9]+) {after}");
        let found = Regex::new(&pattern).unwrap().captures(&page);
        found.unwrap_or_else(|| panic!("{pattern}"))[1]
            .parse()
            .unwrap()
    };
    let thousands = number("which is enough for ", "cached objects") / 1000;
    let program = number("As a rule of thumb, request ", "MiB, and");
    let each = number("", "MiB more for each thousand of them\\.");
    let decoded = number("", "MiB more for each thousand\\.");
    assert_eq!(number("again and again, which is ", "MiB"), program);

    // Rounded up to a multiple of 16 MiB.
    let rounded = |amount: u64| amount.next_multiple_of(16);
    let request = rounded(program + each * thousands);
    let limit = rounded(2 * (program + decoded * thousands));
    assert_eq!(number("request ", "MiB and may use"), request);
    assert_eq!(number("and may use ", "MiB"), limit);
    for settings in ["", "--namespace blue,green --replicas 3"] {
        let deployment = object(settings, "Deployment");
        let resources = &deployment["spec"]["template"]["spec"]["containers"][0]["resources"];
        assert_eq!(mebibytes(&resources["requests"]["memory"]), request);
        assert_eq!(mebibytes(&resources["limits"]["memory"]), limit);
        assert_eq!(resources["limits"].get("cpu"), None);
    }

    // A Pod as bytes, and decoded beside its bytes.
    let results = include_str!("../../bench/RESULTS.md");
    let row = Regex::new(r"memory of each of 10 000 Pods \| ([0-9.]+) KB \| ([0-9.]+) KB").unwrap();
    let row = row.captures(results).unwrap();
    let measured = |number: usize| row[number].parse::<f64>().unwrap() * 1000.0 * 1000.0;
    let mebibyte = f64::from(1 << 20);
    let (whole, bytes) = (measured(1) / mebibyte, measured(2) / mebibyte);
    for (rule, measured) in [(each, bytes), (decoded, whole + bytes)] {
        let rule = rule as f64;
        assert!(
            rule > measured && rule < 1.3 * measured,
            "{rule} {measured}"
        );
    }
}

#[test]
fn an_operator_without_election_and_endpoints_is_replaced_before_a_new_pod_starts() {
    let text = printed(&format!("{IMAGE} --leader-elect=false --metrics-address 0"));
    for expected in [
        "type: Recreate",
        "- --leader-elect=false",
        "- --metrics-address=0",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    for left_out in ["kind: Service\n", "leases", "livenessProbe", "ports:"] {
        assert!(!text.contains(left_out), "{left_out} in\n{text}");
    }
}

#[test]
fn a_given_certificate_comes_from_a_secret_that_prometheus_trusts() {
    let text = printed(&format!(
        "{IMAGE} --metrics-secure --metrics-cert-path /certificate --service-monitor"
    ));
    for expected in [
        "secretName: pages-metrics-certificate\n",
        "- mountPath: /certificate\n",
        "key: ca.crt\n",
        "serverName: pages.pages-system.svc\n",
    ] {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
    let unverified = printed(&format!("{IMAGE} --metrics-secure --service-monitor"));
    assert!(
        unverified.contains("insecureSkipVerify: true"),
        "{unverified}"
    );
}

#[test]
fn a_pod_monitor_reads_the_pods_without_the_service() {
    let settings = "--metrics-secure --metrics-cert-path /certificate --pod-monitor";
    let text = printed(&format!("{IMAGE} {settings}"));
    let monitor = object(settings, "PodMonitor");
    assert_eq!(
        monitor["spec"],
        json!({
            "selector": {"matchLabels": {"app.kubernetes.io/component": "operator", "app.kubernetes.io/name": "pages"}},
            "podMetricsEndpoints": [{
                "port": "metrics", "scheme": "https",
                "tlsConfig": {
                    "ca": {"secret": {"name": "pages-metrics-certificate", "key": "ca.crt"}},
                    "serverName": "pages.pages-system.svc",
                },
            }],
        })
    );
    assert!(!text.contains("ServiceMonitor"), "{text}");
}

#[test]
fn a_token_over_plain_http_is_warned_about() {
    let warning = |flags: &str| {
        let output = pages(&format!("{IMAGE} {flags}"));
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let expected = "warning: metrics require a bearer token, but plain HTTP sends it unencrypted: add --metrics-secure\n";
    assert_eq!(warning("--metrics-auth --service-monitor"), expected);
    assert_eq!(warning("--metrics-auth --metrics-secure"), "");
}

#[test]
fn the_readers_of_the_debug_page_get_a_role_of_their_own() {
    let role = "name: pages-debug-reader\nrules:\n- nonResourceURLs:\n  - /debug\n  - /debug/state.json\n  - /debug/search.json\n  - /debug/object.json\n  verbs:\n  - get\n";
    let text = printed("rbac --metrics-auth --debug-page");
    assert!(text.contains(role), "{text}");
    for open in ["rbac --debug-page", "rbac --metrics-auth"] {
        assert!(!printed(open).contains("pages-debug-reader"), "{open}");
    }
}

#[test]
fn a_namespace_that_may_be_shared_is_printed_only_if_asked_for() {
    let namespace = "kind: Namespace\n";
    assert!(printed(IMAGE).contains(namespace));
    let shared = format!("{IMAGE} --operator-namespace prod");
    assert!(!printed(&shared).contains(namespace));
    let text = printed(&format!("{shared} --create-namespace"));
    assert!(text.contains(namespace), "{text}");
    // It is no flag of the container.
    assert!(!text.contains("create-namespace"), "{text}");
}

#[test]
fn a_file_that_is_not_what_a_command_prints_fails_its_check() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pages.yaml");
    for command in ["crd", "rbac", IMAGE] {
        let line = format!("{command} --check {}", file.display());
        fs::write(&file, printed(command)).unwrap();
        assert_eq!(printed(&line), "");
        let changed = fs::read_to_string(&file)
            .unwrap()
            .replacen("pages", "sites", 1);
        fs::write(&file, changed).unwrap();
        let output = pages(&line);
        assert_eq!(output.status.code(), Some(1));
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains("\n-") && shown.contains("\n+"), "{shown}");
        let error = String::from_utf8_lossy(&output.stderr);
        let expected = "pages.yaml differs from the output: write the output to it and commit it\n";
        assert!(error.ends_with(expected), "{error}");
    }
}

#[test]
fn what_could_not_run_in_a_cluster_is_refused_with_what_to_do() {
    for (line, expected) in [
        (
            "manifests",
            "error: manifests needs the image of the operator: `pages manifests --image registry.example.com/pages:1.0`\n",
        ),
        (
            "manifests --image x --replicas 2 --leader-elect=false",
            "error: --replicas is 2, but without the leader election all of them would work at the same time: remove \
             --leader-elect=false, or use one replica\n",
        ),
        (
            "manifests --image x --metrics-address 127.0.0.1:8080",
            "error: the kubelet cannot reach metrics and health at --metrics-address 127.0.0.1:8080: write a port for every address, \
             such as `:8080`, or 0 to turn them off\n",
        ),
        (
            "manifests --image x --metrics-address 0 --service-monitor",
            "error: --service-monitor has no effect because --metrics-address is 0\n",
        ),
        (
            "manifests --image x --pod-monitor --metrics-auth --metrics-secure",
            "error: --pod-monitor cannot read metrics with --metrics-auth, because a PodMonitor does not send the token of Prometheus: write \
             --service-monitor instead\n",
        ),
        (
            "manifests --image x --pod-monitor --service-monitor",
            "error: the argument '--pod-monitor' cannot be used with '--service-monitor'",
        ),
        (
            "manifests --image x --metrics-address 0 --prometheus-rule",
            "error: --prometheus-rule has no effect because --metrics-address is 0\n",
        ),
        (
            "manifests --image R.example.com/Pages:1",
            "error: invalid value 'R.example.com/Pages:1' for '--image <NAME>': `Pages` may have lower case letters and digits only, with `.`, \
             `_`, `__` or `-` between them: write one like registry.example.com/website:1.0\n",
        ),
        (
            "manifests --image x --replicas -1",
            "error: invalid value '-1' for '--replicas <NUMBER>': -1 is not in 1..",
        ),
        (
            "manifests --image x --namespace a,b,a",
            "error: --namespace (command line) names `a` twice: name each namespace once\n",
        ),
        (
            "rbac --namespace a,a",
            "error: --namespace (command line) names `a` twice: name each namespace once\n",
        ),
        (
            "run --namespace a,a",
            "error: --namespace (command line) names `a` twice: name each namespace once\n",
        ),
        (
            "manifests --image x --metrics-secure --metrics-cert-path certificate",
            "error: a Secret with the certificate cannot be mounted at `certificate`: write an absolute path, such as --metrics-cert-path \
             /certificate\n",
        ),
        (
            "manifests --image x --operator-namespace Ops",
            "error: invalid value 'Ops' for '--operator-namespace <NAME>': the name of a namespace has to be a DNS label",
        ),
        (
            "manifests --image x --operator-namespace default --create-namespace",
            "error: every cluster has the namespace default: remove --create-namespace\n",
        ),
        (
            "manifests --image x --create-namespace --output helm /tmp/none",
            "error: --create-namespace has no effect with --output helm: use `helm install --create-namespace`, and remove the flag\n",
        ),
        (
            "manifests --image x -- --imag nginx",
            "error: unexpected argument '--imag' found",
        ),
    ] {
        let output = pages(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.starts_with(expected), "{line}: {error}");
    }
}

/// The outputs of `teams manifests`, an operator with webhooks.
fn teams(run: &[&str]) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_teams"))
        .args(IMAGE.split_whitespace())
        .args(run)
        .env("HOME", "/nonexistent")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn manifests_of_an_operator_with_webhooks_have_their_service_and_configurations() {
    let (text, notes) = teams(&[]);
    insta::assert_snapshot!("manifests_with_webhooks", text);
    // The other one reads a cache.
    let expected = "note: if the request alone decides, an `AdmissionRule` does without the webhook validate.deployments.apps and also works \
        while no replica runs; `rules.needs_code()` in `rules` declares that it needs code\n";
    assert_eq!(notes, expected);
}

#[test]
fn a_given_certificate_of_webhooks_comes_from_a_secret() {
    let (text, _) = teams(&["--", "--webhook-certificate-dir", "/certs"]);
    for expected in [
        "secretName: teams-webhook-certificate\n",
        "- mountPath: /certs\n",
    ] {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
    assert!(!text.contains("- teams-webhook-certificates\n"), "{text}");
}

#[test]
fn webhooks_that_the_api_server_could_not_call_are_refused_with_what_to_do() {
    for (flag, value, expected) in [
        (
            "--webhook-address",
            "127.0.0.1:9443",
            "error: the API server cannot reach webhooks at --webhook-address 127.0.0.1:9443: write a port for every address, such as `:9443`",
        ),
        (
            "--webhook-certificate-dir",
            "certs",
            "error: a Secret with the certificate cannot be mounted at `certs`: write an absolute path, such as --webhook-certificate-dir /certificate",
        ),
        (
            "--webhook-address",
            ":8080",
            "error: --metrics-address and --webhook-address have the same port, 8080: give one of them another port",
        ),
    ] {
        let (text, error) = teams(&["--", flag, value]);
        assert_eq!(text, "");
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn two_certificates_are_not_mounted_into_one_folder() {
    for (metrics, webhooks, is_refused) in [
        ("/certs", "/certs", true),
        ("/certs", "/certs/webhooks", true),
        ("/certs/metrics", "/certs", true),
        ("/certs/metrics", "/certs/webhooks", false),
        ("/certs", "/certs-of-webhooks", false),
    ] {
        let (text, error) = teams(&[
            "--",
            "--metrics-secure",
            "--metrics-cert-path",
            metrics,
            "--webhook-certificate-dir",
            webhooks,
        ]);
        assert_eq!(text.is_empty(), is_refused, "{metrics} {webhooks}: {error}");
        let expected = format!(
            "error: two Secrets cannot be mounted at --metrics-cert-path {metrics} and --webhook-certificate-dir {webhooks}: write two \
             folders, neither of them in the other one\n"
        );
        assert_eq!(error == expected, is_refused, "{error}");
    }
}

/// A kustomization that moves the operator gives the Namespace another name, and changes no selector.
#[test]
fn webhooks_leave_out_the_pods_of_their_operator_also_after_a_move_by_kustomize() {
    let Some(kubectl) = pilothouse_tests::kubectl::programs().into_iter().next() else {
        return;
    };
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("teams");
    let (_, error) = teams(&["--output", "kustomize", folder.to_str().unwrap()]);
    assert!(!error.contains("error"), "{error}");
    let moved = folder.join("moved");
    fs::create_dir(&moved).unwrap();
    let kustomization = "resources: [../base]\nnamespace: elsewhere\n";
    fs::write(moved.join("kustomization.yaml"), kustomization).unwrap();
    let output = Command::new(kubectl)
        .arg("kustomize")
        .arg(&moved)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let objects = Scheme::new().with_other_kinds().decode(&text);
    let objects: Vec<Value> = objects
        .into_iter()
        .map(|one| serde_json::to_value(one.unwrap().downcast::<DynamicObject>().unwrap()).unwrap())
        .collect();
    let of_kind = |kind: &str| {
        let mut all = objects.iter();
        all.find(|one| one["kind"] == kind).unwrap()
    };
    let namespace = &of_kind("Namespace")["metadata"];
    assert_eq!(namespace["name"], "elsewhere");
    for kind in [
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
    ] {
        let selector = &of_kind(kind)["webhooks"][0]["namespaceSelector"];
        let requirements = selector["matchExpressions"].as_array().unwrap();
        let leaves_it_out = requirements.iter().any(|one| {
            let label = &namespace["labels"][one["key"].as_str().unwrap()];
            one["operator"] == "NotIn" && one["values"].as_array().unwrap().contains(label)
        });
        assert!(leaves_it_out, "{namespace} is not left out by {selector}");
    }
}
