use super::{
    NoFlags, Operator,
    command_line::CommandLine,
    logging::{self, LogFormat},
};

/// What a command line of an operator without controllers ends with.
fn failure(line: &[&str]) -> String {
    let line = ["website"].iter().chain(line);
    let line = CommandLine::parse::<NoFlags>("website", line).unwrap();
    let error = Operator::new("website").execute(line).unwrap_err();
    error.to_string()
}

#[test]
fn what_keeps_an_operator_from_starting_is_told_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("config");
    std::fs::write(
        &kubeconfig,
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]\n\
         contexts: [{name: c, context: {cluster: c, user: u}}]\n\
         users: [{name: u, user: {}}]\ncurrent-context: c\n",
    )
    .unwrap();
    let kubeconfig = kubeconfig.to_str().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();

    let text = failure(&["--kubeconfig", kubeconfig, "--metrics-address", &taken]);
    let start = format!("cannot listen on {taken} for metrics and health: ");
    let end = ": choose another address with --metrics-address, or 0 for none";
    assert!(text.starts_with(&start) && text.ends_with(end), "{text}");

    let missing = folder.path().join("missing");
    let text = failure(&["--kubeconfig", missing.to_str().unwrap()]);
    assert!(text.contains(missing.to_str().unwrap()), "{text}");

    let text = failure(&["--kubeconfig", kubeconfig, "--context", "other"]);
    assert!(text.contains("other"), "{text}");

    for text in [
        failure(&["--kubeconfig", missing.to_str().unwrap()]),
        logging::init(Some("pilothouse=loud"), LogFormat::Text)
            .unwrap_err()
            .to_string(),
    ] {
        assert!(!text.contains('\n'), "{text}");
    }
}

#[test]
fn a_log_filter_that_does_not_parse_says_where_it_stands() {
    let error = logging::init(Some("pilothouse=loud"), LogFormat::Text).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("--log pilothouse=loud: "), "{text}");
}
