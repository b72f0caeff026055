use std::time::Duration;

use tokio::time::sleep;

use crate::{
    controller::ControllerReport,
    operator::{Running, logs::show_below},
};

/// The line is renewed after this time, if something has changed.
const INTERVAL: Duration = Duration::from_millis(500);

/// Shows on a terminal, below the log, one line with the work of the operator, until the future is dropped.
pub(in crate::operator) async fn show_summary(running: &Running) -> ! {
    let _cleared = Cleared;
    loop {
        let report = running.debug_report();
        let controllers: Vec<String> = report.controllers.iter().map(summary).collect();
        show_below(&controllers.join(" | "));
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
    }
}
