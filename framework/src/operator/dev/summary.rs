use std::time::Duration;

use tokio::time::sleep;

use crate::{
    controller::ControllerReport,
    operator::{
        Running,
        logs::{renew_below, show_below},
    },
};

/// The line is renewed after this time, if something has changed.
const INTERVAL: Duration = Duration::from_millis(500);
/// After so many intervals the line is written again, also if nothing has changed.
const UNCHANGED: usize = 4;

/// Shows on a terminal, below the log, one line with the work of the operator, until the future is dropped.
pub(in crate::operator) async fn show_summary(running: &Running) -> ! {
    let _cleared = Cleared;
    let mut turn: usize = 0;
    loop {
        let report = running.debug_report();
        let controllers: Vec<String> = report.controllers.iter().map(summary).collect();
        show_below(&controllers.join(" | "));
        if turn.is_multiple_of(UNCHANGED) {
            renew_below();
        }
        turn = turn.wrapping_add(1);
        sleep(INTERVAL).await;
    }
}

/// `website: 3 objects, 1 running, 2 waiting, 1 failing`.
fn summary(controller: &ControllerReport) -> String {
    let failing = controller.keys.iter();
    let failing = failing.filter(|key| key.last_failure.is_some()).count();
    let objects = match controller.remembered {
        1 => "1 object".to_owned(),
        count => format!("{count} objects"),
    };
    let mut text = format!("{}: {objects}", controller.name);
    let counts = [
        (controller.running, "running"),
        (controller.waiting, "waiting"),
        (controller.paused, "paused"),
        (failing, "failing"),
    ];
    for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
        text.push_str(&format!(", {count} {what}"));
    }
    text
}

/// Removes the line.
struct Cleared;

impl Drop for Cleared {
    fn drop(&mut self) {
        show_below("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::{FailureReport, KeyActivity, KeyReport};

    #[test]
    fn the_summary_names_only_what_there_is() {
        let mut report = ControllerReport {
            name: "website".into(),
            kind: "Website".into(),
            status: "working".into(),
            workers: 2,
            running: 0,
            waiting: 0,
            paused: 0,
            remembered: 1,
            keys: Vec::new(),
            more_keys: 0,
        };
        assert_eq!(summary(&report), "website: 1 object");
        report.remembered = 3;
        report.running = 1;
        report.paused = 2;
        assert_eq!(summary(&report), "website: 3 objects, 1 running, 2 paused");
        report.waiting = 4;
        // One that has failed, and one that is only delayed.
        let key = |last_failure| KeyReport {
            key: "default/home".into(),
            state: KeyActivity::Delayed,
            for_seconds: None,
            due_in_seconds: None,
            priority: None,
            failures: 0,
            last_failure,
            waits_for: Vec::new(),
        };
        let failure = FailureReport {
            text: "no backend".into(),
            seconds_ago: 1.0,
        };
        report.keys = vec![key(Some(failure)), key(None)];
        assert_eq!(
            summary(&report),
            "website: 3 objects, 1 running, 4 waiting, 2 paused, 1 failing"
        );
    }
}
