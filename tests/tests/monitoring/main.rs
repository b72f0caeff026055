//! The alerts and the dashboard that an operator prints, with a real Prometheus that scrapes running operators.

mod alerts;
mod dashboard;
mod faults;
#[path = "../probe/mod.rs"]
mod probe;
mod rules;

use std::{net::SocketAddr, process::Command};

/// What a program of these tests prints.
fn printed(program: &str, line: &str) -> String {
    let output = Command::new(program).args(line.split_whitespace()).output();
    let output = output.unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// The configuration of a Prometheus that scrapes each of these addresses every second, with the name as the job.
fn scraping<'a>(targets: impl IntoIterator<Item = (&'a str, SocketAddr)>) -> String {
    let mut text = String::from(
        "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\nrule_files: [rules.yaml]\nscrape_configs:\n",
    );
    text += "- job_name: operators\n  static_configs:\n";
    for (job, address) in targets {
        let labels = format!("{{job: {job}, namespace: demo, pod: {job}-0}}");
        text += &format!("  - {{targets: ['{address}'], labels: {labels}}}\n");
    }
    text
}
