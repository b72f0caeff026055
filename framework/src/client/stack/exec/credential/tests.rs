use super::*;

fn parse(text: &str) -> Result<Credential, String> {
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    Credential::parse(text.as_bytes(), ExecVersion::V1, "the plugin", now)
        .map_err(|error| error.to_string())
}

fn printed(status: &str) -> String {
    format!(
        r#"{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{status}}}"#
    )
}

#[test]
fn an_invalid_credential_is_reported_and_not_quoted() {
    let table = [
        ("hunter2".to_owned(), "printed something else than"),
        (printed("[\"hunter2\"]"), "printed something else than"),
        (printed("null"), "printed no `status`"),
        (printed("{}"), "printed neither a token nor"),
        (printed(r#"{"token":""}"#), "printed neither a token nor"),
        (printed(r#"{"token":"hunter2\nx"}"#), "printed a token with"),
        (
            printed(r#"{"clientKeyData":"hunter2"}"#),
            "printed status.clientKeyData without",
        ),
        (
            printed(r#"{"clientCertificateData":"hunter2"}"#),
            "printed status.clientCertificateData without",
        ),
        (
            printed(r#"{"clientCertificateData":"hunter2","clientKeyData":"hunter2"}"#),
            "holds no readable certificate",
        ),
        (
            printed(r#"{"token":"hunter2"}"#).replace("/v1\"", "/hunter2\""),
            "printed credentials of another apiVersion",
        ),
        (
            printed(r#"{"token":"hunter2"}"#).replace("ExecC", "hunter2"),
            "printed an object of another kind",
        ),
    ];
    for (text, expected) in table {
        let error = parse(&text).err().expect(&text);
        assert!(error.contains(expected), "{error}");
        assert!(
            !error.contains("hunter2") && !error.contains('\n'),
            "{error}"
        );
    }
}

#[test]
fn credentials_are_renewed_in_the_last_part_of_their_life() {
    let table = [
        ("2026-01-01T00:01:40Z", 79, 80, 100),
        ("2026-01-01T01:00:00Z", 3479, 3480, 3600),
    ];
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let at = |seconds| start + SignedDuration::from_secs(seconds);
    for (end, fresh, late, expired) in table {
        let text = printed(&format!(r#"{{"token":"t","expirationTimestamp":"{end}"}}"#));
        let credential = parse(&text).unwrap();
        assert!(!credential.wants_renewal(at(fresh)));
        assert!(credential.wants_renewal(at(late)) && !credential.is_expired(at(late)));
        assert!(credential.is_expired(at(expired)));
    }
    let for_ever = parse(&printed(r#"{"token":"t"}"#)).unwrap();
    assert!(!for_ever.wants_renewal(Timestamp::MAX) && !for_ever.is_expired(Timestamp::MAX));
}

#[test]
fn yaml_is_read_as_kubectl_reads_it() {
    let text = "apiVersion: client.authentication.k8s.io/v1\nkind: ExecCredential\nstatus:\n  token: abc\n";
    assert_eq!(parse(text).unwrap().header.unwrap(), "Bearer abc");
}
