//! One peer, once.

use std::{
    error::Error,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::{
    machine::{self, Moment},
    peer::Peer,
    run::{Results, Run},
    server::Server,
};

/// No peer takes so long.
const LIMIT: Duration = Duration::from_secs(900);

/// What a run is to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    pub(super) objects: u64,
    /// 0 ends after the sync.
    pub(super) events: u64,
}

impl Trial {
    /// Runs a peer against the server; an error unless it saw everything.
    pub(super) fn run(
        self,
        peer: &Peer,
        program: &Path,
        server: &mut Server,
        kubeconfig: &Path,
    ) -> Result<Run, Box<dyn Error>> {
        server.reset()?;
        let before = Moment::now(server.id())?;
        let mut child = Command::new(program)
            .env("KUBECONFIG", kubeconfig)
            .env("BENCH_EVENTS", self.events.to_string())
            .envs(peer.environment.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let output = child.stdout.take().ok_or("a peer has no output")?;
        let child = Guard::new(child);
        let mut results = None;
        for line in BufReader::new(output).lines() {
            let line = line?;
            if line == "synced" {
                server.modify(self.events)?;
            } else {
                results = Some(
                    serde_json::from_str(&line)
                        .map_err(|error| format!("{} said {line:?}: {error}", peer.name))?,
                );
            }
        }
        child.end(peer)?;
        let after = Moment::now(server.id())?;
        let results: Results =
            results.ok_or_else(|| format!("{} ended without a result", peer.name))?;
        self.check(peer.name, &results)?;
        Ok(Run {
            results,
            foreign: after.foreign_since(&before, machine::cores()),
            server_cpu: after.server_since(&before),
        })
    }

    /// Whether a peer saw everything.
    pub(super) fn check(self, peer: &str, results: &Results) -> Result<(), String> {
        if results.objects != self.objects {
            return Err(format!(
                "{peer} has {} objects of {}",
                results.objects, self.objects
            ));
        }
        if results.events != self.events {
            return Err(format!(
                "{peer} was told of {} events of {}",
                results.events, self.events
            ));
        }
        Ok(())
    }
}

/// A peer that runs, and is killed when it takes too long or nobody waits for it.
struct Guard(Arc<Mutex<Child>>);

impl Guard {
    fn new(child: Child) -> Self {
        let child = Arc::new(Mutex::new(child));
        let weak = Arc::downgrade(&child);
        thread::spawn(move || {
            let start = Instant::now();
            while start.elapsed() < LIMIT {
                thread::sleep(Duration::from_millis(200));
                if weak.strong_count() == 0 {
                    return;
                }
            }
            if let Some(child) = weak.upgrade() {
                let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
            }
        });
        Self(child)
    }

    fn end(&self, peer: &Peer) -> Result<(), Box<dyn Error>> {
        let status = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .wait()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("{}: {status}", peer.name).into())
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut child = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
        let _ = child.wait();
    }
}
