use serde_json::Value;

use super::baseline::restricts;
use super::pod::{Pod, Values, Violation, named, plural, quoted, setters};

pub(super) fn privilege_escalation(pod: &Pod<'_>) -> Option<Violation> {
    let containers = pod.wrong(|one| one["securityContext"]["allowPrivilegeEscalation"] != false);
    (!containers.is_empty()).then(|| {
        let detail = format!(
            "{} must set securityContext.allowPrivilegeEscalation=false",
            named(&containers)
        );
        Violation::new("allowPrivilegeEscalation != false", detail)
    })
}

pub(super) fn privilege_escalation_25(pod: &Pod<'_>) -> Option<Violation> {
    privilege_escalation(pod).filter(|_| !pod.is_windows())
}

pub(super) fn capabilities(pod: &Pod<'_>) -> Option<Violation> {
    let mut values = Values::new();
    let list = |container: &Value, field: &str| -> Vec<String> {
        let all = container["securityContext"]["capabilities"][field].as_array();
        let all = all.into_iter().flatten().filter_map(Value::as_str);
        all.map(str::to_owned).collect()
    };
    let keeping = pod.wrong(|one| !list(one, "drop").iter().any(|name| name == "ALL"));
    let adding = pod.wrong(|one| {
        let added = list(one, "add").into_iter();
        let wrong: Vec<String> = added.filter(|name| name != "NET_BIND_SERVICE").collect();
        let is_wrong = !wrong.is_empty();
        values.extend(wrong);
        is_wrong
    });
    let mut details = Vec::new();
    if !keeping.is_empty() {
        details.push(format!(
            "{} must set securityContext.capabilities.drop=[\"ALL\"]",
            named(&keeping)
        ));
    }
    if !adding.is_empty() {
        details.push(format!(
            "{} must not include {} in securityContext.capabilities.add",
            named(&adding),
            quoted(&values)
        ));
    }
    (!details.is_empty()).then(|| Violation::new("unrestricted capabilities", details.join("; ")))
}

pub(super) fn capabilities_25(pod: &Pod<'_>) -> Option<Violation> {
    capabilities(pod).filter(|_| !pod.is_windows())
}

const ALLOWED_VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

pub(super) fn volumes(pod: &Pod<'_>) -> Option<Violation> {
    let (mut names, mut types) = (Vec::new(), Values::new());
    for volume in pod.spec["volumes"].as_array().into_iter().flatten() {
        let Some(fields) = volume.as_object() else {
            continue;
        };
        let mut sources = fields
            .iter()
            .filter(|(key, value)| key.as_str() != "name" && !value.is_null());
        let is_allowed = |kind: &str| ALLOWED_VOLUMES.contains(&kind);
        if sources.clone().any(|(kind, _)| is_allowed(kind)) {
            continue;
        }
        names.push(volume["name"].as_str().unwrap_or_default());
        types.insert(match sources.next() {
            None => "unknown".to_owned(),
            // A real server writes its name so.
            Some((kind, _)) => kind.replace("storageOS", "storageos"),
        });
    }
    (!names.is_empty()).then(|| {
        let uses = if names.len() == 1 { "uses" } else { "use" };
        let detail = format!(
            "{} {} {uses} {} {}",
            plural("volume", names.len()),
            quoted(&names),
            plural("restricted volume type", types.len()),
            quoted(&types)
        );
        Violation::new("restricted volume types", detail)
    })
}

pub(super) fn non_root(pod: &Pod<'_>) -> Option<Violation> {
    const REASON: &str = "runAsNonRoot != true";
    let of = |object: &Value| object["securityContext"]["runAsNonRoot"].as_bool();
    let own = of(pod.spec);
    let refusing = pod.wrong(|one| of(one) == Some(false));
    if let Some(who) = setters(own == Some(false), &refusing) {
        let detail = format!("{who} must not set securityContext.runAsNonRoot=false");
        return Some(Violation::new(REASON, detail));
    }
    let silent = pod.wrong(|one| of(one).is_none() && own != Some(true));
    (!silent.is_empty()).then(|| {
        let detail = format!(
            "pod or {} must set securityContext.runAsNonRoot=true",
            named(&silent)
        );
        Violation::new(REASON, detail)
    })
}

pub(super) fn non_root_35(pod: &Pod<'_>) -> Option<Violation> {
    non_root(pod).filter(|_| !pod.has_own_users())
}

pub(super) fn user(pod: &Pod<'_>) -> Option<Violation> {
    let is_root = |object: &Value| object["securityContext"]["runAsUser"] == 0;
    let who = setters(is_root(pod.spec), &pod.wrong(is_root))?;
    let detail = format!("{who} must not set runAsUser=0");
    Some(Violation::new("runAsUser=0", detail))
}

pub(super) fn user_35(pod: &Pod<'_>) -> Option<Violation> {
    user(pod).filter(|_| !pod.has_own_users())
}

pub(super) fn seccomp(pod: &Pod<'_>) -> Option<Violation> {
    let wrong = super::baseline::seccomp(pod);
    if wrong.is_some() {
        return wrong;
    }
    let of = |object: &'_ Value| object["securityContext"]["seccompProfile"].clone();
    let own = restricts(&of(pod.spec));
    let silent = pod.wrong(|one| of(one).is_null() && !own);
    (!silent.is_empty()).then(|| {
        let detail = format!(
            "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
            named(&silent)
        );
        Violation::new("seccompProfile", detail)
    })
}

pub(super) fn seccomp_25(pod: &Pod<'_>) -> Option<Violation> {
    seccomp(pod).filter(|_| !pod.is_windows())
}
