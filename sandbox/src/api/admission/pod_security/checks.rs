use super::baseline as base;
use super::pod::{Pod, Violation};
use super::policy::{Level, Standard, Version};
use super::restricted as strict;

type Judge = fn(&Pod<'_>) -> Option<Violation>;

/// A check in its forms, each from a minor version of Kubernetes on.
struct Check {
    forms: &'static [(u32, Judge)],
    /// The number of the baseline's check that it replaces.
    replaces: Option<usize>,
}

const fn baseline(forms: &'static [(u32, Judge)]) -> Check {
    Check {
        forms,
        replaces: None,
    }
}

/// The newest version in which something changed.
const NEWEST: u32 = 35;

const CAPABILITIES: usize = 1;
const HOST_PATHS: usize = 3;
const PROC_MOUNT: usize = 7;
const SECCOMP: usize = 9;

/// In the order in which their violations are shown.
const BASELINE: [Check; 12] = [
    baseline(&[(0, base::app_armor)]),
    baseline(&[(0, base::capabilities)]),
    baseline(&[(0, base::host_namespaces)]),
    baseline(&[(0, base::host_paths)]),
    baseline(&[(0, base::host_ports)]),
    baseline(&[(34, base::host_probes)]),
    baseline(&[(0, base::privileged)]),
    baseline(&[(0, base::proc_mount), (35, base::proc_mount_of_host_users)]),
    baseline(&[(0, base::se_linux_0), (31, base::se_linux_31)]),
    baseline(&[(0, base::seccomp_annotations), (19, base::seccomp)]),
    baseline(&[
        (0, base::sysctls_0),
        (27, base::sysctls_27),
        (29, base::sysctls_29),
        (32, base::sysctls_32),
    ]),
    baseline(&[(0, base::host_process)]),
];

const RESTRICTED: [Check; 7] = [
    Check {
        forms: &[
            (8, strict::privilege_escalation),
            (25, strict::privilege_escalation_25),
        ],
        replaces: None,
    },
    Check {
        forms: &[(22, strict::capabilities), (25, strict::capabilities_25)],
        replaces: Some(CAPABILITIES),
    },
    Check {
        forms: &[(35, base::proc_mount)],
        replaces: Some(PROC_MOUNT),
    },
    Check {
        forms: &[(0, strict::volumes)],
        replaces: Some(HOST_PATHS),
    },
    Check {
        forms: &[(0, strict::non_root), (35, strict::non_root_35)],
        replaces: None,
    },
    Check {
        forms: &[(23, strict::user), (35, strict::user_35)],
        replaces: None,
    },
    Check {
        forms: &[(19, strict::seccomp), (25, strict::seccomp_25)],
        replaces: Some(SECCOMP),
    },
];

impl Check {
    fn form(&self, version: u32) -> Option<Judge> {
        let forms = self.forms.iter().rev();
        let mut known = forms.filter(|(first, _)| *first <= version);
        known.next().map(|(_, judge)| *judge)
    }
}

/// How a Pod violates a standard.
pub(super) fn violations(standard: Standard, pod: &Pod<'_>) -> Vec<Violation> {
    let version = match standard.version {
        Version::Latest => NEWEST,
        Version::Minor(minor) => minor.min(NEWEST),
    };
    let strict: &[Check] = match standard.level {
        Level::Privileged => return Vec::new(),
        Level::Baseline => &[],
        Level::Restricted => &RESTRICTED,
    };
    let in_force = || {
        let all = strict.iter();
        all.filter_map(|check| check.form(version).map(|judge| (check, judge)))
    };
    let is_replaced = |number: usize| in_force().any(|(check, _)| check.replaces == Some(number));
    let kept = BASELINE.iter().enumerate();
    let kept = kept.filter(|(number, _)| !is_replaced(*number));
    let kept = kept.filter_map(|(_, check)| check.form(version));
    let all = kept.chain(in_force().map(|(_, judge)| judge));
    all.filter_map(|judge| judge(pod)).collect()
}
