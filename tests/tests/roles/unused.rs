use pilothouse::testing::{Answer, Cluster, RequestMatcher};

/// What goes wrong while an example works.
pub(super) type FaultPath = fn(&Cluster);

/// A permission that no story needs.
pub(super) struct Unused {
    example: &'static str,
    pub(super) permission: &'static str,
    /// Why it is printed.
    pub(super) reason: &'static str,
    /// A fault after which the operator needs it. If there is no fault, the reason says why.
    pub(super) fault: Option<FaultPath>,
}

impl Unused {
    pub(super) fn concerns(&self, example: &str) -> bool {
        self.example == example
    }

    pub(super) fn is_for(&self, example: &str, permission: &str) -> bool {
        self.concerns(example) && self.permission == permission
    }
}

/// What the framework reads from the server only if its cache may be wrong.
const UNSURE: &str =
    "asked after a write whose outcome is unknown, and before something is taken over or deleted";
/// The sandbox has no such plugin, and a real server has it only if it is asked for.
const OWNERS: &str = "asked by servers with the admission plugin OwnerReferencesPermissionEnforcement; `tests/tests/deployed/owners.rs` \
                      starts one";

/// In memory the sandbox calls webhooks and conversions in the process.
const HTTPS: &str = "for the certificates of webhooks and conversions over HTTPS; `tests/tests/webhooks` and `tests/tests/deployed` have them";

/// Loses the answers to some writes of a resource. The client tries each again, so it takes several.
fn lose(cluster: &Cluster, resource: &str) {
    let writes = RequestMatcher::any().verb("patch").resource(resource);
    cluster.faults().lose_responses(writes, 12);
}

/// Fails the writes of a resource for a while, and not always for the same reason.
fn fail_differently(cluster: &Cluster, resource: &str) {
    for reason in ["the disk is full", "the disk is broken"] {
        let writes = RequestMatcher::any().verb("patch").resource(resource);
        let answer = Answer::status(500, "InternalError").message(reason);
        // The client tries each again.
        cluster.faults().answer(writes, answer, 24);
    }
}

const fn unsure(example: &'static str, permission: &'static str, fault: FaultPath) -> Unused {
    Unused {
        example,
        permission,
        reason: UNSURE,
        fault: Some(fault),
    }
}

const fn owners(example: &'static str, permission: &'static str) -> Unused {
    Unused {
        example,
        permission,
        reason: OWNERS,
        fault: None,
    }
}

const fn https(example: &'static str, permission: &'static str) -> Unused {
    Unused {
        example,
        permission,
        reason: HTTPS,
        fault: None,
    }
}

pub(super) const UNUSED: &[Unused] = &[
    unsure("website", "get configmaps", |cluster| {
        lose(cluster, "configmaps")
    }),
    unsure("website", "get deployments.apps", |cluster| {
        lose(cluster, "deployments")
    }),
    unsure("website", "get websites.demo.pilothouse.dev", |cluster| {
        lose(cluster, "websites")
    }),
    owners("website", "update websites.demo.pilothouse.dev/finalizers"),
    unsure(
        "configmap-sync",
        "get sharedconfigs.demo.pilothouse.dev",
        |cluster| lose(cluster, "sharedconfigs"),
    ),
    unsure("scheduled-task", "get jobs.batch", |cluster| {
        lose(cluster, "jobs")
    }),
    unsure(
        "scheduled-task",
        "get scheduledtasks.demo.pilothouse.dev",
        |cluster| lose(cluster, "scheduledtasks"),
    ),
    owners(
        "scheduled-task",
        "update scheduledtasks.demo.pilothouse.dev/finalizers",
    ),
    unsure("bucket", "get buckets.demo.pilothouse.dev", |cluster| {
        lose(cluster, "buckets")
    }),
    Unused {
        example: "file-backup",
        permission: "patch events",
        reason: "changes the text of an Event when a failure has another one. The failures of its story are all alike",
        fault: Some(|cluster| fail_differently(cluster, "filebackups")),
    },
    unsure(
        "file-backup",
        "get filebackups.demo.pilothouse.dev",
        |cluster| lose(cluster, "filebackups"),
    ),
    unsure(
        "quota-guard",
        "get quotaguards.demo.pilothouse.dev",
        |cluster| lose(cluster, "quotaguards"),
    ),
    unsure("shared-database", "get secrets", |cluster| {
        lose(cluster, "secrets")
    }),
    unsure("shared-database", "get services", |cluster| {
        lose(cluster, "services")
    }),
    unsure(
        "shared-database",
        "get shareddatabases.demo.pilothouse.dev",
        |cluster| lose(cluster, "shareddatabases"),
    ),
    owners(
        "shared-database",
        "update shareddatabases.demo.pilothouse.dev/finalizers",
    ),
    https("shared-database", "update secrets"),
    https(
        "shared-database",
        "get customresourcedefinitions.apiextensions.k8s.io",
    ),
    https(
        "shared-database",
        "patch customresourcedefinitions.apiextensions.k8s.io",
    ),
];
