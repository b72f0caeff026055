//! The known differences between the sandbox and a real API server.

use crate::comparison::Difference;

/// Scenario and step, a path in the answer (each by its prefix; `*` is any name), and the reason why the difference stays.
const KNOWN: &[(&str, &str, &str)] = &[
    (
        "conversion: numbers: read",
        "/body/message",
        "the sandbox does not name the Go type of a wrong label",
    ),
    (
        "webhooks: another version: asked",
        "/body/*/object",
        "the sandbox writes empty fields of a converted Event",
    ),
    (
        "webhooks: delete collection: asked",
        "/body/*/name",
        "the sandbox names the object, as a deletion of one does",
    ),
    (
        "webhooks: other-version",
        "/body",
        "the sandbox reads reviews without Go's conversions",
    ),
    (
        "webhooks: patch-wrong",
        "/body",
        "another program applies JSON patches, and has other error texts",
    ),
    (
        "webhooks: put: asked",
        "/body/*/object/metadata",
        "the sandbox shows the system's metadata although the client has left it out",
    ),
    (
        "webhooks: scale: asked",
        "/body",
        "a scale of the sandbox has no managedFields",
    ),
    (
        "errors: secret: tls: empty pair",
        "/warnings",
        "the sandbox does not read the certificate of a Secret, about which a real server warns",
    ),
    (
        "namespaces: create",
        "/body/metadata/managedFields/0/fieldsV1/f:spec",
        "a real server adds the finalizer of a namespace without an owner of the field",
    ),
    (
        "definitions-refused: pattern",
        "/body",
        "another parser reads regular expressions, and has other error texts",
    ),
    (
        "token-reviews: a token that is none",
        "/body/message",
        "the sandbox reads reviews without Go's types",
    ),
    (
        "access-reviews: SelfSubjectAccessReview: another kind",
        "/body/message",
        "the sandbox reads reviews without Go's types",
    ),
    (
        "access-reviews: SubjectAccessReview: another kind",
        "/body/message",
        "the sandbox reads reviews without Go's types",
    ),
    (
        "apply-deployment: no YAML",
        "/body/message",
        "another parser reads YAML, and has other error texts",
    ),
    (
        "discovery: core versions",
        "/body/serverAddressByClientCIDRs",
        "a server inside the test process has no addresses",
    ),
    (
        "discovery: openapi: /apis",
        "/body/parameters/*/description",
        DOCUMENTATION,
    ),
    (
        "discovery: openapi: /apis",
        "/body/*/parameters/*/description",
        DOCUMENTATION,
    ),
    (
        "discovery: openapi: dev.pilothouse",
        "/body/properties/apiVersion/description",
        DOCUMENTATION,
    ),
    (
        "discovery: openapi: dev.pilothouse",
        "/body/properties/kind/description",
        DOCUMENTATION,
    ),
    (
        "discovery: openapi: dev.pilothouse",
        "/body/properties/metadata/description",
        DOCUMENTATION,
    ),
    (
        "discovery: openapi: dev.pilothouse.conformance.v1.GadgetList",
        "/body/properties/items/description",
        DOCUMENTATION,
    ),
    (
        "discovery: openapi: dev.pilothouse.conformance.v1.Gadget",
        "/body/properties/spec/properties/embedded/properties/*/description",
        DOCUMENTATION,
    ),
    (
        "forms: secrets: metadata of a list of a deletion of many",
        "/body/items",
        "the sandbox sends an empty list instead of null, which clients read the same way",
    ),
    (
        "forms: gadgets: metadata of a list of a deletion of many",
        "/body/items",
        "the sandbox sends an empty list instead of null, which clients read the same way",
    ),
    (
        "forms: secrets: table",
        "/body/columnDefinitions/*/description",
        DOCUMENTATION,
    ),
    (
        "forms: secrets: table",
        "/body/*/object/columnDefinitions/*/description",
        DOCUMENTATION,
    ),
    (
        "forms: gadgets: table",
        "/body/columnDefinitions/*/description",
        DOCUMENTATION,
    ),
    (
        "forms: gadgets: table",
        "/body/*/object/columnDefinitions/*/description",
        DOCUMENTATION,
    ),
    (
        "kinds/",
        "/body/columnDefinitions/*/description",
        DOCUMENTATION,
    ),
    (
        "kinds/apiservices.apiregistration.k8s.io: ",
        "/body/status/conditions",
        CONTROLLERS,
    ),
    (
        "kinds/apiservices.apiregistration.k8s.io: ",
        "/body/metadata/managedFields",
        CONTROLLERS,
    ),
    (
        "kinds/apiservices.apiregistration.k8s.io: ",
        "/body/items/*/status",
        CONTROLLERS,
    ),
    (
        "kinds/apiservices.apiregistration.k8s.io: ",
        "/body/items/*/metadata/managedFields",
        CONTROLLERS,
    ),
    (
        "kinds/apiservices.apiregistration.k8s.io: ",
        "/body/*/object/status",
        CONTROLLERS,
    ),
    (
        "kinds/apiservices.apiregistration.k8s.io: ",
        "/body/*/object/metadata/managedFields",
        CONTROLLERS,
    ),
    (
        "kinds/apiservices.apiregistration.k8s.io: ",
        "/body/rows/*/object/metadata/managedFields",
        CONTROLLERS,
    ),
    (
        "kinds/apiservices.apiregistration.k8s.io: ",
        "/body/rows/0/cells",
        CONTROLLERS,
    ),
    (
        "kinds/apiservices.apiregistration.k8s.io: unknown field",
        "/body/message",
        CONTROLLERS,
    ),
    (
        "kinds/apiservices.apiregistration.k8s.io: unknown field",
        "/body/details/causes/0/message",
        CONTROLLERS,
    ),
    (
        "kinds/flowschemas.flowcontrol.apiserver.k8s.io: ",
        "/body/status/conditions",
        CONTROLLERS,
    ),
    (
        "kinds/flowschemas.flowcontrol.apiserver.k8s.io: ",
        "/body/metadata/managedFields",
        CONTROLLERS,
    ),
    (
        "kinds/flowschemas.flowcontrol.apiserver.k8s.io: ",
        "/body/items/*/status",
        CONTROLLERS,
    ),
    (
        "kinds/flowschemas.flowcontrol.apiserver.k8s.io: ",
        "/body/items/*/metadata/managedFields",
        CONTROLLERS,
    ),
    (
        "kinds/flowschemas.flowcontrol.apiserver.k8s.io: ",
        "/body/*/object/status",
        CONTROLLERS,
    ),
    (
        "kinds/flowschemas.flowcontrol.apiserver.k8s.io: ",
        "/body/*/object/metadata/managedFields",
        CONTROLLERS,
    ),
    (
        "kinds/flowschemas.flowcontrol.apiserver.k8s.io: ",
        "/body/rows/*/object/metadata/managedFields",
        CONTROLLERS,
    ),
    (
        "kinds/flowschemas.flowcontrol.apiserver.k8s.io: ",
        "/body/rows/0/cells",
        CONTROLLERS,
    ),
    (
        "kinds/flowschemas.flowcontrol.apiserver.k8s.io: unknown field",
        "/body/message",
        CONTROLLERS,
    ),
    (
        "kinds/flowschemas.flowcontrol.apiserver.k8s.io: unknown field",
        "/body/details/causes/0/message",
        CONTROLLERS,
    ),
    (
        "kinds/certificatesigningrequests.certificates.k8s.io: ",
        "/body/spec/extra",
        "the administrator of the sandbox has no client certificate, whose hash a real server notes",
    ),
    (
        "kinds/certificatesigningrequests.certificates.k8s.io: ",
        "/body/items/*/spec/extra",
        "the administrator of the sandbox has no client certificate, whose hash a real server notes",
    ),
    (
        "kinds/certificatesigningrequests.certificates.k8s.io: ",
        "/body/*/object/spec/extra",
        "the administrator of the sandbox has no client certificate, whose hash a real server notes",
    ),
    (
        "kinds/certificatesigningrequests.certificates.k8s.io: unknown field",
        "/body/message",
        "the administrator of the sandbox has no client certificate, whose hash a real server notes",
    ),
    (
        "kinds/persistentvolumes: update source",
        "/body/message",
        "a real server appends the difference between two values of its own type",
    ),
    (
        "kinds/volumeattachments.storage.k8s.io: update node",
        "/body/message",
        "a real server shows a value of its own type",
    ),
    (
        "kinds/deviceclasses.resource.k8s.io: refused: empty expression",
        "/body/message",
        "another parser reads CEL, and has other error texts",
    ),
    (
        "kinds/validatingadmissionpolicies.admissionregistration.k8s.io: refused: unknown variable",
        "/body/message",
        "another parser reads CEL, and has other error texts",
    ),
    (
        "kinds/certificatesigningrequests.certificates.k8s.io: unknown field",
        "/body/details/causes/0/message",
        "the administrator of the sandbox has no client certificate, whose hash a real server notes",
    ),
    (
        "kinds/persistentvolumes: update source",
        "/body/details/causes/0/message",
        "a real server appends the difference between two values of its own type",
    ),
    (
        "kinds/volumeattachments.storage.k8s.io: update node",
        "/body/details/causes/0/message",
        "a real server shows a value of its own type",
    ),
    (
        "kinds/deviceclasses.resource.k8s.io: refused: empty expression",
        "/body/details/causes/0/message",
        "another parser reads CEL, and has other error texts",
    ),
    (
        "kinds/validatingadmissionpolicies.admissionregistration.k8s.io: refused: unknown variable",
        "/body/details/causes/0/message",
        "another parser reads CEL, and has other error texts",
    ),
    (
        "kinds/ipaddresses.networking.k8s.io: table of",
        "/body/rows/0/cells",
        "a real server sends a cell that has no column",
    ),
    (
        "kinds/horizontalpodautoscalers.v1.autoscaling: table of rich",
        "/body/rows/0/object/metadata/annotations",
        "a real server leaves out the annotations of the conversion in tables",
    ),
    (
        "kinds/horizontalpodautoscalers.v1.autoscaling: status in the main resource",
        "/body/metadata/managedFields/0/fieldsV1/f:metadata",
        CONVERSION,
    ),
    (
        "kinds/horizontalpodautoscalers.v1.autoscaling: table of minimal",
        "/body/rows/0/object/metadata/managedFields/0/fieldsV1/f:metadata",
        CONVERSION,
    ),
    (
        "tables: gadgets: ",
        "/body/columnDefinitions/0/description",
        DOCUMENTATION,
    ),
    (
        "tables: secrets: ",
        "/body/columnDefinitions/*/description",
        DOCUMENTATION,
    ),
    (
        "tables: v1/",
        "/body/columnDefinitions/*/description",
        DOCUMENTATION,
    ),
    (
        "tables: apps/",
        "/body/columnDefinitions/*/description",
        DOCUMENTATION,
    ),
    (
        "tables: batch/",
        "/body/columnDefinitions/*/description",
        DOCUMENTATION,
    ),
    (
        "tables: coordination.k8s.io/",
        "/body/columnDefinitions/*/description",
        DOCUMENTATION,
    ),
    (
        "tables: rbac.authorization.k8s.io/",
        "/body/columnDefinitions/*/description",
        DOCUMENTATION,
    ),
    (
        "tables: namespace",
        "/body/columnDefinitions/*/description",
        DOCUMENTATION,
    ),
    (
        "tables: definition",
        "/body/columnDefinitions/*/description",
        DOCUMENTATION,
    ),
    (
        "pruning: another answer",
        "/body/message",
        "answers in YAML are not offered",
    ),
    (
        "protobuf-forms: secrets: table: ",
        "/body/message",
        "answers in YAML are not offered",
    ),
    (
        "protobuf-forms: gadgets: protobuf: ",
        "/body/message",
        "answers in YAML are not offered",
    ),
    (
        "protobuf-forms: gadgets: stream: ",
        "/body/message",
        "answers in YAML are not offered",
    ),
    (
        "protobuf-forms: gadgets: table: ",
        "/body/message",
        "answers in YAML are not offered",
    ),
    (
        "protobuf-forms: gadget: refused",
        "/body/message",
        "answers in YAML are not offered",
    ),
    (
        "protobuf: v1/pods: deleted",
        "/body/metadata",
        "the sandbox returns a Pod that is deleted at once as it was before, a real server with the time of its deletion",
    ),
    (
        "protobuf: apps/v1/controllerrevisions: ",
        "/body/metadata/managedFields",
        OWNED_DATA,
    ),
    (
        "protobuf: apps/v1/controllerrevisions: list",
        "/body/items/0/metadata/managedFields",
        OWNED_DATA,
    ),
    (
        "protobuf: apps/v1/controllerrevisions: watch",
        "/body/0/object/metadata/managedFields",
        OWNED_DATA,
    ),
    (
        "protobuf-forms: /api",
        "/body/serverAddressByClientCIDRs",
        "a server inside the test process has no addresses",
    ),
    (
        "protobuf-refused: no text",
        "/body",
        "the sandbox replaces what is not UTF-8 when it reads a body, a real server when it writes an answer",
    ),
    (
        "pods: binding: after",
        "/body/status/conditions/0/lastProbeTime",
        "the sandbox leaves out times that are null",
    ),
    (
        "evictions: evicted: the pod",
        "/body/status/conditions/1/lastProbeTime",
        "the sandbox leaves out times that are null",
    ),
    (
        "evictions: unready",
        "/body/status/conditions/1/lastProbeTime",
        "the sandbox leaves out times that are null",
    ),
    (
        "evictions: evicted: the budget",
        "/body/metadata/managedFields",
        "the test's server program has another name",
    ),
    (
        "crud: claim: nothing changed",
        "",
        "a real server stores the first update of a claim although nothing visible changes, a detail of its storage",
    ),
    (
        "kubectl-create: get service n -o yaml",
        "/body/stdout",
        NODE_PORTS,
    ),
    (
        "kubectl-run: describe what was exposed",
        "/body/stdout",
        NODE_PORTS,
    ),
    (
        "kubectl-run: get what was exposed",
        "/body/stdout",
        NODE_PORTS,
    ),
    (
        "kubectl-get: get --raw /api/v1",
        "/body/stdout",
        "the sandbox writes the keys of an object in alphabetical order",
    ),
    (
        "kubectl-nodes: describe node",
        "/body/stdout",
        "a real server taints a new node, and a controller removes the taint when the node is ready; the sandbox has no such controller",
    ),
    (
        "kubectl-get: get deployment web --subresource=scale",
        "/body/stdout",
        SCALES,
    ),
    (
        "kubectl-scale: get deployment web --subresource=scale",
        "/body/stdout",
        SCALES,
    ),
    (
        "kubectl-patch: patch an unknown field",
        "/body/stdout",
        "the sandbox stores a patch that only adds an unknown field as a change",
    ),
];

/// The reason why a Scale has fewer columns.
const SCALES: &str = "the sandbox shows a Scale with its name and age only";

/// The reason why ports at the nodes are missing.
const NODE_PORTS: &str =
    "the sandbox allots no ports at the nodes, because nothing would listen there";

const OWNED_DATA: &str =
    "the owner of the data of a ControllerRevision is the owner of each field in it";

/// The reason why some conditions are missing.
const CONTROLLERS: &str = "the sandbox has no controllers of the API server's own objects";

/// The reason why an annotation has no owner.
const CONVERSION: &str =
    "a real server gives an annotation of the conversion an owner although the change was refused";

/// The reason why descriptions of built-in kinds and fields are ignored.
const DOCUMENTATION: &str = "the sandbox leaves out the documentation of built-in kinds";

/// Whether this difference is known.
pub(crate) fn is_known(difference: &Difference) -> bool {
    KNOWN
        .iter()
        .any(|(step, at, _)| difference.step.starts_with(step) && begins(&difference.at, at))
}

fn begins(at: &str, pattern: &str) -> bool {
    let Some((before, after)) = pattern.split_once("/*") else {
        return at.starts_with(pattern);
    };
    at.strip_prefix(before)
        .and_then(|rest| rest.strip_prefix('/'))
        .is_some_and(|rest| begins(rest.find('/').map_or("", |end| &rest[end..]), after))
}
