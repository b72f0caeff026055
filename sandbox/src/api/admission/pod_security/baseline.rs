use serde_json::Value;

use super::pod::{Pod, Values, Violation, named, plural, quoted, setters};

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

pub(super) fn app_armor(pod: &Pod<'_>) -> Option<Violation> {
    const ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";
    let mut values = Values::new();
    let mut is_wrong = |context: &Value| {
        let profile = &context["appArmorProfile"];
        let kind = text(&profile["type"]);
        let wrong = !profile.is_null() && !matches!(kind, "RuntimeDefault" | "Localhost");
        if wrong {
            values.insert(kind.to_owned());
        }
        wrong
    };
    let by_pod = is_wrong(&pod.spec["securityContext"]);
    let containers = pod.wrong(|one| is_wrong(&one["securityContext"]));
    let allowed =
        |value: &str| matches!(value, "" | "runtime/default") || value.starts_with("localhost/");
    let annotations = pod.annotations();
    let annotations = annotations
        .filter(|(key, value)| key.starts_with(ANNOTATION) && !allowed(value))
        .map(|(key, value)| format!("{key}={value:?}"));
    let annotations: Values = annotations.collect();
    let mut all: Vec<String> = setters(by_pod, &containers).into_iter().collect();
    if !annotations.is_empty() {
        all.push(plural("annotation", annotations.len()));
    }
    let values: Vec<String> = values.into_iter().chain(annotations).collect();
    (!all.is_empty()).then(|| {
        let detail = format!(
            "{} must not set AppArmor profile type to {}",
            all.join(" and "),
            quoted(&values)
        );
        Violation::new(plural("forbidden AppArmor profile", values.len()), detail)
    })
}

/// The capabilities that container runtimes give by default.
const DEFAULT_CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

pub(super) fn capabilities(pod: &Pod<'_>) -> Option<Violation> {
    let mut values = Values::new();
    let containers = pod.wrong(|container| {
        let added = texts(&container["securityContext"]["capabilities"]["add"]);
        let mut wrong = added
            .filter(|one| !DEFAULT_CAPABILITIES.contains(one))
            .peekable();
        let is_wrong = wrong.peek().is_some();
        values.extend(wrong.map(str::to_owned));
        is_wrong
    });
    (!containers.is_empty()).then(|| {
        let detail = format!(
            "{} must not include {} in securityContext.capabilities.add",
            named(&containers),
            quoted(&values)
        );
        Violation::new("non-default capabilities", detail)
    })
}

pub(super) fn host_namespaces(pod: &Pod<'_>) -> Option<Violation> {
    let all = ["hostNetwork", "hostPID", "hostIPC"].into_iter();
    let used = all.filter(|field| pod.spec[field] == true);
    let used: Vec<String> = used.map(|field| format!("{field}=true")).collect();
    (!used.is_empty()).then(|| Violation::new("host namespaces", used.join(", ")))
}

pub(super) fn host_paths(pod: &Pod<'_>) -> Option<Violation> {
    let volumes = pod.spec["volumes"].as_array().into_iter().flatten();
    let used = volumes.filter(|volume| !volume["hostPath"].is_null());
    let used: Vec<&str> = used.map(|volume| text(&volume["name"])).collect();
    (!used.is_empty()).then(|| {
        let detail = format!("{} {}", plural("volume", used.len()), quoted(&used));
        Violation::new("hostPath volumes", detail)
    })
}

fn uses(containers: usize) -> &'static str {
    if containers == 1 { "uses" } else { "use" }
}

pub(super) fn host_ports(pod: &Pod<'_>) -> Option<Violation> {
    let mut values = Values::new();
    let containers = pod.wrong(|container| {
        let ports = container["ports"].as_array().into_iter().flatten();
        let numbers = ports.filter_map(|port| port["hostPort"].as_i64());
        let before: Vec<i64> = numbers.filter(|number| *number != 0).collect();
        values.extend(before.iter().map(i64::to_string));
        !before.is_empty()
    });
    (!containers.is_empty()).then(|| {
        let all: Vec<&str> = values.iter().map(String::as_str).collect();
        let detail = format!(
            "{} {} {} {}",
            named(&containers),
            uses(containers.len()),
            plural("hostPort", all.len()),
            all.join(", ")
        );
        Violation::new("hostPort", detail)
    })
}

pub(super) fn host_probes(pod: &Pod<'_>) -> Option<Violation> {
    let (mut hosts, mut names) = (Values::new(), Values::new());
    for container in pod.containers() {
        let probes = ["livenessProbe", "readinessProbe", "startupProbe"];
        let probes = probes.iter().map(|field| &container[field]);
        let hooks = ["postStart", "preStop"];
        let hooks = hooks.iter().map(|field| &container["lifecycle"][field]);
        for action in probes.chain(hooks) {
            for kind in ["httpGet", "tcpSocket"] {
                let host = text(&action[kind]["host"]);
                if !host.is_empty() {
                    hosts.insert(host.to_owned());
                    names.insert(text(&container["name"]).to_owned());
                }
            }
        }
    }
    (!names.is_empty()).then(|| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let detail = format!(
            "{} {} {} {}",
            named(&names),
            uses(names.len()),
            plural("probe or lifecycle host", hosts.len()),
            quoted(&hosts)
        );
        Violation::new("probe or lifecycle host", detail)
    })
}

pub(super) fn privileged(pod: &Pod<'_>) -> Option<Violation> {
    let containers = pod.wrong(|one| one["securityContext"]["privileged"] == true);
    (!containers.is_empty()).then(|| {
        let detail = format!(
            "{} must not set securityContext.privileged=true",
            named(&containers)
        );
        Violation::new("privileged", detail)
    })
}

pub(super) fn proc_mount(pod: &Pod<'_>) -> Option<Violation> {
    let mut values = Values::new();
    let containers = pod.wrong(|container| {
        let kind = &container["securityContext"]["procMount"];
        let wrong = !kind.is_null() && kind != "Default";
        if wrong {
            values.insert(text(kind).to_owned());
        }
        wrong
    });
    (!containers.is_empty()).then(|| {
        let detail = format!(
            "{} must not set securityContext.procMount to {}",
            named(&containers),
            quoted(&values)
        );
        Violation::new("procMount", detail)
    })
}

pub(super) fn proc_mount_of_host_users(pod: &Pod<'_>) -> Option<Violation> {
    proc_mount(pod).filter(|_| !pod.has_own_users())
}

const SE_LINUX_0: &[&str] = &["", "container_t", "container_init_t", "container_kvm_t"];

const SE_LINUX_31: &[&str] = &[
    "",
    "container_t",
    "container_init_t",
    "container_kvm_t",
    "container_engine_t",
];

pub(super) fn se_linux_0(pod: &Pod<'_>) -> Option<Violation> {
    se_linux(pod, SE_LINUX_0)
}

pub(super) fn se_linux_31(pod: &Pod<'_>) -> Option<Violation> {
    se_linux(pod, SE_LINUX_31)
}

fn se_linux(pod: &Pod<'_>, allowed: &[&str]) -> Option<Violation> {
    let (mut types, mut user, mut role) = (Values::new(), false, false);
    let mut is_wrong = |context: &Value| {
        let options = &context["seLinuxOptions"];
        let kind = text(&options["type"]);
        let wrong_type = !allowed.contains(&kind);
        if wrong_type {
            types.insert(kind.to_owned());
        }
        let sets = |field: &str| !text(&options[field]).is_empty();
        user |= sets("user");
        role |= sets("role");
        wrong_type || sets("user") || sets("role")
    };
    let by_pod = is_wrong(&pod.spec["securityContext"]);
    let containers = pod.wrong(|one| is_wrong(&one["securityContext"]));
    let who = setters(by_pod, &containers)?;
    let mut what = Vec::new();
    if !types.is_empty() {
        what.push(format!(
            "{} {}",
            plural("type", types.len()),
            quoted(&types)
        ));
    }
    for (set, field) in [(user, "user"), (role, "role")] {
        if set {
            what.push(format!("{field} may not be set"));
        }
    }
    let detail = format!(
        "{who} set forbidden securityContext.seLinuxOptions: {}",
        what.join("; ")
    );
    Some(Violation::new("seLinuxOptions", detail))
}

pub(super) fn seccomp_annotations(pod: &Pod<'_>) -> Option<Violation> {
    const POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
    const CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
    let allowed = |value: &str| {
        matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/")
    };
    let of_container = |key: &str| {
        let name = key.strip_prefix(CONTAINER);
        name.is_some_and(|name| pod.containers().any(|one| one["name"] == name))
    };
    let wrong = pod
        .annotations()
        .filter(|(key, value)| (*key == POD || of_container(key)) && !allowed(value));
    let wrong: Values = wrong
        .map(|(key, value)| format!("{key}={value:?}"))
        .collect();
    (!wrong.is_empty()).then(|| {
        let all: Vec<&str> = wrong.iter().map(String::as_str).collect();
        let word = plural("annotation", all.len());
        let detail = format!("forbidden {word} {}", all.join(", "));
        Violation::new("seccompProfile", detail)
    })
}

/// Whether a profile of seccomp restricts calls.
pub(super) fn restricts(profile: &Value) -> bool {
    matches!(text(&profile["type"]), "RuntimeDefault" | "Localhost")
}

pub(super) fn seccomp(pod: &Pod<'_>) -> Option<Violation> {
    let mut values = Values::new();
    let mut is_wrong = |context: &Value| {
        let profile = &context["seccompProfile"];
        let wrong = !profile.is_null() && !restricts(profile);
        if wrong {
            values.insert(text(&profile["type"]).to_owned());
        }
        wrong
    };
    let by_pod = is_wrong(&pod.spec["securityContext"]);
    let containers = pod.wrong(|one| is_wrong(&one["securityContext"]));
    let who = setters(by_pod, &containers)?;
    let detail = format!(
        "{who} must not set securityContext.seccompProfile.type to {}",
        quoted(&values)
    );
    Some(Violation::new("seccompProfile", detail))
}

/// The harmless kernel parameters, and the version since which they are known as such.
const SYSCTLS: [(u32, &str); 12] = [
    (0, "kernel.shm_rmid_forced"),
    (0, "net.ipv4.ip_local_port_range"),
    (0, "net.ipv4.ip_unprivileged_port_start"),
    (0, "net.ipv4.ping_group_range"),
    (0, "net.ipv4.tcp_syncookies"),
    (27, "net.ipv4.ip_local_reserved_ports"),
    (29, "net.ipv4.tcp_fin_timeout"),
    (29, "net.ipv4.tcp_keepalive_intvl"),
    (29, "net.ipv4.tcp_keepalive_probes"),
    (29, "net.ipv4.tcp_keepalive_time"),
    (32, "net.ipv4.tcp_rmem"),
    (32, "net.ipv4.tcp_wmem"),
];

pub(super) fn sysctls_0(pod: &Pod<'_>) -> Option<Violation> {
    sysctls(pod, 0)
}

pub(super) fn sysctls_27(pod: &Pod<'_>) -> Option<Violation> {
    sysctls(pod, 27)
}

pub(super) fn sysctls_29(pod: &Pod<'_>) -> Option<Violation> {
    sysctls(pod, 29)
}

pub(super) fn sysctls_32(pod: &Pod<'_>) -> Option<Violation> {
    sysctls(pod, 32)
}

fn sysctls(pod: &Pod<'_>, version: u32) -> Option<Violation> {
    let is_known = |name: &str| {
        let mut known = SYSCTLS.iter();
        known.any(|(since, known)| *since <= version && *known == name)
    };
    let set = pod.spec["securityContext"]["sysctls"].as_array();
    let set = set.into_iter().flatten().map(|one| text(&one["name"]));
    let wrong: Vec<&str> = set.filter(|name| !is_known(name)).collect();
    (!wrong.is_empty()).then(|| Violation::new("forbidden sysctls", wrong.join(", ")))
}

pub(super) fn host_process(pod: &Pod<'_>) -> Option<Violation> {
    let is_wrong =
        |object: &Value| object["securityContext"]["windowsOptions"]["hostProcess"] == true;
    let containers = pod.wrong(is_wrong);
    let who = setters(is_wrong(pod.spec), &containers)?;
    let detail = format!("{who} must not set securityContext.windowsOptions.hostProcess=true");
    Some(Violation::new("hostProcess", detail))
}
