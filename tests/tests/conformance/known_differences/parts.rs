use super::Row;

/// Parts of a cluster that the sandbox does not have.
pub(super) const ROWS: &[Row] = &[
    Row {
        steps: &[
            "kinds/apiservices.apiregistration.k8s.io: ",
            "kinds/flowschemas.flowcontrol.apiserver.k8s.io: ",
        ],
        paths: &[
            "/**/status",
            "/**/metadata/managedFields",
            "/body/rows/0/cells",
        ],
        why: CONTROLLERS,
    },
    Row {
        steps: &[
            "kinds/apiservices.apiregistration.k8s.io: unknown field",
            "kinds/flowschemas.flowcontrol.apiserver.k8s.io: unknown field",
        ],
        paths: MESSAGE,
        why: CONTROLLERS,
    },
    Row {
        steps: &["kinds/certificatesigningrequests.certificates.k8s.io: "],
        paths: &["/**/spec/extra"],
        why: CERTIFICATE,
    },
    Row {
        steps: &["kinds/certificatesigningrequests.certificates.k8s.io: unknown field"],
        paths: MESSAGE,
        why: CERTIFICATE,
    },
    Row {
        steps: &["cbor-forms: review"],
        paths: &["/body/status/userInfo/extra"],
        why: CERTIFICATE,
    },
    Row {
        steps: &["errors: secret: tls: empty pair"],
        paths: &["/warnings"],
        why: "the certificate in a Secret is not read, so there is no warning about it",
    },
    Row {
        steps: &[
            "cbor-forms: document: /api",
            "discovery: core versions",
            "protobuf-forms: /api",
        ],
        paths: &["/body/serverAddressByClientCIDRs"],
        why: "a server inside the process of the test has no address",
    },
];

/// The message of a failure, and of its cause. It shows the whole object.
const MESSAGE: &[&str] = &["/body/message", "/body/details/causes/0/message"];

const CONTROLLERS: &str = "the controllers of the API server's own objects do not exist";

const CERTIFICATE: &str =
    "the administrator has no client certificate, whose hash a real server notes";
