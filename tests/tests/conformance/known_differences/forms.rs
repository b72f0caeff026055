use super::Row;

/// Details of an answer that no client notices.
pub(super) const ROWS: &[Row] = &[
    Row {
        steps: &["webhooks: another version: asked"],
        paths: &["/body/*/object"],
        why: "the sandbox writes the empty fields of a converted Event",
    },
    Row {
        steps: &["webhooks: delete collection: asked"],
        paths: &["/body/*/name"],
        why: "the sandbox names the object, as it does when one object is deleted",
    },
    Row {
        steps: &["webhooks: put: asked"],
        paths: &["/body/*/object/metadata"],
        why: "the sandbox shows the system's metadata although the client has left it out",
    },
    Row {
        steps: &["webhooks: scale: asked"],
        paths: &["/body"],
        why: "a scale of the sandbox has no managedFields",
    },
    Row {
        steps: &["kinds/ipaddresses.networking.k8s.io: table of"],
        paths: &["/body/rows/0/cells"],
        why: "a real server sends a cell that has no column",
    },
    Row {
        steps: &["kinds/horizontalpodautoscalers.v1.autoscaling: table of rich"],
        paths: &["/body/rows/0/object/metadata/annotations"],
        why: "a real server leaves out the annotations of the conversion in tables",
    },
    Row {
        steps: &[
            "kinds/horizontalpodautoscalers.v1.autoscaling: status in the main resource",
            "kinds/horizontalpodautoscalers.v1.autoscaling: table of minimal",
        ],
        paths: &["/**/managedFields/*/fieldsV1/f:metadata"],
        why: "a real server gives an annotation of the conversion an owner although the change was refused",
    },
    Row {
        steps: &[
            "crud: revision: ",
            "protobuf: apps/v1/controllerrevisions: ",
        ],
        paths: &["/**/metadata/managedFields"],
        why: "the owner of the data of a ControllerRevision is the owner of each field in it",
    },
    Row {
        steps: &["crud: claim: nothing changed"],
        paths: &[""],
        why: "a real server stores the first update of a claim although nothing visible changes",
    },
    Row {
        steps: &["kubectl-get: get --raw /api/v1"],
        paths: &["/body/stdout"],
        why: "the keys of an object are written in alphabetical order",
    },
    Row {
        steps: &["kubectl-patch: patch an unknown field"],
        paths: &["/body/stdout"],
        why: "a patch that only adds an unknown field counts as a change",
    },
];
