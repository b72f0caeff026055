use std::collections::BTreeSet;

use super::super::internal_form::internal_invalid;
use super::super::part::Part;
use super::containers;
use crate::names;
use crate::schema::FieldError;

const CONTEXT: &str = "core.SecurityContext";
const SECCOMP: &str = "core.SeccompProfile";

/// The highest number of a user or group.
const HIGHEST_ID: i64 = i32::MAX as i64;

/// The security context of a Pod.
pub(super) fn of_pod(context: &Part, spec: &Part, found: &mut Vec<FieldError>) {
    if context.is_set() {
        for field in ["fsGroup", "runAsUser", "runAsGroup"] {
            context.get(field).within(0, HIGHEST_ID, found);
        }
        for group in context.items("supplementalGroups") {
            group.within(0, HIGHEST_ID, found);
        }
    }
    if spec.is_true("shareProcessNamespace") && spec.is_true("hostPID") {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        spec.get("shareProcessNamespace").invalid(detail, found);
    }
    if !context.is_set() {
        return;
    }
    sysctls(context, spec, found);
    let changes = &["Always", "OnRootMismatch"];
    context
        .get("fsGroupChangePolicy")
        .one_of_if_set(changes, found);
    profiles(context, found);
    let policies = &["Merge", "Strict"];
    context
        .get("supplementalGroupsPolicy")
        .one_of_if_set(policies, found);
    let policy = context.get("seLinuxChangePolicy");
    policy.one_of_if_set(&["MountOption", "Recursive"], found);
}

/// Profiles, and options of Windows, that Pods and containers have.
fn profiles(context: &Part, found: &mut Vec<FieldError>) {
    seccomp(&context.get("seccompProfile"), found);
    windows_options(&context.get("windowsOptions"), found);
    app_armor(&context.get("appArmorProfile"), found);
}

fn sysctls(context: &Part, spec: &Part, found: &mut Vec<FieldError>) {
    const DETAIL: &str = r"must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
    let mut known = BTreeSet::new();
    for sysctl in context.items("sysctls") {
        let name = sysctl.get("name");
        let text = name.text();
        if text.is_empty() {
            name.missing("", found);
        } else if !names::is_sysctl(text) {
            name.invalid(DETAIL, found);
        } else if known.contains(text) {
            name.duplicate(found);
        }
        let dotted = text.replace('/', ".");
        if spec.is_true("hostNetwork") && dotted.starts_with("net.") {
            name.invalid("may not be specified when 'hostNetwork' is true", found);
        }
        let of_ipc = dotted.starts_with("kernel.shm")
            || dotted.starts_with("kernel.msg")
            || dotted == "kernel.sem"
            || dotted.starts_with("fs.mqueue.");
        if spec.is_true("hostIPC") && of_ipc {
            name.invalid("may not be specified when 'hostIPC' is true", found);
        }
        known.insert(text);
    }
}

fn seccomp(profile: &Part, found: &mut Vec<FieldError>) {
    if !profile.is_set() {
        return;
    }
    let kind = profile.get("type");
    match kind.text() {
        "" => kind.missing("type is required when seccompProfile is set", found),
        _ => kind.one_of(&["Localhost", "RuntimeDefault", "Unconfined"], found),
    }
    let local = profile.get("localhostProfile");
    match (kind.text() == "Localhost", local.is_set()) {
        (true, true) => local.relative_path(found),
        (true, false) => local.missing("must be set when seccomp type is Localhost", found),
        (false, true) => {
            let detail = "can only be set when seccomp type is Localhost";
            found.push(internal_invalid(
                SECCOMP,
                &local.path,
                profile.value,
                detail,
            ));
        }
        (false, false) => {}
    }
}

fn app_armor(profile: &Part, found: &mut Vec<FieldError>) {
    const MISSING: &str = "must be set when AppArmor type is Localhost";
    const LONGEST: u64 = 4095;
    if !profile.is_set() {
        return;
    }
    let (kind, local) = (profile.get("type"), profile.get("localhostProfile"));
    match kind.text() {
        "Localhost" if !local.is_set() => local.missing(MISSING, found),
        "Localhost" => {
            let name = local.text();
            if name.trim() != name {
                local.invalid("must not be padded with whitespace", found);
            } else if name.is_empty() {
                local.missing(MISSING, found);
            }
            if u64::try_from(name.len()).is_ok_and(|length| length > LONGEST) {
                found.push(FieldError::too_long(&local.path, LONGEST));
            }
        }
        "RuntimeDefault" | "Unconfined" => {
            if local.is_set() {
                local.invalid("can only be set when AppArmor type is Localhost", found);
            }
        }
        "" => kind.missing("type is required when appArmorProfile is set", found),
        _ => kind.one_of(&["Localhost", "RuntimeDefault", "Unconfined"], found),
    }
}

fn windows_options(options: &Part, found: &mut Vec<FieldError>) {
    const LARGEST: usize = 64 * 1024;
    if let Some(name) = options.set("gmsaCredentialSpecName") {
        name.name(names::dns_subdomain, found);
    }
    if let Some(spec) = options.set("gmsaCredentialSpec") {
        if spec.text().is_empty() {
            spec.invalid("gmsaCredentialSpec cannot be an empty string", found);
        } else if spec.text().len() > LARGEST {
            spec.invalid("gmsaCredentialSpec size must be under 64 KiB", found);
        }
    }
    if let Some(name) = options.set("runAsUserName") {
        windows_user(&name, found);
    }
}

/// The name of a user of Windows, with a domain or without.
fn windows_user(name: &Part, found: &mut Vec<FieldError>) {
    let text = name.text();
    let mut wrong = |detail: &str| name.invalid(format!("runAsUserName{detail}"), found);
    if text.is_empty() {
        return wrong(" cannot be an empty string");
    }
    if text.chars().any(|letter| letter.is_ascii_control()) {
        return wrong(" cannot contain control characters");
    }
    let (domain, user) = match text.split_once('\\') {
        Some((_, rest)) if rest.contains('\\') => {
            return wrong(" cannot contain more than one backslash");
        }
        Some((domain, user)) => (Some(domain), user),
        None => (None, text),
    };
    if let Some(domain) = domain {
        if domain.len() >= 256 {
            wrong("'s Domain length must be under 256 characters");
        }
        let of_net_bios = (1..=15).contains(&domain.chars().count())
            && !domain.starts_with('.')
            && !domain.contains(['/', ':', '*', '?', '"', '<', '>', '|']);
        if !of_net_bios && !names::dns_subdomain(&domain.to_lowercase()).is_empty() {
            wrong("'s Domain doesn't match the NetBios nor the DNS format");
        }
    }
    if user.is_empty() {
        wrong("'s User cannot be empty");
    } else if user.len() > 104 {
        wrong("'s User length must not be longer than 104 characters");
    }
    if !user.is_empty() && user.chars().all(|letter| matches!(letter, '.' | ' ')) {
        wrong("'s User cannot contain only periods or spaces");
    }
    if user.contains([
        '"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']',
    ]) {
        wrong(r#"'s User cannot contain the following characters: "/\:;|=,+*?<>@[]"#);
    }
}

/// The security context of a container.
pub(super) fn of_container(context: &Part, host_users: bool, found: &mut Vec<FieldError>) {
    if !context.is_set() {
        return;
    }
    for field in ["runAsUser", "runAsGroup"] {
        context.get(field).within(0, HIGHEST_ID, found);
    }
    if let Some(mount) = context.set("procMount") {
        mount.one_of(&["Default", "Unmasked"], found);
        if host_users && mount.text() == "Unmasked" {
            mount.invalid("`hostUsers` must be false to use `Unmasked`", found);
        }
    }
    seccomp(&context.get("seccompProfile"), found);
    if context.get("allowPrivilegeEscalation").value == false {
        if context.is_true("privileged") {
            let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            found.push(internal_invalid(
                CONTEXT,
                &context.path,
                context.value,
                detail,
            ));
        }
        let added = context.get("capabilities");
        let admins = added
            .list("add")
            .iter()
            .filter(|name| *name == "CAP_SYS_ADMIN");
        for _ in admins {
            let detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            found.push(internal_invalid(
                CONTEXT,
                &context.path,
                context.value,
                detail,
            ));
        }
    }
    windows_options(&context.get("windowsOptions"), found);
    app_armor(&context.get("appArmorProfile"), found);
}

/// Pods with users of their own share little with the node, and containers of Windows that belong to the node are alone.
pub(super) fn host_users(spec: &Part, found: &mut Vec<FieldError>) {
    host_processes(spec, found);
    if spec.get("hostUsers").value != false {
        return;
    }
    const DETAIL: &str = "when `hostUsers` is false";
    for (field, shown) in [
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ] {
        if spec.is_true(field) {
            spec.get(shown).forbidden(DETAIL, found);
        }
    }
    for container in containers::all(spec) {
        if !container.list("volumeDevices").is_empty() {
            container.get("volumeDevices").forbidden(DETAIL, found);
        }
    }
}

fn host_processes(spec: &Part, found: &mut Vec<FieldError>) {
    let of = |owner: &Part| {
        let options = owner.get("securityContext").get("windowsOptions");
        options.get("hostProcess").value.as_bool()
    };
    let of_pod = of(spec);
    let (mut all, mut of_host) = (0, 0);
    for container in containers::all(spec) {
        let own = of(&container);
        if let (Some(pod), Some(own)) = (of_pod, own)
            && pod != own
        {
            let options = container.get("securityContext").get("windowsOptions");
            let detail =
                format!("pod hostProcess value must be identical if both are specified, was {pod}");
            options.get("hostProcess").invalid_as(own, detail, found);
        }
        all += 1;
        of_host += usize::from(own.or(of_pod) == Some(true));
    }
    if of_host == 0 {
        return;
    }
    if of_host != all {
        let detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        spec.invalid_as("", detail, found);
    }
    if !spec.is_true("hostNetwork") {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        spec.get("hostNetwork").invalid_as(false, detail, found);
    }
}

/// The fields of a Pod's security context that Windows lacks, in the order of a real server; `/` are those of the Pod.
const NOT_WINDOWS_POD: [&str; 15] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
    "/hostUsers",
    "/hostPID",
    "/hostIPC",
    "/shareProcessNamespace",
];

const NOT_WINDOWS: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

/// The operating system of the node, and what it lacks.
pub(super) fn system(spec: &Part, found: &mut Vec<FieldError>) {
    let Some(system) = spec.set("os") else {
        return;
    };
    let name = system.get("name");
    let context = spec.get("securityContext");
    match name.text() {
        "" => name.missing("", found),
        "linux" => {
            const DETAIL: &str = "windows options cannot be set for a linux pod";
            let of_containers = containers::all(spec).map(|one| one.get("securityContext"));
            for context in [context].into_iter().chain(of_containers) {
                if let Some(options) = context.set("windowsOptions") {
                    options.forbidden(DETAIL, found);
                }
            }
        }
        "windows" => {
            const DETAIL: &str = "cannot be set for a windows pod";
            for field in NOT_WINDOWS_POD {
                let (field, is_flag) = match field.strip_prefix('/') {
                    Some(name) => (spec.get(name), matches!(name, "hostPID" | "hostIPC")),
                    None => (context.get(field), false),
                };
                if field.is_set() && !(is_flag && field.value == false) {
                    field.forbidden(DETAIL, found);
                }
            }
            for container in containers::all(spec) {
                let context = container.get("securityContext");
                for field in NOT_WINDOWS.iter().filter_map(|field| context.set(field)) {
                    field.forbidden(DETAIL, found);
                }
            }
        }
        _ => name
            .named_as(&system.path)
            .one_of(&["linux", "windows"], found),
    }
}
