#[cfg(unix)]
use std::{
    process::{Command, ExitCode},
    time::Duration,
};

#[cfg(unix)]
use tokio_util::sync::CancellationToken;

use super::logging::{self, LogFormat};
#[cfg(unix)]
use super::main::{block_on, supervised};

#[test]
fn a_log_filter_that_does_not_parse_says_where_it_stands() {
    let error = logging::init(Some("pilothouse=loud"), LogFormat::Text).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("--log pilothouse=loud: "), "{text}");
    assert!(!text.contains('\n'), "{text}");
}

/// Presses Ctrl-C in this process.
#[cfg(unix)]
fn interrupt() {
    let kill = format!("kill -INT {}", std::process::id());
    let status = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(status.success());
}

#[cfg(unix)]
#[test]
fn the_first_signal_stops_in_order_and_the_second_at_once() {
    let ended = |work_ends: bool| {
        block_on(async move {
            let cancel = CancellationToken::new();
            let work = async {
                interrupt();
                cancel.cancelled().await;
                if !work_ends {
                    interrupt();
                    tokio::time::sleep(Duration::from_secs(5)).await;
                }
                Ok(())
            };
            supervised(&cancel, work).await
        })
        .unwrap()
    };
    assert_eq!(ended(true), ExitCode::SUCCESS);
    assert_eq!(ended(false), ExitCode::from(130));
}

/// A program with a runtime of its own spawns it.
#[allow(dead_code)]
fn an_operator_runs_in_a_task_of_its_own(operator: super::Operator, client: crate::client::Client) {
    fn spawned<F: Future + Send + 'static>(_: F) {}
    let installed = client.clone();
    spawned(async move {
        operator.install(&installed).await?;
        operator.run(client, Default::default()).await
    });
}
