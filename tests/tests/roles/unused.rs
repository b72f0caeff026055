/// What the framework reads from the server only if its cache may be wrong.
const UNSURE: &str =
    "asked after a write whose outcome is unknown, and before something is taken over or deleted";
/// `list` shows the same.
const LIVE: &str = "for `Context::live`; who may list may see each object anyway";
/// Admission plugin of some API servers.
const OWNERS: &str =
    "asked by servers with the admission plugin OwnerReferencesPermissionEnforcement";

/// Permissions that no story needs: the example or `None` for all, the permission, and the reason why it is printed.
pub(super) const UNUSED: &[(Option<&str>, &str, &str)] = &[
    (
        None,
        "patch events",
        "only core/v1 changes the note of an Event, when a failure has another text",
    ),
    (Some("website"), "get configmaps", UNSURE),
    (Some("website"), "get deployments.apps", UNSURE),
    (Some("website"), "get websites.demo.pilothouse.dev", UNSURE),
    (
        Some("website"),
        "update websites.demo.pilothouse.dev/finalizers",
        OWNERS,
    ),
    (Some("configmap-sync"), "get namespaces", LIVE),
    (
        Some("configmap-sync"),
        "get sharedconfigs.demo.pilothouse.dev",
        UNSURE,
    ),
    (Some("scheduled-task"), "get jobs.batch", UNSURE),
    (
        Some("scheduled-task"),
        "get scheduledtasks.demo.pilothouse.dev",
        UNSURE,
    ),
    (
        Some("scheduled-task"),
        "update scheduledtasks.demo.pilothouse.dev/finalizers",
        OWNERS,
    ),
    (Some("bucket"), "get buckets.demo.pilothouse.dev", UNSURE),
    (
        Some("file-backup"),
        "get filebackups.demo.pilothouse.dev",
        UNSURE,
    ),
];
