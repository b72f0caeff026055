//! The known differences between the sandbox and a real API server.

use crate::comparison::Difference;

/// Scenario and step, a path in the answer (each by its prefix; `*` is any name), and the reason why the difference stays.
const KNOWN: &[(&str, &str, &str)] = &[
    (
        "definitions-refused: selectable field",
        "",
        "the sandbox does not offer selectable fields; its answer says so",
    ),
    (
        "definitions-refused: conversion",
        "",
        "the sandbox does not offer conversion webhooks; its answer says so",
    ),
    (
        "definitions-refused: rule is too expensive",
        "",
        "the sandbox does not estimate the cost of rules",
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
        "namespaces: ",
        "",
        "the sandbox does not set conditions of namespaces",
    ),
    (
        "crud: claim: ",
        "/body/metadata/finalizers",
        "the sandbox does not protect claims that Pods use, because no controller would remove the protection",
    ),
    (
        "crud: claim: nothing changed",
        "",
        "a real server stores the first update of a claim although nothing visible changes, a detail of its storage",
    ),
];

const OWNED_DATA: &str =
    "the owner of the data of a ControllerRevision is the owner of each field in it";

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
