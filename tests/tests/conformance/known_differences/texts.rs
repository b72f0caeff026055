use super::Row;

/// Texts of errors that other parsers and Go's own types lead to.
pub(super) const ROWS: &[Row] = &[
    Row {
        steps: &["cbor-forms: body: "],
        paths: &["/body/message"],
        why: "another program reads CBOR",
    },
    Row {
        steps: &["conversion: numbers: read"],
        paths: &["/body/message", "/body/details/causes/0/message"],
        why: "a real server names the Go type of a wrong label",
    },
    Row {
        steps: &["webhooks: other-version"],
        paths: &["/body"],
        why: "a real server reads reviews with the conversions of Go",
    },
    Row {
        steps: &["webhooks: patch-wrong"],
        paths: &["/body"],
        why: "another program applies JSON patches",
    },
    Row {
        steps: &["definitions-refused: pattern"],
        paths: &["/body"],
        why: "another parser reads regular expressions",
    },
    Row {
        steps: &["faults-customresourcedefinitions: versions: /spec/versions/1 "],
        paths: &["/body/message", "/body/details/causes/0/message"],
        why: "a real server shows schemas that differ in the form of its own types",
    },
    Row {
        steps: &["apply-deployment: no YAML"],
        paths: &["/body/message"],
        why: "another parser reads YAML",
    },
    Row {
        steps: &[
            "kinds/deviceclasses.resource.k8s.io: refused: empty expression",
            "kinds/validatingadmissionpolicies.admissionregistration.k8s.io: refused: unknown variable",
        ],
        paths: &["/body/message", "/body/details/causes/0/message"],
        why: "another parser reads CEL",
    },
    Row {
        steps: &[
            "token-reviews: a token that is none",
            "access-reviews: SelfSubjectAccessReview: another kind",
            "access-reviews: SubjectAccessReview: another kind",
        ],
        paths: &["/body/message"],
        why: "reviews are read without Go's types",
    },
    Row {
        steps: &["protobuf-refused: no text"],
        paths: &["/body"],
        why: "what is not UTF-8 is replaced when a body is read, by a real server when it writes an answer",
    },
];
