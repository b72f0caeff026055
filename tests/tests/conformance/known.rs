//! Where the sandbox differs from a real API server.

use crate::normal::Difference;

/// Scenario and step, a place in the answer (each by its beginning; `*` is any name), and the reason why the difference stays.
const KNOWN: &[(&str, &str, &str)] = &[
    (
        "definitions-refused: selectable field",
        "",
        "selectable fields are not offered; the answer says so",
    ),
    (
        "definitions-refused: conversion",
        "",
        "conversion webhooks are not offered; the answer says so",
    ),
    (
        "definitions-refused: rule is too expensive",
        "",
        "costs of rules are not estimated",
    ),
    (
        "definitions-refused: pattern",
        "/body",
        "regular expressions are read by another parser, which has words of its own",
    ),
    (
        "token-reviews: a token that is none",
        "/body/message",
        "reviews are read without the types of Go",
    ),
    (
        "access-reviews: SelfSubjectAccessReview: another kind",
        "/body/message",
        "reviews are read without the types of Go",
    ),
    (
        "access-reviews: SubjectAccessReview: another kind",
        "/body/message",
        "reviews are read without the types of Go",
    ),
    (
        "apply-deployment: no YAML",
        "/body/message",
        "YAML is read by another parser, which has words of its own",
    ),
    (
        "discovery: core versions",
        "/body/serverAddressByClientCIDRs",
        "a server in one process has no addresses to tell",
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
        "no objects are an empty list and not null, which clients read alike",
    ),
    (
        "forms: gadgets: metadata of a list of a deletion of many",
        "/body/items",
        "no objects are an empty list and not null, which clients read alike",
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
        "pruning: another",
        "/body/message",
        "protobuf is not offered",
    ),
    (
        "pods: binding: after",
        "/body/status/conditions/0/lastProbeTime",
        "times that are null are left out",
    ),
    (
        "evictions: evicted: the pod",
        "/body/status/conditions/1/lastProbeTime",
        "times that are null are left out",
    ),
    (
        "evictions: unready",
        "/body/status/conditions/1/lastProbeTime",
        "times that are null are left out",
    ),
    (
        "evictions: evicted: the budget",
        "/body/metadata/managedFields",
        "the server of these tests is a program of another name",
    ),
    ("namespaces: ", "", "a namespace's conditions are not told"),
    (
        "crud: claim: ",
        "/body/metadata/finalizers",
        "claims are not protected while pods use them: no controller would end that",
    ),
    (
        "crud: claim: nothing changed",
        "",
        "the first update of a claim is stored although nothing in it is seen to change: a detail of its storage",
    ),
];

/// What the built-in kinds and their fields are for is read elsewhere.
const DOCUMENTATION: &str = "the documentation of built-in kinds is left out";

/// Whether this difference is one that stays.
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
